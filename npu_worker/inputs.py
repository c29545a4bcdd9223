"""Values for the inputs of one case, from a seed.

Every tensor has a generator of its own, seeded by (seed, case index, input name): adding, dropping or reordering
inputs or cases changes no other tensor's values, and a case run alone sees the values it sees in a whole set.
Floating values are drawn in float32 (float64 for float64) and rounded once to the input's dtype.

The distribution is taken from, in this order: the case's own `range` (inclusive), the operator's rule
(schema/input_rules.py), the default (float: normal(0, 1); integer: 0 to 9; bool: a fair coin).
"""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schema.cases import AbsentInput, AttributeInput, Case, TensorInput
from schema.errors import CaseFileError, WorkspaceError
from schema.input_rules import Distribution, InputRule, evaluate_bound

if TYPE_CHECKING:
    import torch

CHUNK = 1 << 14
"""Elements drawn at a time: bounds temporaries, and keeps torch from taking threads that busy cores can't give.

Part of the values' definition: a generator's stream depends on how many values each call draws."""

_INTEGER_LIMITS: Mapping[str, tuple[int, int]] = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint8": (0, 255),
    "bool": (0, 1),
}
_DEFAULT_FLOAT = InputRule(distribution=Distribution.NORMAL)
_DEFAULT_INTEGER = InputRule(distribution=Distribution.INTEGERS, low=0, high=10)
_DEFAULT_BOOL = InputRule(distribution=Distribution.BERNOULLI, p=0.5)


def input_seed(seed: int, index: int, name: str) -> int:
    """The seed of one tensor's generator: 63 bits that differ for each (seed, case index, input name)."""
    text = f"{seed}\0{index}\0{name}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def make_inputs(case: Case, rules: Mapping[str, InputRule], *, seed: int, index: int) -> dict[str, Any]:
    """The inputs of one case, by name, in the order of the case.

    Args:
        case: dtypes, shapes and attribute values.
        rules: the operator's rules by input name; rules for inputs that the case lacks are ignored.
        seed: of the validation.
        index: position of the case in the full set.

    Returns:
        contiguous CPU tensors of the case's dtypes and shapes; attributes as fresh Python values; None for inputs
        that the case leaves out.

    Raises:
        WorkspaceError: a rule does not fit the case (bounds outside the dtype, an empty interval, an unknown name).
        CaseFileError: the case's own range does not fit the dtype.
    """
    shapes = {tensor.name: tensor.shape for tensor in case.tensors}
    attributes = {attribute.name: attribute.value for attribute in case.attributes}
    values: dict[str, Any] = {}
    for entry in case.inputs:
        match entry:
            case TensorInput():
                values[entry.name] = _make_tensor(
                    entry, rules.get(entry.name), shapes, attributes, input_seed(seed, index, entry.name)
                )
            case AttributeInput():
                values[entry.name] = _fresh(entry.value)
            case AbsentInput():
                values[entry.name] = None
    return values


def _fresh(value: Any) -> Any:
    """A copy of an attribute: lists are mutable, and a candidate must not reach the reference through one."""
    return [_fresh(item) for item in value] if isinstance(value, list | tuple) else value


def _make_tensor(
    entry: TensorInput,
    rule: InputRule | None,
    shapes: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, Any],
    seed: int,
) -> "torch.Tensor":
    import torch

    dtype: torch.dtype = getattr(torch, entry.dtype)
    generator = torch.Generator().manual_seed(seed)
    if rule is None:
        plain = _DEFAULT_FLOAT if dtype.is_floating_point else _DEFAULT_INTEGER
        rule = _DEFAULT_BOOL if entry.dtype == "bool" else plain
    where = f"input {entry.name} ({entry.dtype}{list(entry.shape)})"
    if entry.range is not None:
        return _ranged(entry, rule, dtype, generator, where)
    if entry.elements == 0:
        # Nothing to draw, and bounds such as "x.shape[0]" would be empty intervals.
        return torch.empty(entry.shape, dtype=dtype)

    def bound(value: Any) -> int | float:
        return evaluate_bound(value, shapes=shapes, attributes=attributes, where=where)

    match rule.distribution:
        case Distribution.NORMAL:
            return _normal(entry, dtype, generator, rule.mean, rule.std, where)
        case Distribution.UNIFORM:
            return _uniform(entry, dtype, generator, float(bound(rule.low)), float(bound(rule.high)), where)
        case Distribution.BERNOULLI:
            flat = torch.empty(entry.elements, dtype=dtype)
            for start in range(0, entry.elements, CHUNK):
                part = torch.rand(min(CHUNK, entry.elements - start), generator=generator)
                flat[start : start + CHUNK] = part < rule.p
            return flat.reshape(entry.shape)
        case Distribution.INTEGERS | Distribution.SORTED_INTEGERS:
            low, high = _whole(bound(rule.low), where), _whole(bound(rule.high), where)
            ascending = rule.distribution is Distribution.SORTED_INTEGERS
            return _integers(entry, dtype, generator, low, high, ascending, where)
        case Distribution.ARANGE:
            first = _whole(bound(rule.low), where)
            _check_limits(entry, first, first + entry.elements - 1, where)
            return torch.arange(first, first + entry.elements).to(dtype).reshape(entry.shape)
        case Distribution.PERMUTATION:
            _check_limits(entry, 0, entry.elements - 1, where)
            return torch.randperm(entry.elements, generator=generator).to(dtype).reshape(entry.shape)
        case Distribution.CONSTANT:
            value = rule.value
            if value is None:
                raise WorkspaceError("constant has no value", where=where, mend="add value = ...")
            if not dtype.is_floating_point:
                _check_limits(entry, _whole(value, where), _whole(value, where), where)
            return torch.full(entry.shape, value, dtype=dtype)


