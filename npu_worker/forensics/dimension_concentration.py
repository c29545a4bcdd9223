"""Mismatches that fill some slices of a dimension and spare others: a wrong batch, channel or row."""

import math
from typing import Any

import numpy as np

from npu_worker.forensics.sample import Floats, OutputSample
from npu_worker.forensics.sign import Sign, percent, rounded

LEAST_MAXIMUM = 0.5
MOST_MINIMUM = 0.1
LEAST_SLICE = 8
LEAST_DISPERSION = 4.0
MOST_BETWEEN = 0.1


def detect(sample: OutputSample) -> Sign | None:
    """Fits where a dimension's worst slice has a rate above 0.5, its best one below 0.1, and not by chance."""
    best: tuple[float, int, Floats] | None = None
    for dimension, size in enumerate(sample.shape):
        if len(sample.shape) < 2 or size < 2 or sample.total // size < LEAST_SLICE:
            continue
        rates = slice_rates(sample, dimension)
        contrast = float(rates.max() - rates.min())
        fits = rates.max() > LEAST_MAXIMUM and rates.min() < MOST_MINIMUM
        fits = fits and _dispersion(rates, sample.total // size) > LEAST_DISPERSION and _two_kinds(rates)
        if fits and (best is None or contrast > best[0]):
            best = (contrast, dimension, rates)
    if best is None:
        return None
    _, dimension, rates = best
    bad = np.flatnonzero(rates > LEAST_MAXIMUM)
    which = ", ".join(map(str, bad[:6])) + (", ..." if bad.size > 6 else "")
    text = (
        f"along dimension {dimension} (size {rates.size}) {bad.size} slices are mostly wrong ({which}),"
        f" up to {percent(float(rates.max()))}, while others have {percent(float(rates.min()))}"
    )
    evidence: dict[str, Any] = {
        "dimension": dimension,
        "size": int(rates.size),
        "wrong_slices": [int(place) for place in bad[:32]],
        "max_rate": rounded(float(rates.max())),
        "min_rate": rounded(float(rates.min())),
    }
    period = _stride(bad)
    if period:
        text += f"; every {period} slices"
        evidence["period"] = period
    return Sign(hint="dimension_concentration", text=text, evidence=evidence)


def slice_rates(sample: OutputSample, dimension: int) -> Floats:
    """Rate of mismatches in each slice of a dimension."""
    outer = math.prod(sample.shape[:dimension])
    size = sample.shape[dimension]
    rates: Floats = sample.mask.reshape(outer, size, -1).mean(axis=(0, 2))
    return rates


def _two_kinds(rates: Floats) -> bool:
    """Slices are either wrong or right: rates spread in between come from values (a weight, say), not from places."""
    between = (rates > 0.25 * rates.max()) & (rates < 0.75 * rates.max())
    return bool(between.mean() <= MOST_BETWEEN)


def _dispersion(rates: Floats, slice_elements: int) -> float:
    """Variance between slices over that of independent mismatches: about 1 where slices differ by chance alone."""
    rate = float(rates.mean())
    expected = rate * (1 - rate) / slice_elements
    return float(rates.var() / expected) if expected else 0.0


def _stride(bad: "np.ndarray[tuple[int, ...], np.dtype[np.intp]]") -> int | None:
    gaps = np.diff(bad)
    return int(gaps[0]) if gaps.size >= 2 and gaps[0] > 1 and (gaps == gaps[0]).all() else None
