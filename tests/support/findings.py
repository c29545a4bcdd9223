"""What the simulator noticed in a test kernel."""

from pathlib import Path

from npu_worker.sim.report import read_report


def rules(path: Path) -> set[str]:
    """The rules of a report's findings; none where nothing was reported."""
    return {finding.rule for finding in read_report(path)} if path.exists() else set()
