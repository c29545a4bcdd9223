"""The extension of tests/kernels/sim_vector, and arrays for it."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import torch

from tests.support.extension import compiled, sources

KERNELS = Path(__file__).parent.parent / "kernels" / "sim_vector"
NAME = "_sim_vector_ext"
Array = np.ndarray[Any, Any]


def build(work: Path) -> Path:
    """The library; the object cache makes every build after the first a link."""
    return compiled(sources(KERNELS), NAME, work)


def as_torch(array: Array) -> torch.Tensor:
    """The array's memory as a tensor: what the kernel stores is seen in the array."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def same(actual: Array, expected: Array) -> bool:
    """Bit-equal, but any NaN equals any NaN."""
    with np.errstate(invalid="ignore"):
        nan, actual_nan = np.isnan(expected.astype(np.float64)), np.isnan(actual.astype(np.float64))
    raw = np.uint16 if actual.dtype.itemsize == 2 else np.uint32
    return (
        actual.dtype == expected.dtype
        and bool(np.array_equal(actual_nan, nan))
        and bool(np.array_equal(actual[~nan].view(raw), expected[~nan].view(raw)))
    )


def steps_apart(actual: Array, expected: Array) -> Array:
    """How many representable values lie between, element by element; 0 where both are NaN."""
    raw: Any = np.int16 if actual.dtype.itemsize == 2 else np.int32
    lowest = np.iinfo(raw).min

    def ordered(values: Array) -> Array:
        bits = values.view(raw).astype(np.int64)
        return np.where(bits < 0, lowest - bits, bits)

    apart = np.abs(ordered(actual) - ordered(expected))
    with np.errstate(invalid="ignore"):
        both = np.isnan(actual.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    return np.where(both, 0, apart)
