"""The cube unit's own calls on the simulator: ND to NZ copies, LoadData in its forms, Mmad, Fixpipe, against torch."""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.support.extension import compiled, loaded, sources
from tests.support.findings import rules
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "cube"
HALF_FLOAT, HALF, BFLOAT, FLOAT, INT8, INT8_HALF, HALF_INT8 = range(7)
TYPES = {
    HALF_FLOAT: (torch.float16, torch.float32, torch.float32),
    HALF: (torch.float16, torch.float32, torch.float16),
    BFLOAT: (torch.bfloat16, torch.float32, torch.bfloat16),
    FLOAT: (torch.float32, torch.float32, torch.float32),
    INT8: (torch.int8, torch.int32, torch.int32),
    INT8_HALF: (torch.int8, torch.int32, torch.float16),
    HALF_INT8: (torch.float16, torch.float32, torch.int8),
}
NO_QUANT, F322F16, F322BF16, DEQF16, VDEQF16, QF322B8, VQF322B8, REQ8, VREQ8 = range(9)
QUANT = {HALF: F322F16, BFLOAT: F322BF16, INT8_HALF: DEQF16, HALF_INT8: QF322B8}
PLAIN, TRANSPOSING, IMAGE = range(3)
ROWS, FRACTALS, IN_STEPS, CHAIN = range(4)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    work = tmp_path_factory.mktemp("cube_units")
    return loaded(compiled(sources(KERNELS), "_cube_kernels_ext", work))


@dataclass(frozen=True, kw_only=True)
class Units:
    """One product by single calls. load: which call brings A into L0A, and B into L0B."""

    types: int = HALF_FLOAT
    shape: tuple[int, int, int] = (40, 50, 70)
    transposed: tuple[bool, bool] = (False, True)
    load: tuple[int, int] = (PLAIN, PLAIN)
    bias: bool = False
    out: int = ROWS
    relu: bool = False
    again: int = 0
    quant: int | None = None
    scale: float = 1.0
    offset: int = 0
    fault: int = 0


def scale_bits(scale: float, offset: int) -> int:
    """The fixpipe's word: the scale's float bits, the offset's 9 bits from bit 37 on, bit 46 for signed bytes."""
    (bits,) = struct.unpack("<I", struct.pack("<f", scale))
    return int(bits) | (offset & 0x1FF) << 37 | 1 << 46


def request(units: Units, image: Mapping[str, int] | None = None) -> torch.Tensor:
    quant = QUANT.get(units.types, NO_QUANT) if units.quant is None else units.quant
    word = scale_bits(units.scale, units.offset)
    values = [
        *units.shape,
        *units.transposed,
        *units.load,
        units.bias,
        units.out,
        units.relu,
        quant,
        units.again,
    ]
    values += [
        (image or {}).get(name, 0) for name in ("height", "width", "channels", "filter", "pad", "stride")
    ]
    values += [*struct.unpack("<2i", struct.pack("<Q", word)), units.fault]
    return torch.tensor([int(value) for value in values], dtype=torch.int32)


