"""The whole case sets of the starter operators with their right kernels: seconds an operator, and all together."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.measure import Measure
from tests.support.full_sets import OPERATORS, run_full

LIMIT = 600.0  # seconds on two cores, all together


def measures() -> Iterator[Measure]:
    """One figure an operator, and their sum."""
    total = 0.0
    for name in OPERATORS:
        with tempfile.TemporaryDirectory(prefix="opmend-full-") as home:
            run = run_full(name, Path(home))
        assert run.passed, run.failed
        total += run.seconds
        parts = ", ".join(
            f"{part} {seconds:.1f}"
            for part, seconds in run.timings.items()
            if part != "total" and seconds >= 0.1
        )
        yield Measure(
            name=f"{name}, {run.statuses['passed']} cases: {parts}",
            ours=run.seconds,
            against=LIMIT,
            unit="s",
            peer="told",
        )
    yield Measure(
        name="all together", ours=total, against=LIMIT, unit="s", peer="limit of the issue", at_most=1
    )
