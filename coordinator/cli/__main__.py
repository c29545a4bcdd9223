"""`python -m coordinator.cli` is `opmend`, also where the script is not on the path."""

from coordinator.cli import main

main()