def in_order(a: torch.Tensor, b: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    left, right = a.to(torch.float32).numpy(), b.to(torch.float32).numpy()
    result = np.broadcast_to(start.to(torch.float32).numpy(), (left.shape[0], right.shape[1])).copy()
    for k in range(left.shape[1]):
        result += left[:, k : k + 1] * right[k : k + 1]
    return torch.from_numpy(result)


def operands(units: Units) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    m, n, k = units.shape
    kind, accumulator, _ = TYPES[units.types]
    random = torch.Generator().manual_seed(m * n * k)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        if kind is torch.int8:
            return torch.randint(-128, 128, (rows, columns), dtype=kind, generator=random)
        return torch.randn(rows, columns, generator=random).to(kind)

    return (
        matrix(m, k),
        matrix(k, n),
        (torch.randn(math.ceil(n / 16) * 16, generator=random) * 8).to(accumulator),
    )


def accumulated(units: Units, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    n = units.shape[1]
    if a.dtype is torch.int8:
        once = a.to(torch.int64) @ b.to(torch.int64)
        return (once * (1 + units.again) + (bias[:n].to(torch.int64) if units.bias else 0)).to(torch.int32)
    result = bias[:n] if units.bias else torch.zeros(1)
    for _ in range(1 + units.again):
        result = in_order(a, b, result)
    return result


def run(
    kernels: ModuleType,
    units: Units,
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor,
    scales: torch.Tensor | None = None,
) -> torch.Tensor:
    m, n, _ = units.shape
    stored = [x.mT.contiguous() if flip else x for x, flip in zip((a, b), units.transposed, strict=True)]
    c = torch.zeros(math.ceil(m / 16) * 16 * math.ceil(n / 32) * 32, dtype=TYPES[units.types][2])
    if scales is None:
        scales = torch.zeros(math.ceil(n / 4) * 4, dtype=torch.int64)
    kernels.units(*stored, bias, c, scales, request(units), units.types)
    if units.out != FRACTALS:
        return c[: m * n].reshape(m, n)
    wide, high = math.ceil(n / 16), math.ceil(m / 16) * 16
    return c[: wide * high * 16].reshape(wide, high, 16).permute(1, 0, 2).reshape(high, wide * 16)[:m, :n]


#: The scenarios that the public sample "load_data_l12l0" lists, 4-bit types aside, and more.
PRODUCTS = {
    "bytes-2d": Units(types=INT8),
    "bytes-3d": Units(types=INT8, load=(IMAGE, PLAIN)),
    "bytes-transposing": Units(types=INT8, transposed=(True, False), load=(TRANSPOSING, TRANSPOSING)),
    "half-2d": Units(),
    "half-3d": Units(load=(IMAGE, PLAIN)),
    "half-2d-transposed": Units(transposed=(True, False)),
    "half-transposing": Units(transposed=(True, False), load=(TRANSPOSING, TRANSPOSING)),
    "half-3d-transposed": Units(transposed=(True, False), load=(IMAGE, IMAGE)),
    "float-2d": Units(types=FLOAT),
    "float-3d": Units(types=FLOAT, load=(IMAGE, PLAIN)),
    "float-3d-transposed": Units(types=FLOAT, transposed=(True, False), load=(IMAGE, IMAGE)),
    "bias": Units(bias=True),
    "bias-integers": Units(types=INT8, bias=True),
    "accumulate": Units(again=2),
    "half-result": Units(types=HALF, relu=True),
    "bfloat-result": Units(types=BFLOAT, out=IN_STEPS),
    "fractals": Units(types=HALF, shape=(48, 64, 32), out=FRACTALS),
    "fractals-float": Units(shape=(33, 48, 17), out=FRACTALS),
    "whole-fractals": Units(shape=(64, 64, 64)),
}  # fmt: skip


@proves(
    "cube/units.cpp",
    """Fixpipe LoadData LoadDataWithTranspose SetFixpipeNz2ndFlag SetFixpipePreQuantFlag
    DataCopyCO12DstParams Nd2NzParams LoadData2DParams LoadData3DParamsV2 LoadData2dTransposeParams
    MmadParams FixpipeParamsV220 QuantMode_t""",
)
@pytest.mark.parametrize("name", PRODUCTS)
def test_product_bit_for_bit(kernels: ModuleType, report: Path, name: str) -> None:
    units = PRODUCTS[name]
    a, b, bias = operands(units)
    wanted = accumulated(units, a, b, bias)
    if units.relu:
        wanted = wanted.clamp(min=0)
    actual = run(kernels, units, a, b, bias)
    assert torch.equal(actual, wanted.to(actual.dtype)), (actual.double() - wanted.double()).abs().max()
    assert rules(report) == set()


@pytest.mark.parametrize("types", [HALF, BFLOAT], ids=["half", "bfloat16"])
def test_a_product_that_goes_back_to_l1_is_multiplied_again(
    kernels: ModuleType, report: Path, types: int
) -> None:
    units = Units(types=types, shape=(40, 48, 48), out=CHAIN, relu=True)
    a, b, bias = operands(units)
    kind = TYPES[types][2]
    first = in_order(a, b, torch.zeros(1)).clamp(min=0).to(kind)
    wanted = in_order(first, b, torch.zeros(1)).clamp(min=0).to(kind)
    assert torch.equal(run(kernels, units, a, b, bias), wanted)
    assert rules(report) == set()


def rounded(scale: float) -> float:
    """A scale as the unit keeps it: 10 bits of fraction."""
    (bits,) = struct.unpack("<I", struct.pack("<f", scale))
    return float(struct.unpack("<f", struct.pack("<I", bits & ~0x1FFF))[0])


@proves("cube/units.cpp", "SetHF32Mode SetHF32TransMode")
@pytest.mark.parametrize(("fault", "even"), [(4, 1), (5, 0)], ids=["to-even", "toward-zero"])
def test_hf32_rounds_what_is_multiplied(kernels: ModuleType, fault: int, even: int) -> None:
    units = Units(types=FLOAT, fault=fault)
    a, b, bias = operands(units)

    def eleven_bits(x: torch.Tensor) -> torch.Tensor:
        bits = x.numpy().view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7FF + even * ((bits >> 12) & 1)) & ~np.uint64(0xFFF)
        return torch.from_numpy(bits.astype(np.uint32).view(np.float32).copy())

    assert torch.equal(
        run(kernels, units, a, b, bias), in_order(eleven_bits(a), eleven_bits(b), torch.zeros(1))
    )


def test_integers_to_half_by_one_scale(kernels: ModuleType) -> None:
    units = Units(types=INT8_HALF, scale=0.0123)
    a, b, bias = operands(units)
    wanted = (accumulated(units, a, b, bias).float() * rounded(0.0123)).half()
    assert torch.equal(run(kernels, units, a, b, bias), wanted)


def test_integers_to_half_by_a_scale_a_column(kernels: ModuleType) -> None:
    units = Units(types=INT8_HALF, quant=VDEQF16)
    a, b, bias = operands(units)
    given = [0.001 * (1 + column) for column in range(52)]
    words = torch.tensor([scale_bits(scale, 0) for scale in given], dtype=torch.int64)
    factors = torch.tensor([rounded(scale) for scale in given[:50]], dtype=torch.float32)
    wanted = (accumulated(units, a, b, bias).float() * factors).half()
    assert torch.equal(run(kernels, units, a, b, bias, words), wanted)


def test_floats_to_bytes_saturate(kernels: ModuleType) -> None:
    units = Units(types=HALF_INT8, scale=8.0, offset=-3)
    a, b, bias = operands(units)
    wanted = (torch.round(accumulated(units, a, b, bias).double() * 8) - 3).clamp(-128, 127).to(torch.int8)
    assert torch.equal(run(kernels, units, a, b, bias), wanted)
    assert (wanted == 127).any()
    assert (wanted == -128).any()


@pytest.mark.parametrize(
    ("size", "channels", "kernel", "pad", "stride"),
    [((6, 7), 16, 3, 1, 1), ((9, 8), 32, 3, 0, 2), ((5, 5), 16, 1, 0, 1), ((7, 6), 16, 2, 1, 2)],
    ids=["same", "strided", "pointwise", "even"],
)
def test_convolution_by_image_to_columns(
    kernels: ModuleType,
    report: Path,
    size: tuple[int, int],
    channels: int,
    kernel: int,
    pad: int,
    stride: int,
) -> None:
    random = torch.Generator().manual_seed(channels)
    image = torch.randn(channels, *size, generator=random).half()
    weights = torch.randn(24, channels, kernel, kernel, generator=random).half()
    wanted = torch.nn.functional.conv2d(image[None].double(), weights.double(), padding=pad, stride=stride)[0]
    rows, depth = wanted[0].numel(), channels * kernel * kernel
    units = Units(shape=(rows, 24, depth))
    # C1, H, W, C0, and the weights with their depth in the order C1, filter height, filter width, C0.
    map_ = image.reshape(channels // 16, 16, *size).permute(0, 2, 3, 1).contiguous()
    columns = (
        weights.reshape(24, channels // 16, 16, kernel, kernel)
        .permute(0, 1, 3, 4, 2)
        .reshape(24, depth)
        .contiguous()
    )
    names = ("height", "width", "channels", "filter", "pad", "stride")
    window = dict(zip(names, (*size, channels, kernel, pad, stride), strict=True))
    c = torch.zeros(rows * 24)
    kernels.units(
        map_,
        columns,
        torch.zeros(32),
        c,
        torch.zeros(24, dtype=torch.int64),
        request(units, window),
        HALF_FLOAT,
    )
    torch.testing.assert_close(c.reshape(rows, 24).T.double(), wanted.reshape(24, rows), rtol=1e-4, atol=1e-4)
    assert rules(report) == set()


@proves("cube/units.cpp", "Fill SetFmatrix SetLoadDataPaddingValue")
def test_a_convolution_padded_with_ones_by_the_registers(kernels: ModuleType, report: Path) -> None:
    random = torch.Generator().manual_seed(5)
    image, weights = (
        torch.randn(16, 6, 7, generator=random).half(),
        torch.randn(24, 16, 3, 3, generator=random).half(),
    )
    around = torch.nn.functional.pad(image.double(), (1, 1, 1, 1), value=1.0)
    wanted = torch.nn.functional.conv2d(around[None], weights.double())[0]
    units = Units(shape=(42, 24, 144), fault=2)
    columns = weights.permute(0, 2, 3, 1).reshape(24, 144).contiguous()
    window = {"height": 6, "width": 7, "channels": 16, "filter": 3, "pad": 1, "stride": 1}
    c, scales = torch.zeros(42 * 24), torch.zeros(24, dtype=torch.int64)
    map_ = image.permute(1, 2, 0).contiguous()
    kernels.units(map_, columns, torch.zeros(32), c, scales, request(units, window), HALF_FLOAT)
    torch.testing.assert_close(c.reshape(42, 24).T.double(), wanted.reshape(24, 42), rtol=1e-4, atol=1e-4)
    assert rules(report) == set()


@pytest.mark.parametrize(
    ("units", "rule"),
    [
        (Units(fault=1), "l0c-buffer-overrun"),
        (Units(types=HALF, quant=NO_QUANT), "fixpipe-quant"),
        (Units(types=FLOAT, transposed=(True, False), load=(PLAIN, IMAGE)), "loaddata-transpose"),
    ],
    ids=["l0c", "quant", "transpose"],
)
def test_wrong_uses_are_found(kernels: ModuleType, report: Path, units: Units, rule: str) -> None:
    run(kernels, units, *operands(units))
    assert rule in rules(report)


@proves("cube/mix.cpp", "GetSubBlockNum TQueBind Init SetSubBlockIdx")
def test_cube_and_vector_cores_of_one_block(kernels: ModuleType, report: Path) -> None:
    random = torch.Generator().manual_seed(3)
    a, b = torch.randn(40, 48, generator=random).bfloat16(), torch.randn(48, 64, generator=random).bfloat16()
    c, workspace = torch.zeros(40, 64), torch.full((40, 64), torch.nan)
    kernels.fused_relu(a, b, c, workspace)
    assert torch.equal(c, in_order(a, b, torch.zeros(1)).clamp(min=0))
    assert rules(report) == set()


def test_a_kernel_for_cube_cores_alone_has_no_part_for_vector_cores(
    kernels: ModuleType, report: Path
) -> None:
    random = torch.Generator().manual_seed(4)
    a, b = torch.randn(40, 48, generator=random).half(), torch.randn(48, 64, generator=random).half()
    c = torch.zeros(40, 64)
    kernels.cube_only(a, b, c)
    once = in_order(a, b, torch.zeros(1))
    assert torch.equal(c, once + once)
    assert rules(report) == set()


@proves("cube/constants.cpp", "MatmulConfig GetMatmulApiTiling DisableBias SetSingleShape WaitIterateAll")
def test_a_tiling_known_at_compile_time(kernels: ModuleType, report: Path) -> None:
    random = torch.Generator().manual_seed(6)
    a, b = torch.randn(64, 64, generator=random).half(), torch.randn(64, 64, generator=random).half()
    c = torch.zeros(64, 64)
    kernels.constants(a, b, c)
    assert torch.equal(c, in_order(a, b, torch.zeros(1)))
    assert rules(report) == set()


@proves("cube/constants.cpp", "SetQuantScalar SetQuantVector")
@pytest.mark.parametrize("columns", [1, 48], ids=["one-scale", "a-scale-a-column"])
def test_a_quantised_product(kernels: ModuleType, report: Path, columns: int) -> None:
    random = torch.Generator().manual_seed(7)
    a, b = (
        torch.randint(-128, 128, size, dtype=torch.int8, generator=random) for size in ((40, 64), (64, 48))
    )
    scales = [0.001 * (1 + column) for column in range(columns)]
    words = torch.tensor([scale_bits(scale, 0) for scale in scales], dtype=torch.int64)
    c = torch.zeros(40, 48, dtype=torch.float16)
    kernels.quantised(a, b, c, words)
    exact = (a.to(torch.int64) @ b.to(torch.int64)).float()
    assert torch.equal(c, (exact * torch.tensor([rounded(scale) for scale in scales])).half())
    assert rules(report) == set()
