"""Mismatches that follow the size of the values, or rounding errors that grow along a dimension."""

import math

import numpy as np

from npu_worker.forensics.sample import Floats, OutputSample
from npu_worker.forensics.sign import Sign, rounded

MOST_RATIO = 3.0
LEAST_RATIO = 0.3
LEAST_ELEMENTS = 16
BINS = 8
LEAST_GROWTH = 3.0
LEAST_ORDER = 0.9
MOST_ROUNDING = 0.05


def detect(sample: OutputSample) -> Sign | None:
    """Fits where mean |reference| of wrong elements is > 3 or < 0.3 times that of right ones, or errors grow."""
    growth = _growth(sample)
    if growth is not None:
        return growth
    wrong = np.abs(sample.expected[np.isfinite(sample.expected)])
    right = np.abs(sample.right_expected[np.isfinite(sample.right_expected)])
    if wrong.size < LEAST_ELEMENTS or right.size < LEAST_ELEMENTS or right.mean() == 0:
        return None
    ratio = float(wrong.mean() / right.mean())
    if LEAST_RATIO <= ratio <= MOST_RATIO:
        return None
    kind = "large" if ratio > 1 else "small"
    text = (
        f"wrong elements are the {kind} ones: their mean magnitude is {wrong.mean():.3g},"
        f" against {right.mean():.3g} where the kernel is right"
    )
    return Sign(hint="magnitude_correlated", text=text, evidence={"magnitude_ratio": rounded(ratio)})


def _growth(sample: OutputSample) -> Sign | None:
    """Small errors whose size rises steadily along a dimension: accumulation in too few bits."""
    relative = sample.median_relative
    if relative is None or relative > MOST_ROUNDING or sample.grid.size < 64:
        return None
    difference = np.abs(sample.grid_actual - sample.grid_expected)
    finite = np.isfinite(difference)
    for dimension, size in enumerate(sample.shape):
        if size < 2 * BINS:
            continue
        inner = math.prod(sample.shape[dimension + 1 :])
        bins = (sample.grid // inner % size * BINS // size)[finite]
        counts = np.bincount(bins, minlength=BINS)
        if counts.min() == 0:
            continue
        means: Floats = np.bincount(bins, weights=difference[finite], minlength=BINS) / counts
        if means[-1] > LEAST_GROWTH * max(means[0], 1e-30) and _order(means) >= LEAST_ORDER:
            text = (
                f"errors are small (median {relative:.2g} relative) and grow along dimension {dimension},"
                f" from {means[0]:.2g} on average in its first eighth to {means[-1]:.2g} in its last"
            )
            return Sign(
                hint="magnitude_correlated",
                text=text,
                evidence={
                    "grows_along": dimension,
                    "first_mean_error": rounded(float(means[0])),
                    "last_mean_error": rounded(float(means[-1])),
                },
            )
    return None


def _order(values: Floats) -> float:
    """Share of pairs in ascending order, as Kendall's tau: 1 for a steady rise, near 0 for a single step."""
    first, second = np.triu_indices(values.size, 1)
    return float(np.sign(values[second] - values[first]).mean())
