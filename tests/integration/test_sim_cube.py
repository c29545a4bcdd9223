"""The cube: the Matmul object, LoadData, Mmad and Fixpipe on the simulator, against NumPy and torch."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.extension import compiled, loaded, sources
from tests.support.findings import rules
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "cube"
#: The fields of TCubeTiling in their order in memory, as public kernels copy it.
TILING_FIELDS = re.findall(
    r"\w+",
    """usedCoreNum M N Ka Kb singleCoreM singleCoreN singleCoreK baseM baseN baseK depthA1 depthB1 stepM
stepN isBias transLength
iterateOrder shareMode shareL1Size shareL0CSize shareUbSize batchM batchN singleBatchM singleBatchN
stepKa stepKb depthAL1CacheUB depthBL1CacheUB dbL0A dbL0B dbL0C ALayoutInfoB ALayoutInfoS ALayoutInfoN ALayoutInfoG
ALayoutInfoD BLayoutInfoB BLayoutInfoS BLayoutInfoN BLayoutInfoG BLayoutInfoD CLayoutInfoB CLayoutInfoS1 CLayoutInfoN
CLayoutInfoG CLayoutInfoS2 BatchNum mxTypePara""",
)
HALF_FLOAT, HALF, BFLOAT, FLOAT, INT8, FRACTALS, ATTENTION, STAGED_LEFT = range(8)
TYPES = {
    HALF_FLOAT: (torch.float16, torch.float32, torch.float32),
    HALF: (torch.float16, torch.float16, torch.float16),
    BFLOAT: (torch.bfloat16, torch.bfloat16, torch.float32),
    FLOAT: (torch.float32, torch.float32, torch.float32),
    INT8: (torch.int8, torch.int32, torch.int32),
    FRACTALS: (torch.float16, torch.float16, torch.float32),
    STAGED_LEFT: (torch.float16, torch.float32, torch.float32),
}
ALL, BLOCKS, LOCAL_RESULT, ASYNCHRONOUS, BATCH, LOCAL_LEFT, PARTIAL, NO_ITERATE, STAGED = range(9)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    work = tmp_path_factory.mktemp("cube")
    return loaded(compiled(sources(KERNELS), "_cube_kernels_ext", work))


@dataclass(frozen=True, kw_only=True)
class Product:
    """One matrix product and how it is cut. cores: along M and along N."""

    types: int
    shape: tuple[int, int, int]
    base: tuple[int, int, int] = (32, 32, 32)
    cores: tuple[int, int] = (1, 1)
    transposed: tuple[bool, bool] = (False, False)
    bias: bool = False
    how: int = ALL
    order: int = 0
    batch: int = 1
    hf32: int = 0
    atomic: int = 0
    fields: dict[str, int] = field(default_factory=dict)

    @property
    def request(self) -> torch.Tensor:
        m, n, k = self.shape
        single_m, single_n = math.ceil(m / self.cores[0]), math.ceil(n / self.cores[1])
        base_m, base_n, base_k = self.base
        given = {
            "usedCoreNum": self.cores[0] * self.cores[1],
            "M": m, "N": n, "Ka": k, "Kb": k, "singleCoreM": single_m, "singleCoreN": single_n, "singleCoreK": k,
            "baseM": base_m, "baseN": base_n, "baseK": base_k, "depthA1": 1, "depthB1": 1, "stepM": 1, "stepN": 1,
            "stepKa": 1, "stepKb": 1, "dbL0A": 1, "dbL0B": 1, "dbL0C": 1, "isBias": self.bias,
            "iterateOrder": self.order,
        }  # fmt: skip
        given |= self.fields
        values = [int(given.get(name, 0)) for name in TILING_FIELDS]
        assert len(values) == 50
        rest = [
            self.how,
            *map(int, self.transposed),
            self.batch,
            self.cores[0],
            self.hf32,
            self.atomic,
            0,
        ]
        return torch.tensor(values + rest, dtype=torch.int32)


def operands(product: Product, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    m, n, k = product.shape
    kind, _, bias_kind = TYPES[product.types]
    random = torch.Generator().manual_seed(seed)
    batch = (product.batch,) if product.batch > 1 else ()

    def matrix(*sizes: int) -> torch.Tensor:
        if kind is torch.int8:
            return torch.randint(-128, 128, sizes, dtype=kind, generator=random)
        return torch.randn(sizes, generator=random).to(kind)

    bias = (torch.randn(n, generator=random) * 4).to(bias_kind)
    return matrix(*batch, m, k), matrix(*batch, k, n), bias


def in_order(a: torch.Tensor, b: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """The documented order: products added one by one, k ascending, each sum rounded to float."""
    left, right = a.to(torch.float32).numpy(), b.to(torch.float32).numpy()
    result = np.broadcast_to(start.to(torch.float32).numpy(), (left.shape[0], right.shape[1])).copy()
    for k in range(left.shape[1]):
        result += left[:, k : k + 1] * right[k : k + 1]
    return torch.from_numpy(result)


def expected(product: Product, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    result = TYPES[product.types][1]
    if product.types == INT8:
        exact = a.to(torch.int64) @ b.to(torch.int64) + (bias.to(torch.int64) if product.bias else 0)
        return exact.to(torch.int32)
    start = bias if product.bias else torch.zeros(1)
    if a.ndim == 3:
        return torch.stack([in_order(x, y, start) for x, y in zip(a, b, strict=True)]).to(result)
    return in_order(a, b, start).to(result)


def fractals(matrix: torch.Tensor) -> torch.Tensor:
    """NZ: columns of 16 side by side, each of them ceil(rows / 16) * 16 rows of 16 elements."""
    rows, columns = matrix.shape
    padded = torch.zeros(math.ceil(rows / 16) * 16, math.ceil(columns / 16) * 16, dtype=matrix.dtype)
    padded[:rows, :columns] = matrix
    return padded.reshape(padded.shape[0], -1, 16).permute(1, 0, 2).contiguous()


def run(
    kernels: ModuleType,
    product: Product,
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor,
) -> torch.Tensor:
    stored_a, stored_b = (
        x.mT.contiguous() if flip else x for x, flip in zip((a, b), product.transposed, strict=True)
    )
    m, n, _ = product.shape
    shape: Sequence[int] = (product.batch, m, n) if product.batch > 1 else (m, n)
    c = torch.zeros(shape, dtype=TYPES[product.types][1])
    if product.types == FRACTALS:
        stored_a, stored_b, c = fractals(stored_a), fractals(stored_b), fractals(c)
    blocks = math.ceil(product.cores[0] * product.cores[1] / 2)  # two vector cores a block
    kernels.matmul(blocks, stored_a, stored_b, bias, c, product.request, product.types)
    if product.types == FRACTALS:
        c = c.permute(1, 0, 2).reshape(c.shape[1], -1)[:m, :n]
    return c


PRODUCTS = {
    "square": Product(types=HALF_FLOAT, shape=(64, 64, 64)),
    "tails": Product(types=HALF_FLOAT, shape=(70, 45, 39)),
    "public-sample": Product(
        types=HALF_FLOAT,
        shape=(256, 512, 128),
        base=(128, 256, 64),
        cores=(2, 1),
        bias=True,
    ),
    "cores": Product(types=HALF_FLOAT, shape=(100, 90, 50), cores=(2, 2), bias=True),
    "left-transposed": Product(types=HALF, shape=(48, 33, 70), transposed=(True, False)),
    "right-transposed": Product(types=BFLOAT, shape=(48, 33, 70), transposed=(False, True), bias=True),
    "both-transposed": Product(types=FLOAT, shape=(48, 33, 70), transposed=(True, True), cores=(2, 1)),
    "integers": Product(types=INT8, shape=(40, 50, 70), bias=True),
    "integers-transposed": Product(types=INT8, shape=(40, 50, 70), transposed=(True, True)),
    "float": Product(types=FLOAT, shape=(33, 65, 129), bias=True),
    "one-row": Product(types=HALF_FLOAT, shape=(1, 33, 300)),
    "one-column": Product(types=HALF_FLOAT, shape=(33, 1, 17)),
    "fractals": Product(types=FRACTALS, shape=(48, 64, 80)),
    "fractals-tails": Product(types=FRACTALS, shape=(40, 50, 70), bias=True),
    "fractals-transposed": Product(types=FRACTALS, shape=(40, 50, 70), transposed=(True, True)),
    "block-by-block": Product(types=HALF_FLOAT, shape=(70, 100, 64), how=BLOCKS),
    "columns-first": Product(types=HALF_FLOAT, shape=(70, 100, 64), how=BLOCKS, order=1),
    "asynchronous": Product(types=HALF, shape=(70, 100, 64), how=ASYNCHRONOUS),
    "local-left": Product(types=HALF_FLOAT, shape=(64, 96, 48), how=LOCAL_LEFT, transposed=(False, True)),
    "left-in-l1": Product(types=STAGED_LEFT, shape=(64, 40, 48), how=STAGED),
    "batch": Product(types=HALF, shape=(24, 40, 56), how=BATCH, batch=3),
    "batch-bias": Product(
        types=FLOAT,
        shape=(24, 40, 56),
        how=BATCH,
        batch=2,
        bias=True,
        transposed=(True, True),
    ),
}


@proves(
    "cube/matmul.cpp",
    """GetSysWorkSpacePtr SetTensorA SetTensorB TSCM TCubeTiling MatmulType CubeFormat SetBias SetTail
    GetTensorC GetOffsetC End REGIST_MATMUL_OBJ lib/matmul_intf.h""",
)
@pytest.mark.parametrize("name", PRODUCTS)
def test_product_bit_for_bit(kernels: ModuleType, report: Path, name: str) -> None:
    product = PRODUCTS[name]
    a, b, bias = operands(product)
    actual, wanted = run(kernels, product, a, b, bias), expected(product, a, b, bias)
    assert torch.equal(actual, wanted), (actual.double() - wanted.double()).abs().max()
    assert rules(report) == set()


@pytest.mark.parametrize("types", [HALF_FLOAT, BFLOAT, FLOAT])
def test_product_agrees_with_torch(kernels: ModuleType, types: int) -> None:
    product = Product(types=types, shape=(128, 96, 512), base=(64, 96, 64))
    a, b, bias = operands(product, seed=7)
    torch.testing.assert_close(
        run(kernels, product, a, b, bias).double(),
        a.double() @ b.double(),
        rtol=1e-2 if types == BFLOAT else 1e-5,
        atol=2e-4,
    )


def test_base_sizes_change_no_bit(kernels: ModuleType) -> None:
    shape = (77, 83, 91)
    a, b, bias = operands(Product(types=FLOAT, shape=shape))
    results = [
        run(
            kernels,
            Product(types=FLOAT, shape=shape, base=base, cores=cores, how=how, order=order),
            a,
            b,
            bias,
        )
        for base, cores, how, order in (
            ((16, 16, 8), (1, 1), ALL, 0),
            ((80, 96, 96), (1, 1), ALL, 1),
            ((32, 48, 16), (2, 2), BLOCKS, 1),
        )
    ]
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_blocks_in_the_unified_buffer(kernels: ModuleType, report: Path) -> None:
    product = Product(types=HALF_FLOAT, shape=(96, 64, 48), how=LOCAL_RESULT)
    a, b, bias = operands(product)
    assert torch.equal(run(kernels, product, a, b, bias), 2 * expected(product, a, b, bias))
    assert rules(report) == set()


def test_partial_sums_add_to_the_block_before(kernels: ModuleType) -> None:
    product = Product(types=HALF_FLOAT, shape=(32, 32, 16), how=PARTIAL)
    a, b, bias = operands(product)
    once = in_order(a, b, torch.zeros(1))
    twice = once.numpy().copy()
    for k in range(16):
        twice += a.float().numpy()[:, k : k + 1] * b.float().numpy()[k : k + 1]
    assert torch.equal(run(kernels, product, a, b, bias), torch.from_numpy(twice))


@proves("cube/matmul.cpp", "SetHF32")
def test_hf32_rounds_the_operands(kernels: ModuleType) -> None:
    a, b, bias = operands(Product(types=FLOAT, shape=(16, 16, 32)))

    def rounded(x: torch.Tensor, up: int) -> torch.Tensor:
        bits = x.numpy().view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7FF + (up * ((bits >> 12) & 1))) & ~np.uint64(0xFFF)
        return torch.from_numpy(bits.astype(np.uint32).view(np.float32).copy())

    for mode, up in ((1, 1), (2, 0)):
        actual = run(kernels, Product(types=FLOAT, shape=(16, 16, 32), hf32=mode), a, b, bias)
        assert torch.equal(actual, in_order(rounded(a, up), rounded(b, up), torch.zeros(1)))


WRONG = {
    "l0a": ({"baseM": 256, "baseK": 256}, "matmul-tiling"),
    "l0c": ({"baseM": 256, "baseN": 256, "baseK": 16}, "matmul-tiling"),
    "base-n": ({"baseN": 24}, "matmul-tiling"),
    "depth": ({"depthA1": 0}, "matmul-tiling"),
    "l1": ({"depthA1": 400}, "matmul-tiling"),
    "whole-matrix": ({"Ka": 66}, "gm-read-out-of-range"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tilings_are_found(kernels: ModuleType, report: Path, name: str) -> None:
    fields, rule = WRONG[name]
    product = Product(types=HALF_FLOAT, shape=(64, 64, 64), fields=fields)
    run(kernels, product, *operands(product))
    assert rule in rules(report)


@pytest.mark.parametrize(
    ("product", "rule"),
    [
        (Product(types=HALF, shape=(16, 16, 16), base=(0, 16, 16)), "matmul-tiling"),
        (Product(types=HALF, shape=(16, 16, 16), how=NO_ITERATE), "matmul-no-block"),
    ],
    ids=["no-base", "no-iterate"],
)
def test_what_can_not_go_on_stops(kernels: ModuleType, product: Product, rule: str) -> None:
    with pytest.raises(RuntimeError, match=rule):
        run(kernels, product, *operands(product))


def planned(kernels: ModuleType, *asked: int | bool) -> dict[str, int] | None:
    """What the host's GetTiling gives for m, n, k, kind, cores, bias, base m, n, k; None if it says -1."""
    fields = torch.zeros(50, dtype=torch.int32)
    done = kernels.plan(fields, *asked)
    return dict(zip(TILING_FIELDS, fields.tolist(), strict=True)) if done == 0 else None


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    shape=st.tuples(*[st.integers(1, 5000)] * 3),
    kind=st.sampled_from([0, 1, 2]),
    cores=st.integers(0, 48),
    bias=st.booleans(),
)
def test_plans_cover_and_fit(
    kernels: ModuleType, shape: tuple[int, int, int], kind: int, cores: int, bias: bool
) -> None:
    plan = planned(kernels, *shape, kind, cores, bias, -1, -1, -1)
    assert plan is not None
    m, n, k = shape
    size, c0 = ((2, 16), (4, 8), (1, 32))[kind]
    rows, columns = (
        math.ceil(m / plan["singleCoreM"]),
        math.ceil(n / plan["singleCoreN"]),
    )
    assert rows * columns == plan["usedCoreNum"] <= max(cores, 1)
    assert (plan["M"], plan["N"], plan["Ka"], plan["Kb"], plan["singleCoreK"]) == (
        m,
        n,
        k,
        k,
        k,
    )
    assert plan["baseM"] % 16 == plan["baseN"] % 16 == plan["baseK"] % c0 == 0
    left, right = (
        plan["baseM"] * plan["baseK"] * size,
        plan["baseN"] * plan["baseK"] * size,
    )
    assert left * plan["dbL0A"] <= 65536
    assert right * plan["dbL0B"] <= 65536
    assert plan["baseM"] * plan["baseN"] * 4 * plan["dbL0C"] <= 131072
    assert plan["depthA1"] * left + plan["depthB1"] * right + (plan["baseN"] * 4 if bias else 0) <= 524288
    assert min(plan[name] for name in ("depthA1", "depthB1", "stepM", "stepN", "stepKa", "stepKb")) >= 1


