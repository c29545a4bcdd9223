"""Calls that reduce, compare and move lanes, in every form, bit for bit; what objects say of themselves."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from npu_worker.sim.report import read_report
from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves
from tests.support.sim_vector import Array, as_torch, same

KERNELS = Path(__file__).parent.parent / "kernels" / "proofs"
LOW, HIGH = 0xF0F0_00FF_1234_8001, 0x8000_0000_FFFF_0001
KINDS: tuple[Any, ...] = (np.float16, np.float32)
ORDERS = VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX = range(4)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return loaded(compiled(sources(KERNELS), "_sim_proofs_ext", tmp_path_factory.mktemp("proofs")))


class Line:
    """Runs a call; the result is what 4096 bytes of -9 have become."""

    def __init__(self, kernels: ModuleType, kind: Any, x: Array) -> None:
        self._kernels, self._kind = kernels, kind
        self._calls: list[str] = kernels.line_calls()
        self.x = x

    def __call__(
        self,
        name: str,
        *,
        bitwise: bool = False,
        repeat: int = 0,
        order: int = 0,
        scalar: float = 0.0,
        low: int = 0,
        block: int = 1,
        stride: int = 8,
        offsets: Array | None = None,
    ) -> Array:
        out = np.full(4096 // np.dtype(self._kind).itemsize, -9, self._kind)
        given = np.zeros(1024, np.uint32)
        if offsets is not None:
            given[: offsets.size] = offsets
        number = self._calls.index(name)
        bits = (LOW, HIGH) if bitwise else (low, 0)
        self._kernels.line(
            as_torch(self.x.copy()),
            torch.from_numpy(given.view(np.int32)),
            as_torch(out),
            number,
            int(self._kind is np.float32),
            bitwise,
            repeat,
            order,
            scalar,
            *bits,
            block,
            stride,
        )
        return out

    @property
    def lanes(self) -> int:
        return 256 // int(np.dtype(self._kind).itemsize)

    def rows(self, repeats: int, block: int, stride: int) -> Array:
        """The source's element of each lane of each repeat."""
        a_block = self.lanes // 8
        lane = np.arange(self.lanes)
        own = lane // a_block * block * a_block + lane % a_block
        return np.arange(repeats)[:, None] * stride * a_block + own[None, :]

    def on(self, bitwise: bool, length: int) -> Array:
        if not bitwise:
            return np.arange(self.lanes) < length
        return np.array([(LOW if i < 64 else HIGH) >> (i % 64) & 1 for i in range(self.lanes)], bool)


