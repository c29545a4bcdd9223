"""Compare the outputs of a candidate with those of the reference.

Values are compared in float64, a chunk at a time: temporaries stay near 1 MB whatever the size of the outputs, and
the result does not depend on the chunk size (the mean up to the last bits of a float64). Integers under
an exact rule are compared as integers, since float64 can't tell neighbours beyond 2**53 apart.

An output is compared under the rule of the REFERENCE's dtype. Structure, shape and dtype must agree as well: each
disagreement fails the output and is told in `Deviation.note`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from npu_worker.tolerance import (
    EPSILON,
    AbsoluteAndRelative,
    AllClose,
    Exact,
    MereMare,
    Profile,
    Rule,
    Within,
)
from schema.results import Deviation

if TYPE_CHECKING:
    import torch

CHUNK = 1 << 14
"""Elements compared at a time.

Small on purpose: the arrays of a chunk stay in the cache, and torch takes no second thread for them. On a machine
whose cores are busy, waiting for threads costs a hundred times what they give."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputComparison:
    """One output, compared.

    Attributes:
        name: place of the output: "0", "1", "0.1" (nested), or a key of a mapping.
        expected, actual: the tensors, on the CPU; None where a side has none (or where values are no numbers).
        rule: the rule that was applied.
        passed: the output counts as equal.
        deviation: the numbers, also where the output passed.
        element_limit: only for `MereMare`: an element mismatches where its relative error reaches this.
    """

    name: str
    expected: "torch.Tensor | None"
    actual: "torch.Tensor | None"
    rule: Rule
    passed: bool
    deviation: Deviation
    element_limit: float | None = None

    def mask(self) -> "torch.Tensor | None":
        """Which elements mismatch: a bool tensor of the reference's shape; None where the shapes disagree.

        Made on demand (1 byte an element), since a passing output never needs it.
        """
        import torch

        expected, actual = self.expected, self.actual
        if expected is None or actual is None or expected.shape != actual.shape:
            return None
        mask = torch.empty(expected.numel(), dtype=torch.bool)
        for start, wanted, found in _chunks(expected, actual, CHUNK):
            part = _Part.of(wanted, found, self.rule)
            wrong = part.wrong(self.rule, self.element_limit)
            mask[start : start + len(wrong)] = wrong
        return mask.reshape(expected.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """All outputs of one case, compared; holds on to the tensors until it is dropped."""

    outputs: tuple[OutputComparison, ...]

    @property
    def passed(self) -> bool:
        """Every output counts as equal, and there is at least one."""
        return bool(self.outputs) and all(output.passed for output in self.outputs)

    @property
    def failing(self) -> tuple[OutputComparison, ...]:
        """The outputs that do not."""
        return tuple(output for output in self.outputs if not output.passed)

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """The deviations of the failing outputs, in order."""
        return tuple(output.deviation for output in self.failing)


def compare(expected: Any, actual: Any, *, profile: Profile) -> tuple[bool, tuple[Deviation, ...]]:
    """Whether a case passed, and how its failing outputs deviate; `compare_case` keeps the tensors for forensics."""
    comparison = compare_case(expected, actual, profile=profile)
    return comparison.passed, comparison.deviations


def compare_case(expected: Any, actual: Any, *, profile: Profile, chunk: int = CHUNK) -> Comparison:
    """Compare what the reference and the candidate returned for one case.

    Args:
        expected: the reference's outputs: a tensor, number, bool, str or None, or a (nested) list, tuple or mapping
            of them. Lists and tuples count as one form; a lone tensor and a list of one do not.
        actual: the candidate's.
        profile: see npu_worker/tolerance.py.
        chunk: elements compared at a time; the result does not depend on it.
    """
    return Comparison(outputs=tuple(_walk("", expected, actual, profile, chunk)))


def _walk(name: str, expected: Any, actual: Any, profile: Profile, chunk: int) -> Iterator[OutputComparison]:
    wanted, found = _members(expected), _members(actual)
    if wanted is None and found is None:
        yield _compare_leaf(name or "0", expected, actual, profile, chunk)
        return
    if wanted is None or found is None:
        note = f"structure differs: expected {_form(expected)}, got {_form(actual)}"
        yield _structural(name or "0", expected if wanted is None else None, note)
        return
    counts = f"expected {len(wanted)} outputs, got {len(found)}"
    for key, part in wanted.items():
        place = f"{name}.{key}" if name else key
        if key in found:
            yield from _walk(place, part, found[key], profile, chunk)
        else:
            yield _structural(place, part, f"structure differs: this output is missing ({counts})")
    for key in found:
        if key not in wanted:
            note = f"structure differs: the reference has no such output ({counts})"
            yield _structural(f"{name}.{key}" if name else key, None, note)


def _members(value: Any) -> dict[str, Any] | None:
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return {str(place): part for place, part in enumerate(value)}
    return None


def _form(value: Any) -> str:
    members = _members(value)
    if members is not None:
        return f"{len(members)} outputs"
    return "a tensor" if _is_tensor(value) else "nothing" if value is None else f"a {type(value).__name__}"


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _structural(name: str, expected: Any, note: str) -> OutputComparison:
    tensor = expected if expected is not None and _is_tensor(expected) else None
    count = 0 if tensor is None else int(tensor.numel())
    deviation = Deviation(
        output=name,
        dtype="" if tensor is None else _dtype_name(tensor),
        shape=() if tensor is None else tuple(tensor.shape),
        mismatched=count,
        total=count,
        note=note,
    )
    return OutputComparison(
        name=name, expected=tensor, actual=None, rule=Exact(), passed=False, deviation=deviation
    )


def _compare_leaf(name: str, expected: Any, actual: Any, profile: Profile, chunk: int) -> OutputComparison:
    wanted, found = _as_tensor(expected), _as_tensor(actual)
    if wanted is None or found is None:
        if wanted is None and found is None:
            # None, text and the like: nothing to tolerate.
            same = type(expected) is type(actual) and expected == actual
            deviation = Deviation(
                output=name,
                dtype=type(expected).__name__,
                shape=(),
                mismatched=0 if same else 1,
                total=1,
                expected=_text(expected),
                actual=_text(actual),
                note="" if same else "values differ",
            )
            return OutputComparison(
                name=name, expected=None, actual=None, rule=Exact(), passed=same, deviation=deviation
            )
        return _structural(name, expected, f"expected {_form(expected)}, got {_form(actual)}")
    notes: list[str] = []
    if _is_tensor(expected) != _is_tensor(actual):
        notes.append(f"kind differs: expected {_form(expected)}, got {_form(actual)}")
    dtype = _dtype_name(wanted)
    # A Python float is what .item() of a float32 tensor gives as often as not: float64's own rule would refuse it.
    rule = profile.rule(dtype if _is_tensor(expected) or dtype != "float64" else "float32")
    if wanted.dtype != found.dtype:
        notes.append(f"dtype differs: expected {dtype}, got {_dtype_name(found)}")
    if wanted.is_complex() != found.is_complex():
        notes.append("complex and real values do not compare")
        return _unlaid(name, wanted, rule, notes)
    if wanted.shape != found.shape:
        notes.append(f"shape differs: expected {list(wanted.shape)}, got {list(found.shape)}")
        return _unlaid(name, wanted, rule, notes)
    if wanted.is_complex():
        import torch

        wanted, found = torch.view_as_real(wanted.resolve_conj()), torch.view_as_real(found.resolve_conj())
    return _compare_values(name, dtype, wanted, found, rule, notes, chunk)


def _as_tensor(value: Any) -> "torch.Tensor | None":
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, bool):
        return torch.tensor(value)
    if isinstance(value, int) and abs(value) < 1 << 63:
        return torch.tensor(value, dtype=torch.int64)
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    return None


