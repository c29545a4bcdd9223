"""Every wrong element is off by the same amount, or by the same factor (a wrong divisor, for instance)."""

import numpy as np

from npu_worker.forensics.sample import Floats, OutputSample
from npu_worker.forensics.sign import Sign, percent, rounded

LEAST_RATE = 0.5
LEADING_RATE = 0.9
MOST_SPREAD = 0.1
MOST_RATIO_SPREAD = 0.02
LEAST_ELEMENTS = 4


def detect(sample: OutputSample) -> Sign | None:
    """Fits where at least half is wrong, finite, and std(actual - expected) < 0.1 |mean|, or the ratio is constant."""
    finite = sample.finite
    if sample.rate < LEAST_RATE or finite.sum() < LEAST_ELEMENTS or finite.mean() < 0.9:
        return None
    # Where a good part is right, the place of the wrong part says more than its amount.
    leading = sample.rate >= LEADING_RATE
    expected, actual = sample.expected[finite], sample.actual[finite]
    ratio = constant_ratio(expected, actual)
    if ratio is not None:
        text = f"the wrong elements are the reference times {ratio:.6g}, within {percent(MOST_RATIO_SPREAD)}"
        return Sign(hint="uniform_offset", text=text, evidence={"ratio": rounded(ratio)}, leading=leading)
    difference = actual - expected
    mean, spread = float(difference.mean()), float(difference.std())
    # A constant output is no shifted one: where the output does not follow the reference, the offset is an accident.
    if spread < MOST_SPREAD * abs(mean) and (np.ptp(expected) == 0 or np.ptp(actual) > 0):
        evidence = {"offset": rounded(mean), "offset_std": rounded(spread)}
        text = f"the wrong elements are all off by about {mean:.6g} (standard deviation {spread:.3g})"
        return Sign(hint="uniform_offset", text=text, evidence=evidence, leading=leading)
    return None


def constant_ratio(expected: Floats, actual: Floats) -> float | None:
    """The quotient actual / expected where it is the same for nearly all elements and neither 0 nor 1, else None."""
    # Small references make ratios of rounding noise.
    large = np.abs(expected) >= 0.1 * np.abs(expected).max() if expected.size else np.zeros(0, dtype=bool)
    if large.sum() < LEAST_ELEMENTS or np.ptp(expected[large]) == 0:
        return None
    ratios = actual[large] / expected[large]
    middle = float(np.median(ratios))
    if middle == 0 or abs(middle - 1) < 1e-3 or not np.isfinite(middle):
        return None
    spread = np.percentile(np.abs(ratios - middle), 95)
    # The spread must also be small beside the distance from 1: noise around 1.001 is no factor.
    close = spread <= MOST_RATIO_SPREAD * abs(middle) and spread <= 0.5 * abs(middle - 1)
    return middle if close else None
