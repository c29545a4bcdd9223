"""More than nine elements in ten are wrong."""

import numpy as np

from npu_worker.forensics.sample import OutputSample
from npu_worker.forensics.sign import Sign, percent, rounded

LEAST_RATE = 0.9


def detect(sample: OutputSample) -> Sign | None:
    """Fits above 90 %; says as well whether the right values stand in the wrong places (a layout error)."""
    if sample.rate <= LEAST_RATE:
        return None
    text = f"{sample.wrong} of {sample.total} elements ({percent(sample.rate)}) are wrong"
    evidence: dict[str, object] = {"mismatch_rate": rounded(sample.rate)}
    if _displaced(sample):
        text += "; the values are right but stand in the wrong places (layout, stride or transposition)"
        evidence["displaced"] = True
    return Sign(hint="all_wrong", text=text, evidence=evidence)


def _displaced(sample: OutputSample) -> bool:
    """Whether both sides hold the same values in another order; told only where the grid is the whole output."""
    if sample.grid.size != sample.total or sample.total < 8:
        return False
    expected, actual = np.sort(sample.grid_expected), np.sort(sample.grid_actual)
    if not np.isfinite(expected).all() or not np.isfinite(actual).all() or np.unique(expected).size < 4:
        return False
    return bool(np.allclose(expected, actual, rtol=1e-3, atol=1e-5))
