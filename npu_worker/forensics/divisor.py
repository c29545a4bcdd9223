"""What a constant factor between candidate and reference stands for: a count that should not have been divided by."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

PADDINGS = (8, 16, 32, 64, 128, 256)
_CLOSE = {"float16": 2e-3, "bfloat16": 1.6e-2}
_CLOSE_DEFAULT = 2e-4


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor, read.

    Attributes:
        rules: every rule that gives this factor here ("size padded to 64"); cases with one cause share one.
        reading: the sizes, for people.
    """

    rules: tuple[str, ...]
    reading: str


def explain_ratio(ratio: float, shapes: Iterable[tuple[int, ...]], dtype: str) -> Factor | None:
    """Read a factor as a quotient of sizes.

    Args:
        ratio: actual / expected.
        shapes: of the case's tensors.
        dtype: of the output: how closely the quotient can be known.

    Returns:
        None where no rule fits.
    """
    close = _CLOSE.get(dtype, _CLOSE_DEFAULT)
    # Where a reading lies so close to 1 that it can't be told from none, it explains nothing.
    fits = [
        (rule, text)
        for rule, text, value in _readings(shapes)
        if abs(value - 1) > 4 * close and abs(ratio / value - 1) <= close
    ]
    return Factor(rules=tuple(dict.fromkeys(rule for rule, _ in fits)), reading=fits[0][1]) if fits else None


def _readings(shapes: Iterable[tuple[int, ...]]) -> Iterator[tuple[str, str, float]]:
    sizes = sorted({size for shape in shapes for size in shape if size > 1})
    for size in sizes:
        for padding in PADDINGS:
            padded = -(-size // padding) * padding
            if padded != size:
                text = f"{size}/{padded}: divided by {padded}, a size of {size} padded"
                yield f"size padded to {padding}", text, size / padded
        yield "size less one", f"{size}/{size - 1}: divided by {size} - 1", size / (size - 1)
        yield "size plus one", f"{size}/{size + 1}: divided by {size} + 1", size / (size + 1)
    for size in sizes:
        yield "missing divisor", f"{size}: a division by a size of {size} is missing", float(size)
        yield "extra divisor", f"1/{size}: divided by a size of {size} once too often", 1 / size