def _unlaid(name: str, wanted: "torch.Tensor", rule: Rule, notes: list[str]) -> OutputComparison:
    count = int(wanted.numel())
    deviation = Deviation(
        output=name,
        dtype=_dtype_name(wanted),
        shape=tuple(wanted.shape),
        mismatched=count,
        total=count,
        threshold=rule.threshold,
        note="; ".join(notes),
    )
    return OutputComparison(
        name=name, expected=wanted, actual=None, rule=rule, passed=False, deviation=deviation
    )


@dataclass(kw_only=True)
class _Tally:
    """What the chunks so far have shown; counts and first mismatches by element limit."""

    at: dict[float | None, int] = field(default_factory=dict)
    first: dict[float | None, int] = field(default_factory=dict)
    nan: int = 0
    infinite: int = 0
    non_finite: int = 0
    finite: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    sums: list[float] = field(default_factory=list)

    @property
    def mean_rel(self) -> float:
        """MERE; 0 where nothing is finite."""
        return math.fsum(self.sums) / self.finite if self.finite else 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """One chunk of both sides, and the arrays that every rule needs.

    `parity` marks elements whose NaN or Inf disagree; `finite` those that enter the numbers; `absolute` and `relative`
    are 0 elsewhere.
    """

    wanted: "torch.Tensor"
    found: "torch.Tensor"
    nan: "torch.Tensor"
    infinite: "torch.Tensor"
    finite: "torch.Tensor"
    size: "torch.Tensor"
    absolute: "torch.Tensor"
    relative: "torch.Tensor"

    @classmethod
    def of(cls, wanted: "torch.Tensor", found: "torch.Tensor", rule: Rule) -> "_Part":
        import torch

        expected, actual = wanted.to(torch.float64), found.to(torch.float64)
        size = expected.abs()
        absolute = (actual - expected).abs_()
        # Finite differences mean finite operands, but for a float64 overflow: one cheap test spares four slow ones.
        if math.isfinite(float(absolute.sum())):
            finite = torch.ones(len(expected), dtype=torch.bool)
            nan = infinite = torch.zeros(len(expected), dtype=torch.bool)
        else:
            finite = torch.isfinite(expected) & torch.isfinite(actual)
            nan = torch.isnan(expected) != torch.isnan(actual)
            infinite = (torch.isinf(expected) | torch.isinf(actual)) & (expected != actual) & ~nan
            absolute.masked_fill_(~finite, 0.0)
            size.masked_fill_(~finite, 0.0)
        relative = absolute / (size + EPSILON)
        if isinstance(rule, MereMare):
            relative.masked_fill_(absolute < rule.limit * 1e-3, 0.0)
        return cls(
            wanted=wanted,
            found=found,
            nan=nan,
            infinite=infinite,
            finite=finite,
            size=size,
            absolute=absolute,
            relative=relative,
        )

    def wrong(self, rule: Rule, element_limit: float | None) -> "torch.Tensor":
        """Which elements mismatch under the rule; NaN and Inf that disagree always do."""
        match rule:
            case Exact() if not self.wanted.is_floating_point() and self.wanted.dtype == self.found.dtype:
                return self.wanted != self.found
            case Exact():
                wrong = self.absolute > 0
            case Within(units=units):
                wrong = self.absolute > units
            case MereMare():
                wrong = self.relative >= element_limit
            case AllClose(absolute=absolute, relative=relative):
                wrong = self.absolute > absolute + relative * self.size
            case AbsoluteAndRelative(absolute=absolute, relative=relative):
                wrong = (self.absolute > absolute) & (self.relative > relative)
                return wrong | ~self.finite
        return wrong | self.nan | self.infinite


