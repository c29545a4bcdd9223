"""Real kernels, compiled once and run on the simulator, against NumPy and ml_dtypes."""

import time
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from npu_worker.sim.report import read_report
from schema.results import Finding
from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "sim"
ALL_HALVES = np.arange(65536, dtype=np.uint16).view(np.float16)
ALL_BFLOATS = np.arange(65536, dtype=np.uint16).view(ml_dtypes.bfloat16)
RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = 1, 2, 3, 4, 5, 6


def as_torch(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def as_numpy(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    work = tmp_path_factory.mktemp("sim")
    return loaded(compiled(sources(KERNELS), "_sim_kernels_ext", work))


def rules(path: Path) -> set[str]:
    return {finding.rule for finding in read_report(path)}


def same(actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    """Bit-equal, but any NaN equals any NaN."""
    with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
        nan, actual_nan = np.isnan(expected.astype(np.float64)), np.isnan(actual.astype(np.float64))
    return bool(np.array_equal(actual_nan, nan)) and bool(
        np.array_equal(actual[~nan].view(np.uint8), expected[~nan].view(np.uint8))
    )


INTEGER_ROUNDING = {
    RINT: np.rint,
    FLOOR: np.floor,
    CEIL: np.ceil,
    TRUNC: np.trunc,
    ROUND: lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}


@pytest.mark.parametrize("mode", sorted(INTEGER_ROUNDING))
@pytest.mark.parametrize(
    ("pair", "kind"),
    [(1, np.int32), (2, np.int16), (3, np.int8), (4, np.uint8)],
    ids=["int32", "int16", "int8", "uint8"],
)
def test_every_half_casts_to_integers(kernels: ModuleType, pair: int, kind: type, mode: int) -> None:
    dtype = torch.from_numpy(np.zeros(1, kind)).dtype
    actual = as_numpy(kernels.cast(as_torch(ALL_HALVES), pair, dtype, mode))
    wide = np.nan_to_num(ALL_HALVES.astype(np.float64), nan=0.0)
    limits = np.iinfo(kind)
    expected = np.clip(INTEGER_ROUNDING[mode](wide), limits.min, limits.max).astype(kind)
    assert np.array_equal(actual, expected)


def test_every_half_widens_and_every_bfloat_widens(kernels: ModuleType) -> None:
    with np.errstate(invalid="ignore"):
        halves, bfloats = ALL_HALVES.astype(np.float32), ALL_BFLOATS.astype(np.float32)
    assert same(as_numpy(kernels.cast(as_torch(ALL_HALVES), 0, torch.float32, 0)), halves)
    assert same(as_numpy(kernels.cast(as_torch(ALL_BFLOATS), 8, torch.float32, 0)), bfloats)


def between_neighbours(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Floats at, just below and just above the midpoint of each value and the next, and the values themselves."""
    finite = np.unique(values[np.isfinite(values.astype(np.float32))].astype(np.float32))
    middle = ((finite[:-1].astype(np.float64) + finite[1:]) / 2).astype(np.float32)
    below, above = (
        np.nextafter(middle, -np.inf, dtype=np.float32),
        np.nextafter(middle, np.inf, dtype=np.float32),
    )
    return np.concatenate([finite, middle, below, above])


@pytest.mark.parametrize(
    ("pair", "kind"), [(5, np.float16), (6, ml_dtypes.bfloat16)], ids=["half", "bfloat16"]
)
def test_float_narrows_in_every_mode(kernels: ModuleType, pair: int, kind: Any) -> None:
    values = between_neighbours(np.arange(65536, dtype=np.uint16).view(kind))
    grid = np.unique(np.arange(65536, dtype=np.uint16).view(kind).astype(np.float32))
    grid = grid[np.isfinite(grid)]
    dtype = torch.float16 if kind is np.float16 else torch.bfloat16
    narrowed = {
        mode: as_numpy(kernels.cast(as_torch(values), pair, dtype, mode))
        for mode in (0, RINT, FLOOR, CEIL, ROUND, TRUNC)
    }
    nearest = values.astype(kind)
    assert same(narrowed[RINT], nearest)
    assert same(narrowed[0], nearest)
    low = grid[np.searchsorted(grid, values, side="right") - 1]
    high = grid[np.searchsorted(grid, values, side="left")]
    toward = np.where(values < 0, high, low)
    assert np.array_equal(narrowed[FLOOR].astype(np.float32), low)
    assert np.array_equal(narrowed[CEIL].astype(np.float32), high)
    assert np.array_equal(narrowed[TRUNC].astype(np.float32), toward)
    outward = np.where(values < 0, low, high).astype(np.float64)
    half_way = np.abs(values.astype(np.float64) - toward) >= np.abs(outward - values)
    assert np.array_equal(
        narrowed[ROUND].astype(np.float32),
        np.where(half_way & (low != high), outward, toward).astype(np.float32),
    )


def test_integers_become_floats_rounded_once(kernels: ModuleType) -> None:
    rng = np.random.default_rng(3)
    narrow = rng.integers(-(2**31), 2**31, 5000, dtype=np.int64).astype(np.int32)
    assert np.array_equal(
        as_numpy(kernels.cast(as_torch(narrow), 9, torch.float32, RINT)), narrow.astype(np.float32)
    )
    wide = rng.integers(-(2**63), 2**63 - 1, 5000, dtype=np.int64)
    wide = np.concatenate(
        [wide, wide >> 20, wide >> 40, np.array([2**63 - 1, -(2**63), 2**53 + 1, (2**54) + 2**30 + 1])]
    )
    assert np.array_equal(
        as_numpy(kernels.cast(as_torch(wide), 11, torch.float32, RINT)), wide.astype(np.float32)
    )
    assert np.array_equal(
        as_numpy(kernels.cast(as_torch(wide), 12, torch.int32, 0)),
        np.clip(wide, -(2**31), 2**31 - 1).astype(np.int32),
    )
    floats = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 3e9, -3e9, np.inf, -np.inf, np.nan], np.float32)
    expected = np.array([0, 2, 2, 0, -2, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0], np.int32)
    assert np.array_equal(as_numpy(kernels.cast(as_torch(floats), 7, torch.int32, RINT)), expected)


BINARY = {0: np.add, 1: np.subtract, 2: np.multiply, 3: np.divide}


@pytest.mark.parametrize("op", sorted(BINARY))
def test_half_arithmetic_rounds_once(kernels: ModuleType, op: int) -> None:
    rng = np.random.default_rng(op)
    x, y = ALL_HALVES, rng.permutation(ALL_HALVES)
    actual = as_numpy(kernels.elementwise(as_torch(x), as_torch(y), op, 0.0))
    with np.errstate(all="ignore"):
        assert same(actual, BINARY[op](x, y))


UNARY = {6: np.abs, 8: np.sqrt, 9: np.exp, 10: np.log, 11: np.reciprocal, 12: np.tanh}


@pytest.mark.parametrize("op", sorted(UNARY))
def test_every_half_through_unary_calls(kernels: ModuleType, op: int) -> None:
    actual = as_numpy(kernels.elementwise(as_torch(ALL_HALVES), as_torch(ALL_HALVES), op, 0.0))
    with np.errstate(all="ignore"):
        expected = UNARY[op](ALL_HALVES.astype(np.float64)).astype(np.float16)
    ok = ~np.isnan(expected)
    assert np.array_equal(np.isnan(actual), ~ok)
    steps = np.abs(actual[ok].view(np.int16).astype(np.int32) - expected[ok].view(np.int16))
    assert steps.max() <= 1  # computed in float, rounded once: at most one step from the exact value
    assert np.mean(steps == 0) > 0.999


@proves(
    "sim/vector.cpp",
    """InitBuffer AllocTensor FreeTensor EnQue DeQue Get LocalTensor TPipe TQue TBuf TPosition""",
)
@proves("sim/common.h", "kernel_operator.h")
@pytest.mark.parametrize("n", [1, 7, 8, 4095, 4096, 4097, 10001])
def test_float_add_of_any_length(kernels: ModuleType, report: Path, n: int) -> None:
    x, y = torch.randn(n), torch.randn(n)
    assert torch.equal(kernels.elementwise(x, y, 0, 0.0), x + y)
    assert rules(report) == set()


def test_scalar_operands_masks_and_selection(kernels: ModuleType) -> None:
    x, y = torch.randn(4096), torch.randn(4096)
    assert torch.equal(kernels.elementwise(x, y, 13, 0.1), x + torch.tensor(0.1))
    assert torch.equal(kernels.elementwise(x, y, 14, 0.1), x * torch.tensor(0.1))
    assert torch.equal(kernels.elementwise(x, y, 15, 2.5), torch.full((4096,), 2.5))
    fused = (y.double() + x.double() * 3.0).float()
    assert torch.equal(kernels.elementwise(x, y, 16, 3.0), fused)
    assert torch.equal(kernels.elementwise(x, y, 17, 0.0), torch.where(x < y, x, torch.zeros(())))
    half_repeats = torch.where(torch.arange(4096) % 64 < 32, x + y, torch.zeros(()))
    assert torch.equal(kernels.elementwise(x, y, 18, 0.0), half_repeats)
    every_second = torch.where(torch.arange(4096) % 2 == 0, x + 1.0, torch.zeros(()))
    assert torch.equal(kernels.elementwise(x, y, 20, 1.0), every_second)
    h, k = x.half(), y.half()
    assert torch.equal(kernels.elementwise(h, k, 19, 0.0), h * k + h)


def tree(values: np.ndarray[Any, Any]) -> Any:
    level = values
    while len(level) > 1:
        pairs = level[: len(level) // 2 * 2].reshape(-1, 2)
        level = np.concatenate([pairs[:, 0] + pairs[:, 1], level[len(level) // 2 * 2 :]])
    return level[0]


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("n", [1, 5, 64, 128, 1000, 4096])
def test_reduce_sum_adds_trees_in_order(kernels: ModuleType, kind: type, n: int) -> None:
    x = np.random.default_rng(n).normal(size=n).astype(kind)
    most = 256 // x.itemsize
    expected = None
    for start in range(0, n, most):
        part = tree(x[start : start + most])
        expected = part if expected is None else expected + part
    assert as_numpy(kernels.reduce(as_torch(x), 0))[0] == expected


def test_reductions_of_repeats(kernels: ModuleType) -> None:
    x = np.random.default_rng(1).normal(size=1024).astype(np.float32)
    rows = x.reshape(16, 64)
    sums = np.array([tree(row) for row in rows], np.float32)
    assert as_numpy(kernels.reduce(as_torch(x), 1))[0] == tree(sums)
    assert np.array_equal(as_numpy(kernels.reduce(as_torch(x), 4))[:16], sums)
    assert np.array_equal(
        as_numpy(kernels.reduce(as_torch(x), 5))[:128],
        np.array([tree(b) for b in x.reshape(128, 8)], np.float32),
    )
    assert np.array_equal(as_numpy(kernels.reduce(as_torch(x), 6))[:16], rows.max(axis=1))
    most, least = (as_numpy(kernels.reduce(as_torch(x), op)) for op in (2, 3))
    assert (most[0], most[1:2].view(np.uint32)[0]) == (x.max(), x.argmax())
    assert (least[0], least[1:2].view(np.uint32)[0]) == (x.min(), x.argmin())
    ties = np.array([1, 3, 3, 2, 3], np.float16)
    assert as_numpy(kernels.reduce(as_torch(ties), 2))[1:2].view(np.uint16)[0] == 1


@proves("sim/machine.cpp", "DataCopyPad DataCopyExtParams DataCopyPadExtParams")
def test_unspecified_padding_is_poison(kernels: ModuleType, report: Path) -> None:
    out = kernels.machine(torch.arange(16, dtype=torch.float32), 1, 0).view(2, 8)
    assert torch.equal(out[:, :5], torch.arange(10, dtype=torch.float32).view(2, 5))
    assert torch.equal(out[:, 5], torch.full((2,), 7.0))
    assert out[:, 6:].isnan().all()
    assert rules(report) == {"read-never-written"}


def test_never_written_memory_is_poison(kernels: ModuleType) -> None:
    assert kernels.machine(torch.ones(16), 1, 1).isnan().all()


def test_datacopy_truncates_and_says_so(kernels: ModuleType, report: Path) -> None:
    out = kernels.machine(torch.arange(16, dtype=torch.float32), 1, 2)
    assert torch.equal(out[:8], torch.arange(8, dtype=torch.float32))
    assert out[8:].isnan().all()
    finding, unwritten = read_report(report)
    assert unwritten.rule == "read-never-written"
    line = next(
        i for i, text in enumerate((KERNELS / "machine.cpp").read_text().splitlines(), 1) if "case 2:" in text
    )
    assert finding == Finding(
        rule="datacopy-unaligned",
        severity="violation",
        message="DataCopy of 52 bytes: not a multiple of 32, the last 20 bytes are not copied",
        file="kernel/machine.cpp",
        line=line,
        count=1,
        core="AIV 0",
        mend="copy a multiple of 32 bytes, or use DataCopyPad, which takes any number of bytes",
    )


@pytest.mark.parametrize(
    ("what", "rule"),
    [
        (3, "queue-deque-empty"),
        (4, "queue-no-free-buffer"),
        (6, "ub-overflow"),
        (7, "ub-unaligned"),
        (8, "ub-out-of-range"),
        (13, "syncall-missing-core"),
        (20, "gm-unknown-address"),
    ],
)
def test_what_hardware_would_not_survive_stops_the_kernel(
    kernels: ModuleType, report: Path, what: int, rule: str
) -> None:
    with pytest.raises(RuntimeError, match=f"^{rule}: "):
        kernels.machine(torch.ones(64), 2, what)
    assert rules(report) == {rule}
    assert torch.equal(kernels.plus_one(torch.ones(8)), torch.full((8,), 2.0))  # the machine is usable again


@pytest.mark.parametrize(
    ("what", "rule"),
    [
        (5, "queue-leak"),
        (9, "gm-read-out-of-range"),
        (10, "gm-write-out-of-range"),
        (11, "flag-never-set"),
        (15, "queue-double-free"),
        (17, "ub-buffer-overrun"),
    ],
)
def test_violations_are_reported_and_the_kernel_goes_on(
    kernels: ModuleType, report: Path, what: int, rule: str
) -> None:
    out = kernels.machine(torch.ones(64), 1, what)
    # What a copy in from nowhere leaves unwritten is seen at the copy out.
    assert rules(report) == ({rule, "read-never-written"} if what == 9 else {rule})
    if what == 9:
        assert out[:8].isnan().all()


def test_unsupported_at_run_time_is_its_own_class(kernels: ModuleType) -> None:
    with pytest.raises(RuntimeError, match=r"^unsupported by the simulator: "):
        kernels.machine(torch.ones(8), 1, 16)


@proves(
    "sim/machine.cpp",
    """GetBlockIdx GetBlockNum SyncAll SetAtomicAdd SetAtomicNone GetValue SetValue SetGlobalBuffer
    GlobalTensor""",
)
def test_sync_all_and_atomics_across_cores(kernels: ModuleType, report: Path) -> None:
    assert kernels.machine(torch.zeros(48), 48, 12).tolist() == [*range(1, 48), 0]
    assert torch.equal(kernels.machine(torch.zeros(8), 20, 14), torch.full((8,), 20.0))
    assert rules(report) == {"cache-line-shared"}  # by the scalar stores
    with pytest.raises(RuntimeError, match="syncall-too-many-blocks"):
        kernels.machine(torch.zeros(64), 49, 12)


@proves("sim/machine.cpp", "DataCopy DataCopyParams")
def test_block_copy_with_gaps(kernels: ModuleType) -> None:
    x = torch.arange(64, dtype=torch.float32)
    assert torch.equal(kernels.machine(x, 1, 19)[:32], x.view(4, 2, 8)[:, 0].reshape(-1))


@proves("sim/machine.cpp", "GetWithOffset ReinterpretCast")
def test_counter_mode_gather_and_brcb(kernels: ModuleType, report: Path) -> None:
    out = kernels.machine(torch.zeros(256), 1, 21)
    assert torch.equal(out, (torch.arange(256) < 100).float())
    x = torch.arange(72, dtype=torch.float32)
    out = kernels.machine(x, 1, 22)
    assert torch.equal(out[:8], x[:8].flip(0))
    assert torch.equal(out[8:], x[:8].repeat_interleave(8))
    assert rules(report) == set()


def test_storage_that_shrank_is_not_remembered(kernels: ModuleType, report: Path) -> None:
    """A freed storage's range must not hide that its smaller successor is overrun."""
    base = torch.ones(4096)
    kernels.plus_one(base[:8])
    shared = base.numpy()
    small = torch.from_numpy(shared[:64])  # the same memory, now a storage of 64 floats
    kernels.machine(small, 1, 9)
    assert rules(report) == {"gm-read-out-of-range", "read-never-written"}


def test_launch_macro_and_tensor_facts(kernels: ModuleType) -> None:
    x = torch.randn(100)
    assert torch.equal(kernels.plus_one(x), x + 1)
    assert kernels.facts(torch.zeros(4, 5).half().t()) == ([1, 5], 2, False)
    assert kernels.facts(torch.zeros(3), torch.zeros(1)) == ([1], 4, True)
    with pytest.raises(RuntimeError, match=r"x and y differ: \[2\] \[3\]"):
        kernels.elementwise(torch.zeros(2), torch.zeros(3), 0, 0.0)


def test_allocation_goes_through_python_torch(kernels: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = torch.empty_like
    monkeypatch.setattr(torch, "empty_like", lambda *a, **k: seen.append(a) or real(*a, **k))
    kernels.plus_one(torch.ones(8))
    assert len(seen) == 1


def test_speed(kernels: ModuleType) -> None:
    """Loose bounds: the machine is shared. A scalar loop that left its fast path is 20 times slower."""
    x = torch.randn(1 << 20)
    kernels.elementwise(x, x, 0, 0.0)
    start = time.process_time()
    kernels.elementwise(x, x, 0, 0.0)
    assert time.process_time() - start < 0.2
    start = time.process_time()
    kernels.machine(torch.zeros(1 << 20), 1, 18)
    assert time.process_time() - start < 0.2