def test_plans_obey_a_fixed_split_or_refuse(kernels: ModuleType) -> None:
    plan = planned(kernels, 1024, 1024, 1024, 0, 1, False, 128, 256, 64)
    assert plan is not None
    assert (plan["baseM"], plan["baseN"], plan["baseK"]) == (128, 256, 64)
    assert planned(kernels, 1024, 1024, 1024, 0, 1, False, 512, 512, 64) is None


@proves("cube/pybind11.cpp", "SetOrgShape tiling/tiling_api.h tiling/platform/platform_ascendc.h")
def test_a_planned_product_runs_without_a_finding(kernels: ModuleType, report: Path) -> None:
    shape = (150, 200, 90)
    plan = planned(kernels, *shape, 0, 8, True, -1, -1, -1)
    assert plan is not None
    parts = (math.ceil(150 / plan["singleCoreM"]), math.ceil(200 / plan["singleCoreN"]))
    product = Product(types=HALF_FLOAT, shape=shape, cores=parts, bias=True, fields=plan)
    a, b, bias = operands(product)
    assert torch.equal(run(kernels, product, a, b, bias), expected(product, a, b, bias))
    assert rules(report) == set()


@proves("cube/cube_only.cpp", "SetBatchNum")
def test_batches_in_the_layouts_of_attention(kernels: ModuleType, report: Path) -> None:
    batch, query, key, heads, groups, depth = 2, 24, 40, 3, 2, 32
    random = torch.Generator().manual_seed(11)
    a = torch.randn(batch, query, heads, groups, depth, generator=random).half()
    b = torch.randn(batch, key, heads, groups, depth, generator=random).half()
    layouts = {
        "ALayoutInfo": (
            ("B", "S", "N", "G", "D"),
            (batch, query, heads, groups, depth),
        ),
        "BLayoutInfo": (("B", "S", "N", "G", "D"), (batch, key, heads, groups, depth)),
        "CLayoutInfo": (
            ("B", "S1", "N", "G", "S2"),
            (batch, query, heads, groups, key),
        ),
    }
    fields = {
        name + axis: size
        for name, (axes, sizes) in layouts.items()
        for axis, size in zip(axes, sizes, strict=True)
    }
    matrices = batch * heads * groups
    product = Product(
        types=ATTENTION,
        shape=(query, key, depth),
        how=BATCH,
        batch=matrices,
        transposed=(False, True),
        fields=fields,
    )
    c = torch.zeros(batch, heads, groups, query, key)
    kernels.matmul(1, a, b, torch.zeros(key), c, product.request, ATTENTION)
    wanted = torch.stack(
        [
            in_order(a[i, :, n, g], b[i, :, n, g].T, torch.zeros(1))
            for i in range(batch)
            for n in range(heads)
            for g in range(groups)
        ]
    )
    assert torch.equal(c.reshape(matrices, query, key), wanted)
    assert rules(report) == set()