def _chunks(
    expected: "torch.Tensor", actual: "torch.Tensor", chunk: int
) -> Iterator[tuple[int, "torch.Tensor", "torch.Tensor"]]:
    """Flat pieces of both tensors; views for contiguous tensors (outputs read from the sandbox always are)."""
    wanted, found = expected.reshape(-1), actual.reshape(-1)
    for start in range(0, wanted.numel(), chunk):
        yield start, wanted[start : start + chunk], found[start : start + chunk]


def _compare_values(
    name: str,
    dtype: str,
    wanted: "torch.Tensor",
    found: "torch.Tensor",
    rule: Rule,
    notes: list[str],
    chunk: int,
) -> OutputComparison:
    # CANN's rule looks at the mean and the maximum, not at elements. The elementwise reading, for the count and for
    # forensics: an element mismatches where it breaks the maximum's limit, 10 T. Where the maximum holds and only the
    # mean fails, no element would mismatch, so those that lie above the mean's limit, T, are named instead.
    limits: tuple[float | None, ...] = (
        (10 * rule.limit, rule.limit) if isinstance(rule, MereMare) else (None,)
    )
    tally = _Tally(at=dict.fromkeys(limits, 0))
    for start, expected, actual in _chunks(wanted, found, chunk):
        if _alike(expected, actual):
            # What every rule finds there: a right kernel's outputs are mostly this, and it is 20 times as quick.
            tally.finite += len(expected)
            continue
        _count(tally, _Part.of(expected, actual, rule), start, rule, limits)

    limit = limits[0]
    passed = not tally.at[limit]
    if isinstance(rule, MereMare) and tally.mean_rel >= rule.limit:
        if passed:
            limit = limits[1]
            notes.append(
                f"only the mean fails: MERE {tally.mean_rel:.3g} >= {rule.limit:.3g}, every element < 10 T"
            )
        passed = False
    if tally.nan:
        notes.append(f"NaN positions differ at {tally.nan} elements")
    if tally.infinite:
        notes.append(f"Inf positions or signs differ at {tally.infinite} elements")
    if isinstance(rule, AbsoluteAndRelative) and tally.non_finite > tally.nan + tally.infinite:
        notes.append(f"{tally.non_finite} elements are not finite, which this profile refuses")
    structural = any(" differs:" in note for note in notes)
    first = tally.first.get(limit)
    shape = tuple(wanted.shape)
    index = () if first is None else _unravel(first, shape)
    complex_parts = dtype.startswith("complex")
    deviation = Deviation(
        output=name,
        dtype=dtype,
        shape=shape[:-1] if complex_parts else shape,
        mismatched=tally.at[limit],
        total=int(wanted.numel()),
        max_abs=tally.max_abs if tally.finite else None,
        max_rel=tally.max_rel if tally.finite else None,
        mean_rel=tally.mean_rel if tally.finite else None,
        threshold=rule.threshold,
        first_index=index[:-1] if complex_parts else index,
        expected="" if first is None else _text(wanted[index].item()),
        actual="" if first is None else _text(found[index].item()),
        note="; ".join(notes),
    )
    return OutputComparison(
        name=name,
        expected=wanted,
        actual=found,
        rule=rule,
        passed=passed and not structural,
        deviation=deviation,
        element_limit=limit,
    )


