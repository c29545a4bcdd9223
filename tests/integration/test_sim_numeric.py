"""Every half and bfloat16 value through every Cast mode and elementwise call, against NumPy and ml_dtypes."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.extension import loaded
from tests.support.proof import proves
from tests.support.sim_vector import Array, as_torch, build, same, steps_apart

ALL_HALVES = np.arange(65536, dtype=np.uint16).view(np.float16)
ALL_BFLOATS = np.arange(65536, dtype=np.uint16).view(ml_dtypes.bfloat16)
ALL_SHORTS = np.arange(65536, dtype=np.uint16).view(np.int16)
NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
FIVE = (RINT, FLOOR, CEIL, ROUND, TRUNC)
MODES = ("none", "rint", "floor", "ceil", "round", "trunc", "odd")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return loaded(build(tmp_path_factory.mktemp("sim-vector")))


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(tmp_path / "report.jsonl"))


def cast(kernels: ModuleType, values: Array, pair: int, kind: Any, mode: int, scale: float = 0.0) -> Array:
    out = np.zeros(values.shape, kind)
    kernels.cast(as_torch(values.copy()), as_torch(out), pair, mode, scale)
    return out


def edges(kind: Any) -> Array:
    """Floats around the limits of an integer kind and halves of small numbers; random ones of every exponent."""
    rng = np.random.default_rng(11)
    random = rng.integers(0, 2**32, 60000, dtype=np.uint32).view(np.float32)
    limits = np.iinfo(kind)
    near = np.array([limits.min, limits.max, 0, 2.0**23, 2.0**24, 2.0**31, 2.0**53, 2.0**63], np.float64)
    steps = np.arange(-40, 41) / 4
    around = (near[:, None] + steps[None, :]).ravel()
    around = np.concatenate([around, -around]).astype(np.float32)
    neighbours = [np.nextafter(around, np.float32(d)) for d in (-np.inf, np.inf)]
    return np.concatenate([random, around, *neighbours, np.float32([np.nan, np.inf, -np.inf, -0.0])])


def whole(values: Array, mode: int) -> Array:
    exact = values.astype(np.float64)
    if mode == ODD:
        low = np.floor(exact)
        return np.where(low == exact, exact, np.where(np.mod(low, 2) != 0, low, low + 1))
    rules: dict[int, Callable[[Array], Array]] = {
        NONE: np.rint,
        RINT: np.rint,
        FLOOR: np.floor,
        CEIL: np.ceil,
        ROUND: lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
        TRUNC: np.trunc,
    }
    # |x| + 0.5 is exact in double for every float that has a fraction
    return np.where(np.abs(exact) < 2.0**52, rules[mode](exact), exact)


def to_integers(values: Array, kind: Any, mode: int) -> Array:
    """Rounded, saturated, NaN to 0."""
    rounded = np.nan_to_num(whole(values, mode), nan=0.0)
    limits = np.iinfo(kind)
    low, high = float(limits.min), float(limits.max)
    inside = (rounded > low) & (rounded < high)
    out = np.where(rounded <= low, limits.min, limits.max).astype(kind)
    out[inside] = rounded[inside].astype(kind)
    return out


@proves("sim_vector/numeric.cpp", "Cast RoundMode", forms="count")
@pytest.mark.parametrize("mode", FIVE, ids=lambda mode: MODES[mode])
@pytest.mark.parametrize(
    ("pair", "source", "kind"),
    [
        (1, "half", np.int32),
        (2, "half", np.int16),
        (3, "half", np.int8),
        (4, "half", np.uint8),
        (18, "bfloat16", np.int32),
        (15, "float", np.int64),
        (16, "float", np.int32),
        (17, "float", np.int16),
    ],
    ids=[
        "half-int32",
        "half-int16",
        "half-int8",
        "half-uint8",
        "bfloat16-int32",
        "float-int64",
        "float-int32",
        "float-int16",
    ],
)
def test_casts_to_integers(kernels: ModuleType, pair: int, source: str, kind: Any, mode: int) -> None:
    values = {"half": ALL_HALVES, "bfloat16": ALL_BFLOATS, "float": edges(kind)}[source]
    with np.errstate(all="ignore"):
        assert np.array_equal(cast(kernels, values, pair, kind, mode), to_integers(values, kind, mode))


@pytest.mark.parametrize("mode", FIVE, ids=lambda mode: MODES[mode])
def test_float_to_float_makes_whole_numbers(kernels: ModuleType, mode: int) -> None:
    values = edges(np.int32)
    with np.errstate(all="ignore"):
        assert same(cast(kernels, values, 7, np.float32, mode), whole(values, mode).astype(np.float32))


def between(grid: Array, values: Array, mode: int) -> Array:
    """values (exact doubles inside the grid's range) on the grid of a format, rounded by the mode."""
    low = grid[np.searchsorted(grid, values, side="right") - 1].astype(np.float64)
    high = grid[np.searchsorted(grid, values, side="left")].astype(np.float64)
    inner, outer = np.where(values < 0, high, low), np.where(values < 0, low, high)
    if mode == FLOOR:
        return low
    if mode == CEIL:
        return high
    if mode == TRUNC:
        return inner
    odd = np.searchsorted(grid, np.abs(inner)) - np.searchsorted(grid, 0.0)
    if mode == ODD:
        return np.where((low == high) | (odd % 2 == 1), inner, outer)
    far, near = np.abs(values - inner), np.abs(outer - values)
    if mode == ROUND:
        return np.where((far >= near) & (low != high), outer, inner)
    up = (far > near) | ((far == near) & (odd % 2 == 1))
    return np.where(up & (low != high), outer, inner)


def finite_grid(kind: Any) -> Array:
    with np.errstate(invalid="ignore"):
        wide = np.arange(65536, dtype=np.uint16).view(kind).astype(np.float64)
    return np.unique(wide[np.isfinite(wide)])


@proves("sim_vector/numeric.cpp", "Cast RoundMode", forms="count")
@pytest.mark.parametrize(
    ("pair", "source", "kind", "modes"),
    [
        (5, "float", np.float16, (NONE, *FIVE, ODD)),
        (6, "float", ml_dtypes.bfloat16, FIVE),
        (13, "int16", np.float16, (NONE, *FIVE)),
    ],
    ids=["float-half", "float-bfloat16", "int16-half"],
)
def test_casts_to_narrow_floats(
    kernels: ModuleType, pair: int, source: str, kind: Any, modes: tuple[int, ...]
) -> None:
    grid = finite_grid(kind)
    if source == "int16":
        values = ALL_SHORTS
    else:  # every value of the format, the middle to the next one, and their neighbours
        middle = ((grid[:-1] + grid[1:]) / 2).astype(np.float32)
        below, above = (np.nextafter(middle, np.float32(d)) for d in (-np.inf, np.inf))
        values = np.concatenate([grid.astype(np.float32), middle, below, above])
        values = values[(values >= grid[0]) & (values <= grid[-1])]
    for mode in modes:
        actual = cast(kernels, values, pair, kind, mode)
        expected = between(grid, values.astype(np.float64), mode)
        assert np.array_equal(actual.astype(np.float64), expected), MODES[mode]


@pytest.mark.parametrize("mode", [NONE, *FIVE], ids=lambda mode: MODES[mode])
def test_integers_to_float(kernels: ModuleType, mode: int) -> None:
    rng = np.random.default_rng(5)
    small = rng.integers(-(2**31), 2**31, 20000, dtype=np.int64).astype(np.int32)
    around = np.array(
        [2**24 + k for k in range(-9, 10)] + [2**30 + 64 * k for k in range(-9, 10)] + [-(2**31), 2**31 - 1],
        np.int32,
    )
    values = np.concatenate([small, around, -around])

    def directed(exact: Array) -> Array:
        """From the nearest float: the neighbour on the other side of the exact integer where the mode wants it."""
        near = exact.astype(np.float32)
        back = near.astype(np.float64).astype(object)
        wide = exact.astype(object)
        out = near.copy()
        for i, (got, want) in enumerate(zip(back, wide, strict=True)):
            got_integer = int(got)
            if got_integer == want or mode in (NONE, RINT):
                continue
            inner, outer = (
                (np.nextafter(near[i], np.float32(0)), near[i])
                if abs(got_integer) > abs(want)
                else (near[i], np.nextafter(near[i], np.float32(np.copysign(np.inf, want))))
            )
            tie = abs(abs(want) - abs(int(inner))) >= abs(int(outer) - want)
            chosen = {
                FLOOR: outer if want < 0 else inner,
                CEIL: inner if want < 0 else outer,
                TRUNC: inner,
                ROUND: outer if tie else inner,
            }
            out[i] = chosen[mode]
        return out

    assert same(cast(kernels, values, 9, np.float32, mode), directed(values))
    if mode != NONE:
        large = np.concatenate(
            [
                rng.integers(-(2**63), 2**63, 4000, dtype=np.int64),
                np.array([2**63 - 1, -(2**63), 2**53 + 1, 2**60 + 1]),
            ]
        )
        assert same(cast(kernels, large, 22, np.float32, mode), directed(large))


def test_casts_that_lose_nothing(kernels: ModuleType) -> None:
    with np.errstate(invalid="ignore"):
        assert same(cast(kernels, ALL_HALVES, 0, np.float32, NONE), ALL_HALVES.astype(np.float32))
        assert same(cast(kernels, ALL_BFLOATS, 8, np.float32, NONE), ALL_BFLOATS.astype(np.float32))
    bytes_of = np.arange(256, dtype=np.uint8)
    assert same(
        cast(kernels, bytes_of.view(np.int8), 11, np.float16, NONE), bytes_of.view(np.int8).astype(np.float16)
    )
    assert same(cast(kernels, bytes_of, 12, np.float16, NONE), bytes_of.astype(np.float16))
    assert same(cast(kernels, ALL_SHORTS, 14, np.float32, NONE), ALL_SHORTS.astype(np.float32))
    wide = np.array(
        [
            -(2**63),
            -(2**31) - 1,
            -(2**31),
            -32769,
            -32768,
            -1,
            0,
            1,
            32767,
            32768,
            2**31 - 1,
            2**31,
            2**63 - 1,
        ]
    )
    narrow = np.clip(wide, -(2**31), 2**31 - 1).astype(np.int32)
    assert np.array_equal(cast(kernels, narrow, 20, np.int64, NONE), narrow.astype(np.int64))
    assert np.array_equal(cast(kernels, wide, 21, np.int32, NONE), narrow)
    assert np.array_equal(
        cast(kernels, narrow, 19, np.int16, NONE), np.clip(narrow, -(2**15), 2**15 - 1).astype(np.int16)
    )


@proves("sim_vector/numeric.cpp", "SetDeqScale")
@pytest.mark.parametrize("scale", [1.0, 0.1, 0.0078125, 3.0])
def test_int32_to_half_is_scaled_and_rounded_once(kernels: ModuleType, scale: float) -> None:
    values = np.random.default_rng(6).integers(-(2**24), 2**24, 20000).astype(np.int32)
    exact = values.astype(np.float64) * float(np.float16(scale))
    with np.errstate(over="ignore"):
        assert same(cast(kernels, values, 10, np.float16, NONE, scale), exact.astype(np.float16))


TYPES = {"half": 0, "float": 1, "int16": 2, "int32": 3, "uint16": 4, "uint32": 5}


def lanes(
    kernels: ModuleType, op: int, kind: str, x: Array, y: Array | None = None, scalar: float = 0.0
) -> Array:
    out = np.zeros_like(x)
    other = x if y is None else y
    kernels.lanes(as_torch(x.copy()), as_torch(other.copy()), as_torch(out), TYPES[kind], op, scalar)
    return out


def floats() -> Array:
    rng = np.random.default_rng(2)
    random = rng.integers(0, 2**32, 60000, dtype=np.uint32).view(np.float32)
    special = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3.4e38, 1e-38, 1e-45, -1e-45])
    return np.concatenate([random, rng.standard_normal(4096).astype(np.float32), special])


