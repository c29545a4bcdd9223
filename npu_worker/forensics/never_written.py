"""Outputs that still hold the fill of fresh memory, or nothing but zeros: a write that never happened.

No class of its own: it is evidence beside the class that says where the elements lie.
"""

from typing import Any

import numpy as np

from npu_worker.forensics.sample import OutputSample
from npu_worker.forensics.sign import percent, rounded

LEAST_SHARE = 0.05


def look(sample: OutputSample) -> tuple[str, dict[str, Any]] | None:
    """A sentence and numbers, where 5 % of the mismatches hold the fill, or 90 % of them are 0 without cause."""
    if sample.poisoned >= LEAST_SHARE:
        text = (
            f"{percent(sample.poisoned)} of the wrong elements hold the fill of memory that was never written"
            " (or were computed from it)"
        )
        return text, {"never_written": rounded(sample.poisoned)}
    if sample.places.size < 4:
        return None
    zeros = float(np.mean((sample.actual == 0) & (sample.expected != 0)))
    if zeros >= 0.9:
        return f"{percent(zeros)} of the wrong elements are exactly 0", {"zeros": rounded(zeros)}
    finite = sample.actual[np.isfinite(sample.actual)]
    if finite.size == sample.actual.size and np.ptp(finite) == 0 and np.ptp(sample.expected) > 0:
        return f"every wrong element is {finite[0]:.6g}", {"constant": rounded(float(finite[0]))}
    return None
