"""Every elementwise call in every form and type, bit for bit against NumPy: counts, masks, strides, Counter mode."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from npu_worker.sim.report import read_report
from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves
from tests.support.sim_vector import Array, as_torch, same

KERNELS = Path(__file__).parent.parent / "kernels" / "proofs"
COUNT, LENGTH, BITS, SET_BEFORE, COUNTER, COUNTER_BEFORE = range(6)
TYPES: dict[str, Any] = {
    "half": np.float16,
    "float": np.float32,
    "int16_t": np.int16,
    "uint16_t": np.uint16,
    "int32_t": np.int32,
    "uint32_t": np.uint32,
}
#: dst, src0, src1 in blocks of a repeat; then between repeats.
STRIDES = (
    (1, 1, 1, 8, 8, 8),
    (2, 1, 1, 16, 8, 8),
    (1, 2, 1, 8, 16, 8),
    (1, 1, 0, 8, 8, 0),
    (1, 1, 1, 10, 8, 9),
)
LOW, HIGH = 0xF0F0_00FF_1234_8001, 0x8000_0000_FFFF_0001
Rule = Callable[[Array, Array, Array, Any], Array]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return loaded(compiled(sources(KERNELS), "_sim_proofs_ext", tmp_path_factory.mktemp("proofs")))


def relu(values: Array) -> Array:
    return np.maximum(values, 0)


#: What each call makes of src0, src1, dst and the scalar; half and float in double: exact but for the last rounding.
RULES: dict[str, Rule] = {
    "Add": lambda a, b, d, s: a + b,
    "Sub": lambda a, b, d, s: a - b,
    "Mul": lambda a, b, d, s: a * b,
    "Div": lambda a, b, d, s: a / b,
    "Max": lambda a, b, d, s: np.maximum(a, b),
    "Min": lambda a, b, d, s: np.minimum(a, b),
    "And": lambda a, b, d, s: a & b,
    "Or": lambda a, b, d, s: a | b,
    "AddRelu": lambda a, b, d, s: relu(a + b),
    "SubRelu": lambda a, b, d, s: relu(a - b),
    "MulAddDst": lambda a, b, d, s: a * b + d,
    "FusedMulAdd": lambda a, b, d, s: a * d + b,
    "FusedMulAddRelu": lambda a, b, d, s: relu(a * d + b),
    "MulAddRelu": lambda a, b, d, s: relu(a * d + b),
    "Abs": lambda a, b, d, s: np.abs(a),
    "Sqrt": lambda a, b, d, s: np.sqrt(a),
    "Reciprocal": lambda a, b, d, s: 1 / a,
    "Relu": lambda a, b, d, s: relu(a),
    "Not": lambda a, b, d, s: ~a,
    "Adds": lambda a, b, d, s: a + s,
    "Muls": lambda a, b, d, s: a * s,
    "Maxs": lambda a, b, d, s: np.maximum(a, s),
    "Mins": lambda a, b, d, s: np.minimum(a, s),
    "LeakyRelu": lambda a, b, d, s: np.where(a > 0, a, a * s),
    "ShiftLeft": lambda a, b, d, s: a << s,
    "ShiftRight": lambda a, b, d, s: a >> s,
    "Axpy": lambda a, b, d, s: a * s + d,
    "Duplicate": lambda a, b, d, s: np.full_like(a, s),
}
#: Calls whose values are approximated: their forms are proven against their own count form.
CURVES = ("Exp", "Ln", "Rsqrt")


def operands(kind: Any, seed: int) -> list[Array]:
    """Values whose products and sums are exact in double, none of them 0; integers of any size."""
    rng = np.random.default_rng(seed)
    n = 4096 // np.dtype(kind).itemsize
    if np.dtype(kind).kind == "f":
        return [((rng.integers(1, 1000, n) / 64) * rng.choice([-1, 1], n)).astype(kind) for _ in range(3)]
    limits = np.iinfo(kind)
    return [rng.integers(limits.min, limits.max, n, dtype=kind, endpoint=True) for _ in range(3)]


def evaluated(name: str, arrays: list[Array], scalar: Any) -> Array:
    kind = arrays[0].dtype
    wide = [array.astype(np.float64) if kind.kind == "f" else array for array in arrays]
    held = kind.type(scalar)
    with np.errstate(all="ignore"):
        return RULES[name](*wide, float(held) if kind.kind == "f" else held).astype(kind)


def lanes_of(block: int, repeat: int, repeats: int, size: int) -> Array:
    """The element of each lane of each repeat."""
    a_block = 32 // size
    lane = np.arange(8 * a_block)
    own = lane // a_block * block * a_block + lane % a_block
    return (np.arange(repeats)[:, None] * repeat * a_block + own[None, :]).ravel()


def forms(size: int) -> Iterator[tuple[int, int, int, int, tuple[int, ...], Array]]:
    """form, repeat, low, high, strides, which lanes take part (those of all repeats, one after the other)."""
    lanes = 256 // size
    set_bits = np.array([LOW >> i & 1 for i in range(64)] + [HIGH >> i & 1 for i in range(64)], bool)[:lanes]
    for strides in STRIDES:
        length = lanes - 5
        yield LENGTH, 3, length, 0, strides, np.tile(np.arange(lanes) < length, 3)
        yield BITS, 3, LOW, HIGH, strides, np.tile(set_bits, 3)
        count = 2 * lanes + 7
        yield COUNTER, 1, count, 0, strides, np.arange(3 * lanes) < count
    for form, repeat, low, high, on in (
        (SET_BEFORE, 3, LOW, HIGH, np.tile(set_bits, 3)),
        (COUNTER_BEFORE, 1, 2 * lanes + 7, 0, np.arange(3 * lanes) < 2 * lanes + 7),
    ):
        yield form, repeat, low, high, STRIDES[1], on


@proves(
    "proofs/elementwise.h",
    """Add Sub Mul Div Max Min And Or AddRelu SubRelu MulAddDst FusedMulAdd FusedMulAddRelu MulAddRelu Abs
    Sqrt Relu Not Adds Muls Maxs Mins LeakyRelu ShiftLeft ShiftRight Axpy Duplicate""",
    forms="count mask counter",
)
@proves(
    "proofs/elementwise.cpp",
    """SetMaskCount SetMaskNorm SetVectorMask ResetMask BinaryRepeatParams UnaryRepeatParams MaskMode""",
)
def test_every_form_of_every_elementwise_call(
    kernels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.jsonl"
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(report))
    for number, line in enumerate(kernels.elementwise_calls()):
        name, *types = line.replace(",", "").split()
        for type_name in types:
            kind = TYPES[type_name]
            a, b, old = operands(kind, number)
            scalar = 3 if name.startswith("Shift") or np.dtype(kind).kind != "f" else 1.703125

            def run(
                form: int,
                repeat: int,
                low: int,
                high: int,
                strides: tuple[int, ...],
                *,
                call: int = number,
                data: tuple[Array, ...] = (a, b, old),
                by: float = scalar,
                of: int = list(TYPES).index(type_name),
            ) -> Array:
                first, second, out = (as_torch(array.copy()) for array in data)
                kernels.elementwise(first, second, out, call, of, form, repeat, by, low, high, list(strides))
                result: Array = out.numpy()
                return result

            n = a.size - 3
            counted = run(COUNT, 0, n, 0, STRIDES[0])
            if name in CURVES:
                whole = counted
            else:
                whole = evaluated(name, [a, b, old], scalar)
                assert same(counted[:n], whole[:n]), (name, type_name)
            assert same(counted[n:], old[n:]), (name, type_name)
            for form, repeat, low, high, strides, on in forms(a.dtype.itemsize):
                repeats = on.size // (256 // a.dtype.itemsize)
                to, left, right = (
                    lanes_of(strides[i], strides[3 + i], repeats, a.dtype.itemsize)[on] for i in range(3)
                )
                expected = old.copy()
                expected[to] = (
                    whole[left] if name in CURVES else evaluated(name, [a[left], b[right], old[to]], scalar)
                )
                actual = run(form, repeat, low, high, strides)
                assert same(actual, expected), (name, type_name, form, strides)
    assert read_report(report) == ()