def narrowed(kind: str, wide: Array) -> Array:
    return wide.astype(np.float16 if kind == "half" else np.float32)


def maximum(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x > y, x, y))


def minimum(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x < y, x, y))


def relu(x: Array) -> Array:
    return np.where(np.isnan(x) | (x > 0), x, 0.0)


#: op number -> its exact value in double, of x and y. All are exact in double but for the one rounding that follows.
EXACT: dict[int, Callable[[Array, Array], Array]] = {
    0: lambda x, y: x + y,
    1: lambda x, y: x - y,
    2: lambda x, y: x * y,
    3: maximum,
    4: minimum,
    10: lambda x, y: np.abs(x),
    13: lambda x, y: np.sqrt(x),
    15: lambda x, y: 1.0 / x,
    16: lambda x, y: relu(x),
    18: lambda x, y: x / y,
    19: lambda x, y: relu(x + y),
    20: lambda x, y: relu(x - y),
}


@proves("sim_vector/numeric.cpp", "Add Sub Mul Max Min Abs Sqrt Relu Div AddRelu SubRelu", forms="count")
@pytest.mark.parametrize("op", sorted(EXACT))
@pytest.mark.parametrize("kind", ["half", "float"])
def test_arithmetic_is_correctly_rounded(kernels: ModuleType, kind: str, op: int) -> None:
    x = ALL_HALVES if kind == "half" else floats()
    rng = np.random.default_rng(op)
    y = rng.permutation(x)
    with np.errstate(all="ignore"):
        if kind == "half":
            expected = narrowed(kind, EXACT[op](x.astype(np.float64), y.astype(np.float64)))
        else:  # NumPy's float32 arithmetic is correctly rounded
            expected = EXACT[op](x, y).astype(np.float32)
        assert same(lanes(kernels, op, kind, x, y), expected)


