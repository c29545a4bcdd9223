"""What a benchmark of opmend gives: figures as ratios against a peer or a limit of the same run."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One figure beside what it is held against.

    Attributes:
        name: what was measured, for people.
        ours: our figure, in `unit`.
        against: the peer's figure of the same run, or the limit, in the same unit.
        peer: who or what `against` is ("fractional-indexing", "limit of the issue").
        at_most: the greatest ours / against that is good; None if the figure is told and not judged.
        at_least: the least ours / against that is good, where more is better.
    """

    name: str
    ours: float
    against: float
    unit: str
    peer: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ratio(self) -> float:
        """ours / against."""
        return self.ours / self.against if self.against else float("inf")

    @property
    def holds(self) -> bool:
        """Is the ratio within its limits?"""
        return (self.at_most is None or self.ratio <= self.at_most) and (
            self.at_least is None or self.ratio >= self.at_least
        )


def median_seconds(work: Callable[[], object], *, runs: int = 5, warm: int = 1) -> float:
    """The median wall time of several runs, in seconds; the first `warm` runs are not counted."""
    for _ in range(warm):
        work()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)
