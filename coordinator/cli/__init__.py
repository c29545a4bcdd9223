"""The command line: `opmend`."""


def main() -> None:
    """Run the command."""