SCALARS: dict[int, Callable[[Array, Any], Array]] = {
    5: lambda x, s: x + s,
    6: lambda x, s: x * s,
    7: maximum,
    8: minimum,
    17: lambda x, s: np.where(x > 0, x, x * s),
}


@proves("sim_vector/numeric.cpp", "Adds Muls Maxs Mins LeakyRelu", forms="count")
@pytest.mark.parametrize("scalar", [0.0, 1.0, -2.5, 0.1, 65504.0, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", ["half", "float"])
def test_scalar_operands(kernels: ModuleType, kind: str, scalar: float) -> None:
    x = ALL_HALVES if kind == "half" else floats()
    held = (np.float16 if kind == "half" else np.float32)(scalar)
    for op, rule in SCALARS.items():
        with np.errstate(all="ignore"):
            expected = (
                narrowed(kind, rule(x.astype(np.float64), float(held)))
                if kind == "half"
                else rule(x, held).astype(np.float32)
            )
            assert same(lanes(kernels, op, kind, x, scalar=scalar), expected), op


@proves("sim_vector/numeric.cpp", "MulAddDst FusedMulAdd MulAddRelu Axpy", forms="count")
def test_fused_calls_round_once(kernels: ModuleType) -> None:
    rng = np.random.default_rng(9)
    x, y = ALL_HALVES, rng.permutation(ALL_HALVES)
    wide, other, held = x.astype(np.float64), y.astype(np.float64), float(np.float16(0.3))
    with np.errstate(all="ignore"):
        # a product of two halves plus a half is exact in double: one rounding is left
        assert same(lanes(kernels, 21, "half", x, y, 0.3), (wide * other + held).astype(np.float16))
        assert same(lanes(kernels, 22, "half", x, y, 0.3), (wide * held + other).astype(np.float16))
        assert same(lanes(kernels, 23, "half", x, y, 0.3), relu(wide * held + other).astype(np.float16))
        assert same(lanes(kernels, 24, "half", x, y, 0.3), (wide * held + held).astype(np.float16))


#: op, the double that is the truth, and how many representable values the float calls may be off.
CURVES: list[tuple[int, Callable[[Array], Array]]] = [
    (11, np.exp),
    (12, np.log),
    (14, lambda x: 1.0 / np.sqrt(x)),
]


@pytest.mark.parametrize(("op", "rule"), CURVES, ids=["exp", "ln", "rsqrt"])
def test_curves_are_within_one_step(kernels: ModuleType, op: int, rule: Callable[[Array], Array]) -> None:
    with np.errstate(all="ignore"):
        actual, expected = (
            lanes(kernels, op, "half", ALL_HALVES),
            rule(ALL_HALVES.astype(np.float64)).astype(np.float16),
        )
        apart = steps_apart(actual, expected)
        assert apart.max() <= 1
        assert np.count_nonzero(apart) <= 4  # of 65,536: double rounding through float
        x = floats()
        assert (
            steps_apart(lanes(kernels, op, "float", x), rule(x.astype(np.float64)).astype(np.float32)).max()
            <= 1
        )


def test_integer_lanes_wrap(kernels: ModuleType) -> None:
    rng = np.random.default_rng(4)
    for kind, dtype in (("int16", np.int16), ("int32", np.int32)):
        x = (
            ALL_SHORTS
            if kind == "int16"
            else rng.integers(-(2**31), 2**31, 30000, dtype=np.int64).astype(np.int32)
        )
        y = rng.permutation(x)
        with np.errstate(all="ignore"):
            rules = [x + y, x - y, x * y, np.maximum(x, y), np.minimum(x, y)]
            for op, expected in enumerate(rules):
                assert np.array_equal(lanes(kernels, op, kind, x, y), expected), (kind, op)
            for op, expected in [
                (5, x + dtype(7)),
                (6, x * dtype(7)),
                (7, np.maximum(x, 7)),
                (8, np.minimum(x, 7)),
            ]:
                assert np.array_equal(lanes(kernels, op, kind, x, scalar=7), expected), (kind, op)
    wide = rng.integers(-(2**31), 2**31, 4096, dtype=np.int64).astype(np.int32)
    assert np.array_equal(lanes(kernels, 36, "int32", wide), np.maximum(wide, 0))


@proves("sim_vector/numeric.cpp", "Not And Or ShiftLeft ShiftRight", forms="count")
@pytest.mark.parametrize("kind", ["int16", "uint16", "int32", "uint32"])
def test_bits_and_shifts(kernels: ModuleType, kind: str) -> None:
    dtype = np.dtype(kind)
    rng = np.random.default_rng(7)
    if dtype.itemsize == 2:
        x = np.arange(65536, dtype=np.uint16).view(dtype)
        y = rng.permutation(x)
        assert np.array_equal(lanes(kernels, 30, kind, x), ~x)
        assert np.array_equal(lanes(kernels, 31, kind, x, y), x & y)
        assert np.array_equal(lanes(kernels, 32, kind, x, y), x | y)
    else:
        x = rng.integers(0, 2**32, 16384, dtype=np.uint32).view(dtype)
    width = dtype.itemsize * 8
    for by in (0, 1, 3, width - 1):
        assert np.array_equal(lanes(kernels, 33, kind, x, scalar=by), (x << by).astype(dtype)), by
        assert np.array_equal(lanes(kernels, 34, kind, x, scalar=by), x >> by), by
        rounded = (x.astype(np.int64) + (1 << by >> 1)) >> by
        assert np.array_equal(lanes(kernels, 35, kind, x, scalar=by), rounded.astype(dtype)), by
    assert np.array_equal(lanes(kernels, 33, kind, x, scalar=width), np.zeros_like(x))