def _alike(wanted: "torch.Tensor", found: "torch.Tensor") -> bool:
    """Whether a chunk is equal on both sides and holds only finite values."""
    import torch

    if wanted.dtype != found.dtype or not torch.equal(wanted, found):
        return False
    # A sum that overflows says no, too: the long way then finds the same.
    wide = torch.float32 if wanted.dtype is torch.float16 else None
    return not wanted.is_floating_point() or math.isfinite(float(wanted.sum(dtype=wide)))


def _count(tally: _Tally, part: _Part, start: int, rule: Rule, limits: tuple[float | None, ...]) -> None:
    finite = int(part.finite.sum())
    tally.finite += finite
    tally.non_finite += len(part.finite) - finite
    tally.nan += int(part.nan.sum())
    tally.infinite += int(part.infinite.sum())
    if len(part.absolute):
        tally.max_abs = max(tally.max_abs, float(part.absolute.max()))
        tally.max_rel = max(tally.max_rel, float(part.relative.max()))
    for limit in limits:
        wrong = part.wrong(rule, limit)
        count = int(wrong.sum())
        tally.at[limit] += count
        if count and limit not in tally.first:
            tally.first[limit] = start + int(wrong.int().argmax())
    tally.sums.append(float(part.relative.sum()))


def _unravel(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for size in reversed(shape):
        flat, rest = divmod(flat, size)
        index.append(rest)
    return tuple(reversed(index))


def _dtype_name(tensor: "torch.Tensor") -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _text(value: Any) -> str:
    text = f"{value:.9g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
