"""Correct kernels as people write them (tests/kernels/idioms): right numbers, and no finding of any severity.

A simulator that cries wolf is turned off. Each kernel runs in block order and in reverse, with one core and with
several, on sizes that have tails.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import torch

from npu_worker.sim.report import read_report
from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "idioms"
EMPTY = torch.zeros(1)


@dataclass(frozen=True, kw_only=True)
class Idiom:
    """One kernel with its inputs and what must come out.

    Attributes:
        blocks: the launches' core counts.
        z: what the output holds before (poison if it is all written).
        shape: rows, columns, extra, scalar.
    """

    name: str
    group: str
    which: int
    x: torch.Tensor
    z: torch.Tensor
    expected: torch.Tensor
    shape: tuple[int, int, int, float]
    y: torch.Tensor = EMPTY
    blocks: tuple[int, ...] = (1, 3)
    exact: bool = False
    relative: float = 1e-5


def canary(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.full(sizes, math.nan, dtype=dtype)
    return torch.full(sizes, 77, dtype=dtype)


def elementwise() -> Iterator[Idiom]:
    torch.manual_seed(1)
    for which, dtype, sizes in (
        (0, torch.float32, (5, 411)),
        (1, torch.float16, (7, 333)),
        (2, torch.int32, (3, 1000)),
        (3, torch.int16, (2, 777)),
    ):
        if dtype.is_floating_point:
            x, y = torch.randn(sizes).to(dtype), torch.randn(sizes).to(dtype)
        else:
            x, y = (torch.randint(-(2**15), 2**15, sizes, dtype=torch.int64).to(dtype) for _ in range(2))
        yield Idiom(
            name=f"add-{str(dtype)[6:]}", group="elementwise", which=which, x=x, y=y, z=canary(*sizes, dtype=dtype),
            expected=x + y, shape=(*sizes, 0, 0.0), blocks=(1, 2, 8), exact=True,
        )  # fmt: skip
    x = torch.randn(3, 1111)
    shape = (3, 1111, 0, 0.75)
    b = x.bfloat16()

    def one(name: str, which: int, given: torch.Tensor, expected: torch.Tensor, **more: object) -> Idiom:
        facts: dict[str, object] = {"shape": shape, "exact": False} | more
        return Idiom(name=name, group="elementwise", which=which, x=given,
                     z=canary(*expected.shape, dtype=expected.dtype), expected=expected, **facts)  # type: ignore[arg-type]  # fmt: skip

    yield one("scale-bfloat16", 4, b, (b.float() * 0.75).bfloat16(), exact=True)
    yield one("silu", 5, x, torch.nn.functional.silu(x))
    yield one("gelu-by-hand", 6, x, torch.nn.functional.gelu(x, approximate="tanh"), relative=1e-4)
    scaled = (x * 50).clamp(-128, 127).half().round().to(torch.int8)
    yield one("quantize", 7, x, scaled, shape=(3, 1111, 0, 50.0), exact=True)
    words = torch.randint(-(2**15), 2**15, (2000,), dtype=torch.int64).to(torch.int16)
    yield one("bits", 8, words, words.clone(), shape=(1, 2000, 0, 0.0), exact=True)
    yield one("flip-below", 9, x, torch.where(x > 0.75, x, -x), exact=True)
    blocks = torch.randn(2, 1408)
    doubled = torch.where(torch.arange(1408) // 8 % 2 == 0, blocks * 2, blocks)
    yield one("double-even-blocks", 10, blocks, doubled, shape=(1, 2816, 0, 0.0), exact=True)
    y = torch.randn(3, 1111)
    yield one("axpy", 11, x, (x.double() * 0.75 + y.double()).float(), y=y, exact=True)
    bytes_ = torch.randint(-128, 128, (3, 1111), dtype=torch.int64).to(torch.int8)
    yield one("pass-through", 12, bytes_, bytes_.clone(), exact=True)


def rows() -> Iterator[Idiom]:
    torch.manual_seed(2)
    x = torch.randn(11, 301)
    shape = (11, 301, 0, 1e-5)

    def one(name: str, which: int, given: torch.Tensor, expected: torch.Tensor, **more: object) -> Idiom:
        facts: dict[str, object] = {"shape": shape} | more
        return Idiom(name=name, group="rows", which=which, x=given,
                     z=canary(*expected.shape, dtype=expected.dtype), expected=expected, **facts)  # type: ignore[arg-type]  # fmt: skip

    yield one("row-sum", 0, x, x.double().sum(1).float(), relative=1e-4)
    best = x.max(1)
    yield one("row-argmax", 1, x, torch.stack([best.values, best.indices.float()], 1), exact=True)
    square = torch.randn(9, 64)
    whole = torch.cat([square.double().sum(1).float(), square.amax(1), square.amin(1)])
    yield one("whole-reduce", 2, square, whole, shape=(9, 64, 0, 0.0), blocks=(1,), relative=1e-4)
    wide = torch.randn(4, 512)
    yield one("block-tree", 3, wide, wide.double().sum(1).float(), shape=(4, 512, 0, 0.0), relative=1e-4)
    yield one("softmax", 4, x, x.softmax(1))
    h = x.half()
    yield one("log-softmax-half", 5, h, h.float().log_softmax(1).half(), relative=2e-3)
    weights = torch.randn(2, 301)
    normed = torch.nn.functional.layer_norm(x, (301,), weights[0], weights[1], 1e-5)
    yield one("layer-norm", 6, x, normed, y=weights, relative=1e-4)
    rms = (h.float() * (h.float().pow(2).mean(1, keepdim=True) + 1e-5).rsqrt()).half()
    yield one("rms-norm-half", 7, h, rms, relative=2e-3)
    yield one("row-sums-collected", 8, x, x.double().sum(1).float(), blocks=(1, 2), relative=1e-4)
    tall, factors = torch.randn(24, 64), torch.randn(24)
    yield one(
        "scale-rows",
        9,
        tall,
        tall * factors[:, None],
        y=factors,
        shape=(24, 64, 0, 0.0),
        blocks=(1,),
        exact=True,
    )
    yield one("cumsum-scalar", 10, x, x.double().cumsum(1).float(), relative=1e-4)


def movement() -> Iterator[Idiom]:
    torch.manual_seed(3)
    x = torch.randn(13, 37)

    def one(name: str, which: int, given: torch.Tensor, expected: torch.Tensor, shape: tuple[int, int, int, float],
            **more: object) -> Idiom:  # fmt: skip
        facts: dict[str, object] = {"z": canary(*expected.shape, dtype=expected.dtype), "exact": True} | more
        return Idiom(name=name, group="movement", which=which, x=given, expected=expected, shape=shape, **facts)  # type: ignore[arg-type]  # fmt: skip

    index = torch.randint(0, 13, (29,), dtype=torch.int32)
    yield one("gather-rows", 0, x, x[index.long()], (13, 37, 29, 0.0), y=index)
    target = torch.randint(0, 5, (13,), dtype=torch.int32)
    added = torch.zeros(5, 37).index_add(0, target.long(), x)
    yield one("scatter-add-rows", 1, x, added, (13, 37, 5, 0.0), y=target, z=torch.zeros(5, 37), exact=False,
              relative=1e-4)  # fmt: skip
    line, places = torch.randn(500), torch.randint(0, 500, (500,), dtype=torch.int32)
    yield one("gather-elements", 2, line, line[places.long()], (1, 500, 0, 0.0), y=places, blocks=(1,))
    square = torch.randn(48, 80).half()
    yield one("transpose-half", 3, square, square.T.contiguous(), (48, 80, 0, 0.0))
    left, right = torch.randn(10, 37).half(), torch.randn(10, 5).half()
    yield one("concat-columns", 4, left, torch.cat([left, right], 1), (10, 37, 5, 0.0), y=right, blocks=(1,))
    long = torch.randn(320)
    yield one("slice-blocks", 5, long, long.view(-1, 2, 8)[:, 0].reshape(-1), (1, 320, 0, 0.0), blocks=(1,))
    yield one("deinterleave", 6, long, torch.cat([long[::2], long[1::2]]), (1, 320, 0, 0.0), blocks=(1,))
    numbers = torch.arange(7 * 301, dtype=torch.int32).view(7, 301)
    yield one("reverse-row", 7, numbers, numbers.flip(1), (7, 301, 0, 0.0))
    labels = torch.randint(0, 70, (9,), dtype=torch.int32)
    yield one("one-hot", 8, labels, torch.nn.functional.one_hot(labels.long(), 70).float(), (9, 70, 0, 0.0))
    yield one("arange", 9, EMPTY, torch.arange(2500, dtype=torch.int32) * 3, (1, 2500, 3, 0.0))
    small = torch.randn(6, 5)
    yield one(
        "pad-rows", 10, small, torch.nn.functional.pad(small, (1, 1), value=2.5), (6, 5, 0, 2.5), blocks=(1,)
    )
    yield one("cumsum-columns", 11, x, x.double().cumsum(0).float(), (13, 37, 0, 0.0), blocks=(1,), exact=False,
              relative=1e-4)  # fmt: skip


def cores() -> Iterator[Idiom]:
    torch.manual_seed(4)
    x = torch.randn(7, 511)

    def one(name: str, which: int, given: torch.Tensor, expected: torch.Tensor, shape: tuple[int, int, int, float],
            **more: object) -> Idiom:  # fmt: skip
        facts: dict[str, object] = {"z": canary(*expected.shape, dtype=expected.dtype), "exact": True} | more
        return Idiom(name=name, group="cores", which=which, x=given, expected=expected, shape=shape, **facts)  # type: ignore[arg-type]  # fmt: skip

    total = x.double().sum().float().view(1)
    yield one("sum-two-phases", 0, x, total, (7, 511, 0, 0.0), blocks=(1, 5, 8), exact=False, relative=1e-3)
    yield one(
        "sum-atomic",
        1,
        x,
        total,
        (7, 511, 0, 0.0),
        z=torch.zeros(1),
        blocks=(1, 5),
        exact=False,
        relative=1e-3,
    )
    numbers = torch.randint(-1000, 1000, (20, 8), dtype=torch.int32)
    least = torch.full((8,), -(2**31), dtype=torch.int32)
    yield one("max-atomic", 2, numbers, numbers.amax(0), (20, 8, 0, 0.0), z=least)
    tiles = torch.randn(6, 256)
    yield one("ring", 3, tiles, tiles.roll(-1, 0), (6, 256, 0, 0.0), blocks=(6,))
    yield one("ping-pong", 4, x, x * 1.5, (7, 511, 0, 1.5), blocks=(1,))
    line = torch.randn(1001)
    yield one("counter-mode", 5, line, line * 0.5 + line, (1, 1001, 0, 0.5), blocks=(1,))
    yield one("shared-pool", 6, line, line + 1.0 + 1.0, (1, 1001, 0, 0.0), blocks=(1,))
    values = torch.randint(0, 32, (3000,), dtype=torch.int32)
    counts = torch.bincount(values.long(), minlength=32).int()
    yield one("histogram", 7, values, counts, (1, 3000, 0, 0.0), z=torch.zeros(32, dtype=torch.int32))
    squares = torch.zeros(6, 16, dtype=torch.int32)
    squares[:, 0] = torch.arange(6, dtype=torch.int32) ** 2
    yield one(
        "scalar-lines",
        8,
        EMPTY,
        squares,
        (0, 0, 0, 0.0),
        z=torch.zeros(6, 16, dtype=torch.int32),
        blocks=(6,),
    )
    a, b = torch.randn(9, 21), torch.randn(21, 45)
    yield one("matmul-by-rows", 9, a, a @ b, (9, 45, 21, 0.0), y=b, exact=False, relative=1e-4)


def matmul() -> Iterator[Idiom]:
    torch.manual_seed(5)
    a, b = torch.randn(100, 48).half(), torch.randn(48, 64).half()
    product = torch.nn.functional.leaky_relu(a.float() @ b.float(), 0.25)
    yield Idiom(
        name="matmul-leaky-relu", group="matmul", which=0, x=a, y=b, z=canary(100, 64), expected=product,
        shape=(100, 64, 48, 0.25), blocks=(2, 3), relative=1e-4,
    )  # fmt: skip


FAMILIES: tuple[Callable[[], Iterator[Idiom]], ...] = (elementwise, rows, movement, cores, matmul)
IDIOMS = [idiom for family in FAMILIES for idiom in family()]


@pytest.fixture(scope="module")
def idioms(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    work = tmp_path_factory.mktemp("idioms")
    return loaded(compiled(sources(KERNELS), "_sim_idioms_ext", work))


def test_there_are_forty_kernels() -> None:
    assert len(IDIOMS) >= 40
    assert len({idiom.name for idiom in IDIOMS}) == len(IDIOMS)


@proves("idioms/cores.cpp", "GetUserWorkspace")
@pytest.mark.parametrize("idiom", IDIOMS, ids=[idiom.name for idiom in IDIOMS])
def test_a_correct_kernel_is_right_and_nothing_is_found(
    idioms: ModuleType, idiom: Idiom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPMEND_SIM_SCALAR_SYNC", "0")
    for blocks in idiom.blocks:
        for order in ("", "reverse"):
            report = tmp_path / f"{blocks}{order}.jsonl"
            monkeypatch.setenv("OPMEND_SIM_REPORT", str(report))
            monkeypatch.setenv("OPMEND_SIM_ORDER", order)
            z, workspace = idiom.z.clone(), canary(64 * 1024)
            idioms.run(idiom.group, idiom.which, blocks, idiom.x, idiom.y, z, workspace, *idiom.shape)
            tolerance = 0.0 if idiom.exact else idiom.relative
            torch.testing.assert_close(z, idiom.expected, rtol=tolerance, atol=tolerance)
            assert read_report(report) == ()
