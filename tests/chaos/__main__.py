"""Every disturbance of the engine, and what was left of the tasks afterwards: `make chaos`.

    python -m tests.chaos [NAME...]     the names are those of SCENARIOS; all without any

Exit 1 if a job was lost or counted twice, or if a task went another way than undisturbed.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.chaos import scenarios
from tests.chaos.scenarios import Row, Undisturbed
from tests.chaos.stack import Stack, stack

Scenario = Callable[[Stack, Undisturbed], Iterator[Row]]
SCENARIOS: dict[str, Scenario] = {
    "points": scenarios.crash_points,
    "random": scenarios.random_kills,
    "redis": scenarios.redis,
    "postgres": scenarios.postgres,
    "disk": scenarios.full_disk,
    "read-only": scenarios.read_only,
    "frozen": scenarios.frozen_worker,
    "deliveries": scenarios.deliveries,
    "coordinators": scenarios.coordinators,
    "clock": scenarios.clock_step,
}


def main(names: list[str]) -> int:
    """Run the scenarios of these names, all without any; print a row each as it ends."""
    console = Console(width=180, markup=False, highlight=False)
    unknown = sorted(set(names) - set(SCENARIOS))
    if unknown:
        console.print(f"chaos: no scenario {unknown[0]!r}; there are {', '.join(SCENARIOS)}")
        return 2
    began = time.monotonic()
    rows: list[Row] = []
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        preload = _clock_library(folder) if not names or "clock" in names else None
        running = opened.enter_context(stack(preload=preload))
        peace = scenarios.undisturbed(running)
        for name in names or SCENARIOS:
            for row in SCENARIOS[name](running, peace):
                rows.append(row)
                console.print(
                    f"{row.seconds:6.1f} s  {'; '.join(row.faults) or 'ok'}  {row.name}  {row.note}"
                )
    columns = ("disturbance", "killed", "seconds", "measured", "afterwards")
    table = Table(*columns, title="make chaos", title_justify="left")
    for row in rows:
        afterwards = "\n".join(row.faults) or "as undisturbed"
        table.add_row(row.name, str(row.kills), f"{row.seconds:.1f}", row.note, afterwards)
    console.print(table)
    bad = sum(bool(row.faults) for row in rows)
    kills = sum(row.kills for row in rows)
    took = time.monotonic() - began
    console.print(f"{len(rows)} disturbances, {kills} kills, {took:.0f} s, {bad} with faults, 0 manual steps")
    return 1 if bad else 0


def _clock_library(folder: Path) -> Path:
    """The library that moves a process' clock, compiled."""
    source, library = Path(__file__).with_name("clock_step.c"), folder / "clock_step.so"
    subprocess.run(
        ["g++", "-x", "c", "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True
    )
    return library


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