def _ranged(
    entry: TensorInput, rule: InputRule, dtype: "torch.dtype", generator: "torch.Generator", where: str
) -> "torch.Tensor":
    """A case's own range, inclusive, wins over the rule's bounds; whole or sorted stays the rule's to say."""
    assert entry.range is not None
    low, high = entry.range
    whole = rule.distribution in (Distribution.INTEGERS, Distribution.SORTED_INTEGERS)
    if dtype.is_floating_point and not whole:
        return _uniform(entry, dtype, generator, float(low), float(high), where, inclusive=True)
    limits = _INTEGER_LIMITS.get(entry.dtype)
    if limits and not limits[0] <= low <= high <= limits[1]:
        raise CaseFileError(
            f"range {low}..{high} does not fit {entry.dtype}",
            where=where,
            mend=f"stay within {limits[0]}..{limits[1]}",
        )
    ascending = rule.distribution is Distribution.SORTED_INTEGERS
    return _integers(entry, dtype, generator, _whole(low, where), _whole(high, where) + 1, ascending, where)


def _normal(
    entry: TensorInput,
    dtype: "torch.dtype",
    generator: "torch.Generator",
    mean: float,
    std: float,
    where: str,
) -> "torch.Tensor":
    import torch

    _need_float(entry, dtype, "normal", where)
    flat = torch.empty(entry.elements, dtype=dtype)
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    for start in range(0, entry.elements, CHUNK):
        part = torch.randn(min(CHUNK, entry.elements - start), dtype=wide, generator=generator)
        flat[start : start + CHUNK] = _shift(part, std, mean)
    return flat.reshape(entry.shape)


def _uniform(
    entry: TensorInput,
    dtype: "torch.dtype",
    generator: "torch.Generator",
    low: float,
    high: float,
    where: str,
    *,
    inclusive: bool = False,
) -> "torch.Tensor":
    import torch

    _need_float(entry, dtype, "uniform", where)
    if low > high or (low == high and not inclusive):
        raise WorkspaceError(
            f"nothing lies from {low} to below {high}", where=where, mend="make high larger than low"
        )
    flat = torch.empty(entry.elements, dtype=dtype)
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    for start in range(0, entry.elements, CHUNK):
        part = torch.rand(min(CHUNK, entry.elements - start), dtype=wide, generator=generator)
        flat[start : start + CHUNK] = _shift(part, high - low, low)
    if not inclusive:
        # low + u * (high - low) can round up to high itself, most of all in half precision.
        below = torch.tensor(high, dtype=dtype)
        if below.item() >= high:
            below = torch.nextafter(below, torch.tensor(-torch.inf, dtype=dtype))
        flat.clamp_(max=below.item())
    return flat.reshape(entry.shape)


def _shift(values: "torch.Tensor", scale: float, offset: float) -> "torch.Tensor":
    if scale != 1.0:
        values.mul_(scale)
    return values if offset == 0.0 else values.add_(offset)


def _integers(
    entry: TensorInput,
    dtype: "torch.dtype",
    generator: "torch.Generator",
    low: int,
    high: int,
    ascending: bool,
    where: str,
) -> "torch.Tensor":
    import torch

    if low >= high:
        raise WorkspaceError(
            f"no whole number lies from {low} to below {high}",
            where=where,
            mend="high is exclusive: make it larger",
        )
    _check_limits(entry, low, high - 1, where)
    if high == 1 << 63:
        # torch.randint's own bound is exclusive and 64 bits wide: the largest value can't be asked for.
        high -= 1
    direct = dtype if not dtype.is_floating_point and dtype is not torch.bool else torch.int64
    flat = torch.randint(low, high, (entry.elements,), dtype=direct, generator=generator)
    if ascending:
        flat = flat.sort().values
    return flat.to(dtype).reshape(entry.shape)


def _need_float(entry: TensorInput, dtype: "torch.dtype", distribution: str, where: str) -> None:
    if not dtype.is_floating_point:
        raise WorkspaceError(
            f"{distribution} does not fit {entry.dtype}",
            where=where,
            mend='use distribution = "integers" in operator.toml, or a range in the case',
        )


def _check_limits(entry: TensorInput, low: int, high: int, where: str) -> None:
    limits = _INTEGER_LIMITS.get(entry.dtype)
    if limits and not limits[0] <= low <= high <= limits[1]:
        raise WorkspaceError(
            f"values {low}..{high} do not fit {entry.dtype}",
            where=where,
            mend=f"stay within {limits[0]}..{limits[1]}",
        )


def _whole(value: Any, where: str) -> int:
    if int(value) != value:
        raise WorkspaceError(
            f"{value} is not whole", where=where, mend="integers need whole bounds and values"
        )
    return int(value)
