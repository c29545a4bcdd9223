"""What detectors look at: the mismatch mask of one failing output, and values at a bounded sample of its elements.

The mask is whole (1 byte an element), since places are what most detectors read; values are sampled on a fixed stride,
so that an output of any size costs the same and the same output always gives the same answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from npu_worker.tolerance import EPSILON

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_SAMPLED = 32_000
POISON_WORDS: tuple[int, ...] = (0x7FC17FC1,)
"""Fills of memory that nobody has written, as 32-bit little-endian words: the simulator's default."""

_CHUNK = 1 << 14


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputSample:
    """One failing output of one case.

    Attributes:
        name, dtype: of the output.
        item_bytes: size of one element.
        shape: of the output; `mask` has it too.
        mask: True where the element mismatches.
        wrong: how many do.
        places: flat positions of sampled mismatches, ascending; `expected` and `actual` hold their values.
        right_expected: the reference's values at sampled elements that match.
        grid: flat positions of sampled elements of any kind, evenly spread; `grid_expected`, `grid_actual` likewise.
        not_finite: mismatches whose value is NaN or Inf where the reference is finite, counted whole.
        lost_not_finite: mismatches whose value is finite where the reference is NaN or Inf, counted whole.
        poisoned: share of the sampled mismatches that hold the fill of never-written memory.
    """

    name: str
    dtype: str
    item_bytes: int
    shape: tuple[int, ...]
    mask: Mask
    wrong: int
    places: Places
    expected: Floats
    actual: Floats
    right_expected: Floats
    grid: Places
    grid_expected: Floats
    grid_actual: Floats
    not_finite: int
    lost_not_finite: int
    poisoned: float

    @property
    def total(self) -> int:
        """Number of elements."""
        return self.mask.size

    @property
    def rate(self) -> float:
        """Share of elements that mismatch."""
        return self.wrong / self.total if self.total else 0.0

    @property
    def finite(self) -> Mask:
        """Which sampled mismatches are finite on both sides."""
        return np.isfinite(self.expected) & np.isfinite(self.actual)

    @property
    def median_relative(self) -> float | None:
        """Median relative error of the sampled finite mismatches; None where there are none."""
        finite = self.finite
        if not finite.any():
            return None
        expected, actual = self.expected[finite], self.actual[finite]
        return float(np.median(np.abs(actual - expected) / (np.abs(expected) + EPSILON)))


def sample_output(
    expected: "torch.Tensor",
    actual: "torch.Tensor",
    mask: "torch.Tensor",
    *,
    name: str = "0",
    poison_words: Sequence[int] = POISON_WORDS,
    most: int = MOST_SAMPLED,
) -> OutputSample:
    """Sample one failing output.

    Args:
        expected, actual: real tensors of the same shape, on the CPU.
        mask: bool, same shape, True where the element mismatches (`OutputComparison.mask`).
        name: of the output.
        poison_words: fills of never-written memory to recognise.
        most: most values sampled of each kind.
    """
    flat_mask: Mask = mask.reshape(-1).numpy()
    wanted, found = expected.reshape(-1), actual.reshape(-1)
    wrong = int(np.count_nonzero(flat_mask))
    places = _spread(flat_mask, wrong, most)
    right = _spread(~flat_mask, flat_mask.size - wrong, most)
    grid: Places = np.arange(0, flat_mask.size, max(1, -(-flat_mask.size // most)), dtype=np.int64)
    not_finite, lost = _count_not_finite(wanted, found, mask.reshape(-1))
    return OutputSample(
        name=name,
        dtype=str(expected.dtype).removeprefix("torch."),
        item_bytes=expected.element_size(),
        shape=tuple(expected.shape),
        mask=flat_mask.reshape(tuple(expected.shape)),
        wrong=wrong,
        places=places,
        expected=_values(wanted, places),
        actual=_values(found, places),
        right_expected=_values(wanted, right),
        grid=grid,
        grid_expected=_values(wanted, grid),
        grid_actual=_values(found, grid),
        not_finite=not_finite,
        lost_not_finite=lost,
        poisoned=_poisoned(found, places, poison_words),
    )


def _spread(mask: Mask, count: int, most: int) -> Places:
    """At most `most` positions of True, evenly among them, without an index array of the whole mask."""
    step = max(1, -(-count // most))
    seen = 0
    parts: list[Any] = []
    for start in range(0, mask.size, _CHUNK):
        here = np.flatnonzero(mask[start : start + _CHUNK])
        parts.append(here[(-seen) % step :: step] + start)
        seen += here.size
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)


def _values(flat: "torch.Tensor", places: Places) -> Floats:
    import torch

    values: Floats = flat[torch.from_numpy(places)].to(torch.float64).numpy()
    return values


def _count_not_finite(wanted: "torch.Tensor", found: "torch.Tensor", mask: "torch.Tensor") -> tuple[int, int]:
    import torch

    gained = lost = 0
    for start in range(0, mask.numel(), _CHUNK):
        part = slice(start, start + _CHUNK)
        good, bad = torch.isfinite(wanted[part]), torch.isfinite(found[part])
        gained += int((good & ~bad & mask[part]).sum())
        lost += int((bad & ~good & mask[part]).sum())
    return gained, lost


def _poisoned(found: "torch.Tensor", places: Places, words: Sequence[int]) -> float:
    """Share of the sampled mismatches whose bits are those of a fill; wide elements repeat it, narrow ones cut it."""
    import torch

    size = found.element_size()
    if not places.size or found.dtype is torch.bool or size > 8:
        # Every bool is a plausible value.
        return 0.0
    raw = found[torch.from_numpy(places)].contiguous().view(torch.uint8).numpy().reshape(-1, size)
    best = 0
    offsets = (places[:, None] * size + np.arange(size)[None, :]) % 4
    for word in words:
        fill = np.frombuffer(word.to_bytes(4, "little"), dtype=np.uint8)
        best = max(best, int((raw == fill[offsets]).all(axis=1).sum()))
    return best / places.size