@pytest.fixture(params=KINDS, ids=["half", "float"])
def line(
    request: pytest.FixtureRequest, kernels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    report = tmp_path / "report.jsonl"
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(report))
    x = np.random.default_rng(3).normal(size=8192 // np.dtype(request.param).itemsize).astype(request.param)
    x[::7] = np.round(x[::7])  # ties
    yield Line(kernels, request.param, x)
    assert read_report(report) == ()


def tree(values: Array) -> Any:
    while values.size > 1:
        values = (values[0::2] + values[1::2]).astype(values.dtype)
    return values[0]


def sum_of_sums(sums: list[Any]) -> Any:
    """Pairs, level by level; one that is left over goes up as it is."""
    level = list(sums)
    while len(level) > 1:
        pairs = [type(level[0])(level[i] + level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) // 2 * 2 :]
    return level[0]


def index_as(kind: Any, index: int) -> Any:
    return np.array([index], np.uint16 if kind is np.float16 else np.uint32).view(kind)[0]


@proves("proofs/lines.cpp", "ReduceSum ReduceMax ReduceMin", forms="count mask")
@pytest.mark.parametrize("bitwise", [False, True], ids=["length", "bits"])
def test_reductions_of_all_repeats(line: Line, bitwise: bool) -> None:
    kind, length, repeats = line.x.dtype.type, line.lanes - 5, 4
    on, rows = line.on(bitwise, length), line.rows(repeats, 1, 9)
    data = line.x[rows]
    out = line("ReduceSum", bitwise=bitwise, repeat=repeats, low=length, stride=9)
    assert out[0] == sum_of_sums([tree(np.where(on, row, kind(0)).astype(kind)) for row in data])
    places = rows[:, on].ravel()
    chosen = line.x[places]
    for name, best in (("ReduceMax", int(chosen.argmax())), ("ReduceMin", int(chosen.argmin()))):
        out = line(name, bitwise=bitwise, repeat=repeats, low=length, stride=9)
        assert same(out[:2], np.array([chosen[best], index_as(kind, int(places[best]))], kind)), name


@proves("proofs/lines.cpp", "WholeReduceSum WholeReduceMax WholeReduceMin ReduceOrder", forms="mask")
@proves("proofs/lines.cpp", "RepeatReduceSum", forms="mask")
@pytest.mark.parametrize("bitwise", [False, True], ids=["length", "bits"])
@pytest.mark.parametrize(("block", "stride"), [(1, 8), (1, 11), (2, 16)])
def test_reductions_of_each_repeat(line: Line, bitwise: bool, block: int, stride: int) -> None:
    kind, length, repeats = line.x.dtype.type, line.lanes - 5, 3
    on, data = line.on(bitwise, length), line.x[line.rows(repeats, block, stride)]
    sums = np.array([tree(np.where(on, row, kind(0)).astype(kind)) for row in data])

    def run(name: str, order: int = 0) -> Array:
        return line(
            name, bitwise=bitwise, repeat=repeats, low=length, order=order, block=block, stride=stride
        )

    assert same(run("WholeReduceSum")[:3], sums)
    if not bitwise:
        assert same(run("RepeatReduceSum")[:3], sums)
    rules: list[tuple[str, Callable[[Array], Any], float]] = [
        ("WholeReduceMax", np.argmax, -np.inf),
        ("WholeReduceMin", np.argmin, np.inf),
    ]
    for name, rule, absent in rules:
        places = [int(rule(np.where(on, row, absent))) for row in data]
        values = np.array([row[place] for row, place in zip(data, places, strict=True)])
        indices = np.array([index_as(kind, place) for place in places], kind)
        expected = {
            VALUE_INDEX: np.stack([values, indices], 1).ravel(),
            INDEX_VALUE: np.stack([indices, values], 1).ravel(),
            ONLY_VALUE: values,
            ONLY_INDEX: np.array(places, np.uint32).view(kind),
        }
        for order in ORDERS:
            assert same(run(name, order)[: expected[order].size], expected[order]), (name, order)


@proves("proofs/lines.cpp", "BlockReduceSum BlockReduceMax BlockReduceMin PairReduceSum", forms="mask")
@pytest.mark.parametrize("bitwise", [False, True], ids=["length", "bits"])
def test_reductions_of_groups(line: Line, bitwise: bool) -> None:
    kind, length, repeats = line.x.dtype.type, line.lanes - line.lanes // 8 - 3, 3
    on, data = line.on(bitwise, length), line.x[line.rows(repeats, 2, 17)]
    for name, group, absent, rule in (
        ("BlockReduceSum", line.lanes // 8, 0, tree),
        ("BlockReduceMax", line.lanes // 8, -np.inf, np.max),
        ("BlockReduceMin", line.lanes // 8, np.inf, np.min),
        ("PairReduceSum", 2, 0, tree),
    ):
        expected = [
            rule(np.where(on[s : s + group], row[s : s + group], kind(absent)).astype(kind))
            if on[s : s + group].any()
            else kind(-9)
            for row in data
            for s in range(0, line.lanes, group)
        ]
        out = line(name, bitwise=bitwise, repeat=repeats, low=length, block=2, stride=17)
        assert same(out[: len(expected)], np.array(expected, kind)), name


@proves("proofs/lines.cpp", "Copy CreateVecIndex Gather Cast CopyRepeatParams", forms="count mask")
@pytest.mark.parametrize("bitwise", [False, True], ids=["length", "bits"])
def test_lanes_that_move(line: Line, bitwise: bool) -> None:
    kind, length, repeats = line.x.dtype.type, line.lanes - 5, 3
    on, old = line.on(bitwise, length), np.full(4096 // line.x.itemsize, -9, kind)
    to = line.rows(repeats, 1, 8)[:, on].ravel()

    def placed(values: Array) -> Array:
        result = old.copy()
        result[to] = values
        return result

    moved = line("Copy", bitwise=bitwise, repeat=repeats, low=length, block=2, stride=17)
    assert same(moved, placed(line.x[line.rows(repeats, 2, 17)[:, on].ravel()]))
    index = line("CreateVecIndex", bitwise=bitwise, repeat=repeats, low=length, scalar=5)
    assert same(index, placed((5 + to).astype(kind)))
    places = np.random.default_rng(4).integers(0, line.x.size, 3 * line.lanes)
    offsets = (places * line.x.itemsize).astype(np.uint32)
    gathered = line("Gather", bitwise=bitwise, repeat=repeats, low=length, offsets=offsets)
    assert same(gathered, placed(line.x[places[to]]))
    count = line("CreateVecIndex", order=1, low=100, scalar=-3)
    assert same(count[:101], np.append(np.arange(100) - 3, -9).astype(kind))


@proves("proofs/lines.cpp", "Cast RoundMode", forms="count mask")
@pytest.mark.parametrize("bitwise", [False, True], ids=["length", "bits"])
def test_a_cast_of_lanes(line: Line, bitwise: bool) -> None:
    kind: Any = line.x.dtype.type
    other: Any = np.float32 if kind is np.float16 else np.float16
    lanes, repeats = 64, 3  # by the wider type
    on = np.array([(LOW >> i & 1) if bitwise else i < 59 for i in range(lanes)], bool)
    exact = line.x.astype(np.float64)
    values = line.x.astype(other)
    if other is np.float16:
        above = values.astype(np.float64) > exact
        values[above] = np.nextafter(values[above], np.float16(-np.inf))
    out = line("Cast", bitwise=bitwise, repeat=repeats, low=59).view(other)
    at = (np.arange(repeats)[:, None] * lanes + np.flatnonzero(on)[None, :]).ravel()
    expected = np.full(4096 // line.x.itemsize, -9, kind).view(other)
    expected[at] = values[at]
    assert same(out, expected)
    n = 300
    assert same(line("Cast", order=1, low=n).view(other)[:n], values[:n])


@proves("proofs/lines.cpp", "CompareScalar Compares CMPMODE", forms="count mask")
def test_comparisons_with_a_scalar(line: Line) -> None:
    rules: list[Any] = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]
    n, held = 4 * line.lanes, line.x.dtype.type(line.x[14])
    line.x[9] = np.nan
    for name in ("CompareScalar", "Compares"):
        for mode, rule in enumerate(rules):
            bits = np.packbits(rule(line.x[:n], held), bitorder="little")
            out = line(name, order=mode, low=n, scalar=float(held)).view(np.uint8)
            assert np.array_equal(out[: bits.size], bits), (name, mode)
            data = line.x[line.rows(3, 1, 9)]
            bits = np.packbits(rule(data, held), bitorder="little")
            out = line(name, order=8 + mode, low=line.lanes, repeat=3, stride=9, scalar=float(held)).view(
                np.uint8
            )
            assert np.array_equal(out[: bits.size], bits), (name, mode, "repeats")


@proves(
    "proofs/lines.cpp",
    """Brcb BroadCast ArithProgression Arange ClampMax ClampMin BrcbRepeatParams""",
    forms="count mask",
)
def test_lanes_that_are_made(line: Line) -> None:
    kind, a_block = line.x.dtype.type, line.lanes // 8
    out = line("Brcb", repeat=2, block=2, stride=20)
    expected = np.full(4096 // line.x.itemsize, -9, kind)
    for r in range(2):
        for i in range(8):
            at = (20 * r + 2 * i) * a_block
            expected[at : at + a_block] = line.x[8 * r + i]
    assert same(out, expected)
    assert same(line("BroadCastRows")[:512], np.tile(line.x[:32], 16))
    assert same(line("BroadCastColumns")[:512], np.repeat(line.x[:16], 32))
    for name in ("ArithProgression", "Arange"):
        assert same(line(name, low=200, scalar=-7)[:200], (-7 + 2 * np.arange(200)).astype(kind)), name
    assert same(line("ClampMax", low=999, scalar=0.5)[:999], np.minimum(line.x[:999], kind(0.5)))
    assert same(line("ClampMin", low=999, scalar=0.5)[:999], np.maximum(line.x[:999], kind(0.5)))


@proves("proofs/lines.cpp", "Floor Ceil Round Trunc Frac Sign", forms="count")
def test_whole_numbers(line: Line) -> None:
    kind: Any = line.x.dtype.type
    if kind is np.float16:
        rounds = [np.arange(s, s + 2048, dtype=np.uint16).view(kind) for s in range(0, 65536, 2048)]
    else:
        rng = np.random.default_rng(5)
        rounds = [
            rng.integers(0, 2**32, 1024, dtype=np.uint32).view(kind),
            (np.arange(-512, 512) / 4).astype(kind),
        ]
    for values in rounds:
        line.x[: values.size] = values
        with np.errstate(invalid="ignore"):
            wide = values.astype(np.float64)
            for name, rule in (
                ("Floor", np.floor),
                ("Ceil", np.ceil),
                ("Round", np.rint),
                ("Trunc", np.trunc),
                ("Sign", np.sign),
                ("Frac", lambda w: np.where(np.isinf(w), np.nan, w - np.trunc(w))),
            ):
                out = line(name, low=values.size)[: values.size]
                expected = rule(wide).astype(kind)
                if name in ("Frac", "Sign"):
                    out, expected = out + kind(0), expected + kind(0)  # -0 and 0 are one
                    finite = np.isfinite(values)
                    out, expected = out[finite], expected[finite]
                assert same(out, expected), name


@proves("proofs/lines.cpp", "ReGlu Fmod", forms="count")
def test_two_sources(line: Line) -> None:
    kind, n = line.x.dtype.type, 777
    first, second = line.x[:n], line.x[1024 : 1024 + n]
    second[second == 0] = 1
    with np.errstate(all="ignore"):
        gated = (first.astype(np.float64) * np.maximum(second, kind(0)).astype(np.float64)).astype(kind)
    assert same(line("ReGlu", low=n)[:n] + kind(0), gated + kind(0))
    rest = np.fmod(first.astype(np.float64), second.astype(np.float64)).astype(kind)
    assert same(line("Fmod", low=n)[:n], rest)


def facts(kernels: ModuleType, what: int, blocks: int = 1) -> list[float]:
    out = torch.zeros(256)
    kernels.facts(out, blocks, what)
    numbers: list[float] = out.tolist()
    return numbers


@proves(
    "proofs/facts.cpp",
    """GetBufLen GetSize GetLength SetSize GetPhyAddr GetPosition ReinterpretCast SetUserTag GetUserTag
    SetAddrWithOffset GetTPipePtr GetWithOffset TPosition""",
)
def test_what_tensors_say(kernels: ModuleType) -> None:
    said = facts(kernels, 0)
    # InitBuffer rounds 1000 up to 1024 bytes; GetWithOffset counts its offset in bytes
    assert said[:8] == [1024, 256, 1024, 100, 400, 64, 128, 1]
    assert said[8:15] == [200, 7, 256, 2.5, 2.5, 3, 1]


@proves(
    "proofs/facts.cpp",
    """VacantInQue HasTensorInQue GetTensorCountInQue HasIdleBuffer QuePosition AllocTensor EnQue DeQue
    FreeTensor""",
)
def test_what_queues_say(kernels: ModuleType, report: Path) -> None:
    said = facts(kernels, 1)
    assert said[:4] == [1, 0, 0, 1]
    assert said[4:8] == [1, 1, 1, 1]
    assert said[8:12] == [0, 1, 2, 0]
    assert said[12:16] == [1, 1, 1, 1]
    assert read_report(report) == ()


@proves(
    "proofs/facts.cpp",
    """ScalarGetCountOfValue ScalarCountLeadingZero ScalarGetSFFValue CountBitsCntSameAsSignBit ScalarCast
    ToFloat ToBfloat16 GetSortLen GetSortOffset GetTaskRatio""",
)
def test_scalar_calls(kernels: ModuleType) -> None:
    said = facts(kernels, 2)
    assert said[:7] == [9, 55, 56, 4, 4, 55, 63]
    assert said[7:10] == [3, -3, -2]
    assert said[10:12] == [1.0, 1.015625]
    assert said[12:17] == [256, 256, 64, 128, 1]


@proves("proofs/facts.cpp", "SetAtomicAdd SetAtomicMax SetAtomicMin SetAtomicNone DisableDmaAtomic")
def test_atomics(kernels: ModuleType) -> None:
    blocks = 5
    for what, expected in ((3, 2 + 3 + 4 + 5 + 6), (4, 6), (5, 0), (6, 2)):
        assert facts(kernels, what, blocks)[:8] == [expected] * 8, what


@proves("proofs/facts.cpp", "InitGlobalMemory InitOutput GetReduceRepeatMaxMinSpr GetReduceRepeatSumSpr")
@proves("proofs/facts.cpp", "TBufPool InitBufPool Reset LocalMemAllocator")
def test_memory_and_registers(kernels: ModuleType, report: Path) -> None:
    for what, value in ((7, 1.5), (8, 2.5)):
        assert facts(kernels, what) == [0.0] * 64 + [value] * 40 + [0.0] * 152
    assert facts(kernels, 9)[:3] == [99, 37, sum(range(64)) - 37 + 99]
    assert facts(kernels, 10)[:3] == [1, 256, 2]
    assert facts(kernels, 11)[:3] == [16, 1, 2]
    assert not [one for one in read_report(report) if one.severity != "warning"]


@proves("proofs/facts.cpp", "AllocEventID ReleaseEventID TEventID Destroy")
def test_what_is_given_back_can_be_had_again(kernels: ModuleType, report: Path) -> None:
    said = facts(kernels, 12)
    assert said[0] == 0
    assert sorted(said[1:9]) == list(range(8))
    assert facts(kernels, 13)[0] == 190 * 256
    assert not [one for one in read_report(report) if one.severity != "warning"]


@proves(
    "proofs/facts.cpp",
    """DataCopyPad DataCopyParams DataCopyPadParams ShapeInfo SetShapeInfo GetShapeInfo AIV""",
)
def test_padded_rows_and_the_shape_of_a_tensor(kernels: ModuleType) -> None:
    said = facts(kernels, 14)
    assert said[:8] == [7, 7, 1, 2, 3, 4, 5, 7]
    assert said[8:16] == [7, 7, 6, 7, 8, 9, 10, 7]
    assert said[16:19] == [2, 8, 1]
