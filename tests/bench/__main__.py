"""`make bench`: runs every tests/bench/bench_*.py (or those named) and prints one table of ratios.

A module has a function `measures()` that yields `Measure`s. Exit 1 if one does not hold: a machine under
load may need a second run, for all figures are medians of one run.
"""

import argparse
import dataclasses
import importlib
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from coordinator.cli import collect_rarely
from tests.bench.measure import Measure


def main() -> int:
    """Run the benchmarks that the command line names, or all."""
    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*known, []], help=f"of {', '.join(known)}; all if none")
    parser.add_argument("--json", action="store_true", help="one line a figure, for machines")
    asked = parser.parse_args()
    collect_rarely()  # as in every process of ours
    out = Console()
    if not out.is_terminal:
        out = Console(width=170)  # a log has room, and folded figures can't be read
    failed = 0
    for name in asked.names or known:
        found: list[Measure] = []
        for measure in importlib.import_module(f"tests.bench.bench_{name}").measures():
            found.append(measure)
            failed += not measure.holds
            if asked.json:
                fields = {**dataclasses.asdict(measure), "ratio": measure.ratio, "holds": measure.holds}
                out.print(
                    json.dumps({"bench": name, **fields}), soft_wrap=True, markup=False, highlight=False
                )
        if not asked.json:
            out.print(_table(name, found))
    return 1 if failed else 0


def _table(name: str, measures: list[Measure]) -> Table:
    table = Table(title=f"bench {name}", title_justify="left")
    table.add_column("measured")
    table.add_column("ours", justify="right")
    table.add_column("against", justify="right")
    table.add_column("peer")
    table.add_column("ratio", justify="right")
    table.add_column("asked", justify="right")
    table.add_column("holds")
    for one in measures:
        asked = f"≤ {one.at_most:g}" if one.at_most is not None else ""
        asked = f"≥ {one.at_least:g}" if one.at_least is not None else asked
        table.add_row(
            one.name,
            f"{one.ours:,.4g} {one.unit}",
            f"{one.against:,.4g} {one.unit}",
            one.peer,
            f"{one.ratio:.3g}",
            asked,
            ("yes" if one.holds else "[bold red]NO[/]") if asked else "–",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
