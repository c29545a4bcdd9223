"""The forms of vector calls: masks, strides, registers, layouts.

Numbers marked "page" are printed in the API page named.
"""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from npu_worker.sim.report import read_report
from npu_worker.toolchains import SimToolchain
from schema.results import FailureType
from tests.support.extension import loaded
from tests.support.findings import rules
from tests.support.proof import proves
from tests.support.sim_vector import Array, as_torch, build

LT, GT, EQ, LE, GE, NE = range(6)
RNG = np.random.default_rng(21)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("sim-vector"))


@pytest.fixture(scope="module")
def kernels(library: Path) -> ModuleType:
    return loaded(library)


class Forms:
    """Runs a form; fails where the simulator noticed anything."""

    def __init__(self, kernels: ModuleType, report: Path) -> None:
        self.kernels, self.report = kernels, report

    def __call__(
        self,
        op: int,
        x: Array,
        y: Array | None = None,
        w: Array | None = None,
        *,
        z: Array,
        p: int = 0,
        q: int = 0,
        findings: set[str] | None = None,
    ) -> Array:
        spare = np.zeros(8, np.uint32)
        out = z.copy()
        self.report.unlink(missing_ok=True)
        arrays = [
            as_torch(np.ascontiguousarray(one).copy())
            for one in (x, spare if y is None else y, spare if w is None else w)
        ]
        self.kernels.forms(op, *arrays, as_torch(out), p, q)
        assert rules(self.report) == (findings or set())
        return out


@pytest.fixture
def forms(kernels: ModuleType, report: Path) -> Forms:
    return Forms(kernels, report)


def floats(n: int) -> Array:
    return RNG.standard_normal(n).astype(np.float32)


def halves(n: int) -> Array:
    return RNG.standard_normal(n).astype(np.float16)


def packed(flags: Array, size: int = 0) -> Array:
    bits = np.packbits(flags.astype(bool), bitorder="little")
    return np.concatenate([bits, np.zeros(max(0, size - bits.size), np.uint8)])


MASK_BITS = np.unpackbits(
    np.array([0x00FF00FF00FF00FF, 0xF0F0F0F0F0F0F0F0], np.uint64).view(np.uint8), bitorder="little"
).astype(bool)


def test_mask_length_mask_bits_counter_and_outside_masks(forms: Forms) -> None:
    x, y, old = floats(256), floats(256), np.full(256, -9, np.float32)
    expected = old.copy()
    for r in range(3):
        expected[64 * r : 64 * r + 40] = (x + y)[64 * r : 64 * r + 40]
    assert np.array_equal(forms(0, x, y, z=old), expected)

    hx, hy, before = halves(256), halves(256), np.full(1024, -9, np.float16)
    expected = before.copy()
    for r in range(2):
        for lane in np.flatnonzero(MASK_BITS):
            place = r * 16 * 16 + (lane // 16) * 32 + lane % 16  # every second block of dst
            expected[place] = np.float16(hx[128 * r + lane] + hy[128 * r + lane])
    assert np.array_equal(forms(1, hx, hy, z=before), expected)

    expected = old.copy()
    expected[:150] = (x + y)[:150]
    assert np.array_equal(forms(2, x, y, z=old), expected)

    expected = old.copy()
    for r in range(2):
        for lane in (4, 5, 6, 7, 12, 13, 14, 15):
            expected[64 * r + lane] = x[64 * r + lane] * 2
    assert np.array_equal(forms(3, x, z=old), expected)


@proves("sim_vector/forms.cpp", "Compare CMPMODE", forms="count mask")
def test_compare(forms: Forms) -> None:
    operators: list[Any] = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]
    x, y = floats(256), floats(256)
    x[::5], x[7], y[9] = y[::5], np.nan, np.nan
    for mode, rule in enumerate(operators):
        assert np.array_equal(forms(4, x, y, z=np.zeros(32, np.uint8), p=mode, q=256), packed(rule(x, y))), (
            mode
        )
        assert np.array_equal(
            forms(6, x, y, z=np.zeros(32, np.uint8), p=mode, q=256), packed(rule(x, y[0]))
        ), mode
    hx, hy = halves(256), halves(256)  # the mask of 16 is ignored on dav-2201 (Compare page)
    assert np.array_equal(forms(5, hx, hy, z=np.zeros(32, np.uint8), p=LE), packed(hx <= hy))


@proves("sim_vector/forms.cpp", "GetCmpMask")
def test_compare_into_the_register_page(forms: Forms) -> None:
    # page: Compare (result in a register)
    x = np.float32(
        [86.72287, 9.413112, 17.033222, -64.10005, -66.2691, -65.57659, 15.898049, 94.61241,
         -68.920685, -36.16883, 15.62852, 68.078514, -59.724575, -9.4302225, -64.770935, 66.55523,
         -84.60122, 57.331, 60.42026, -86.78856, 37.25265, 8.356797, -48.544407, 16.73616]
    )  # fmt: skip
    y = np.float32(
        [2.2989323, 51.8879, -81.49718, 41.189415, 6.4081917, 92.566666, 53.205498, -94.47063,
         -75.38387, 36.464787, 85.60772, -28.70681, 42.58504, -76.15293, 38.723816, 10.006577,
         74.53035, -78.38537, 71.945404, -4.060528, -14.501523, 28.229202, 96.87876, 41.558033]
    )  # fmt: skip
    rest = np.zeros(40, np.float32)
    out = forms(7, np.concatenate([x, rest]), np.concatenate([y, rest]), z=np.zeros(16, np.uint8))
    assert out[:3].tolist() == [122, 86, 237]
    assert not out[3:8].any()


@proves("sim_vector/forms.cpp", "Select SELMODE SetCmpMask", forms="count mask")
def test_select_modes(forms: Forms) -> None:
    x, y, old = floats(128), floats(128), np.full(128, -9, np.float32)
    flags = RNG.integers(0, 2, 128).astype(bool)
    bits = packed(flags, 32)
    first = np.tile(flags[:64], 2)
    assert np.array_equal(forms(8, x, y, bits, z=old, q=128), np.where(first, x, y))
    assert np.array_equal(forms(9, x, y, bits, z=old, q=128), np.where(flags, x, np.float32(7.5)))
    assert np.array_equal(forms(10, x, y, bits, z=old, q=128), np.where(flags, x, y))
    # by SetCmpMask: a mask of one repeat, the address of a mask, a scalar
    assert np.array_equal(forms(12, x, y, bits, z=old), np.where(first, x, y))
    assert np.array_equal(forms(13, x, y, bits, z=old), np.where(flags, x, y))
    assert np.array_equal(forms(14, x, y, bits, z=old), np.where(flags, x, np.float32(7.5)))

    hx, hy, before = halves(256), halves(256), np.full(256, -9, np.float16)
    flags = RNG.integers(0, 2, 256).astype(bool)
    expected = before.copy()
    for r in range(2):
        lanes = slice(128 * r, 128 * r + 32)
        expected[lanes] = np.where(flags, hx, hy)[lanes]
    assert np.array_equal(forms(11, hx, hy, packed(flags, 32), z=before), expected)
    expected = before.copy()
    expected[:128][MASK_BITS] = np.where(flags, hx, np.float16(2))[:128][MASK_BITS]
    assert np.array_equal(forms(53, hx, hy, packed(flags, 32), z=before), expected)


def pairs(values: Array, indices: Array) -> Array:
    """Sorted elements of 8 bytes: the score low, the index high."""
    raw = np.zeros((values.size, 2), np.uint32)
    raw[:, 0] = values.view(np.uint32) if values.dtype == np.float32 else values.view(np.uint16)
    raw[:, 1] = indices
    return raw.ravel()


def sorted_pairs(values: Array, indices: Array) -> Array:
    """Largest first, NaN before all, equal scores in their order."""
    wide = values.astype(np.float64)
    order = np.argsort(np.where(np.isnan(wide), -np.inf, -wide), kind="stable")
    return pairs(values[order], indices[order])


@proves("sim_vector/forms.cpp", "Sort32")
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_sort32(forms: Forms, kind: Any) -> None:
    values = RNG.integers(-9, 9, 96).astype(kind)  # many ties
    values[40], values[50] = np.nan, -np.inf
    indices = RNG.permutation(96).astype(np.uint32)
    expected = np.concatenate([sorted_pairs(values[s : s + 32], indices[s : s + 32]) for s in (0, 32, 64)])
    assert np.array_equal(
        forms(15 if kind is np.float32 else 16, values, w=indices, z=np.zeros(192, np.uint32), p=3), expected
    )


@proves("sim_vector/forms.cpp", "MrgSort MrgSort4Info MrgSortSrcList GetMrgSortResult")
def test_mrgsort(forms: Forms) -> None:
    values, indices = floats(256), np.arange(256, dtype=np.uint32)
    values[::3] = np.round(values[::3])
    out = np.zeros(1040 * 4 // 4, np.uint32)
    for queues in (2, 3, 4):
        n = 32 * queues
        merged = forms(17, values, w=indices, z=out, p=queues, q=1)
        assert np.array_equal(merged[: 2 * n], sorted_pairs(values[:n], indices[:n])), queues
    merged = forms(17, values, w=indices, z=out, p=4, q=2)
    both = np.concatenate(
        [sorted_pairs(values[:128], indices[:128]), sorted_pairs(values[128:], indices[128:])]
    )
    assert np.array_equal(merged[:512], both)
    # until a queue is exhausted: what came out is the front of the merge, and the counts say from where
    partial = forms(18, values, w=indices, z=out, p=4, q=1)
    taken = partial[1024:1028].view(np.float32).astype(int)
    assert taken.max() == 32
    assert np.count_nonzero(taken == 32) == 1
    total = int(taken.sum())
    expected = sorted_pairs(values[:128], indices[:128])[: 2 * total]
    assert np.array_equal(partial[: 2 * total], expected)
    assert [int(np.count_nonzero(expected[1::2] // 32 == q)) for q in range(4)] == taken.tolist()


@proves("sim_vector/forms.cpp", "Concat Sort GetSortOffset")
@pytest.mark.parametrize("whole", [0, 1])
def test_sort_page(forms: Forms, whole: int) -> None:
    # pages: Sort, MrgSort (high level): 128 halves in groups that fall
    values = np.concatenate([np.arange(32 * g + 31, 32 * g - 1, -1) for g in range(4)])
    out = forms(
        19, values.astype(np.float16), w=values.astype(np.uint32), z=np.zeros(384, np.uint32), p=whole
    )
    assert out[:64].view(np.float16).tolist() == list(range(127, -1, -1))
    assert out[256:].tolist() == list(range(127, -1, -1))


@proves("sim_vector/forms.cpp", "TransDataTo5HD TransDataTo5HDParams GetPhyAddr")
def test_transdata(forms: Forms) -> None:
    plane = np.repeat(np.arange(16, dtype=np.float16), 256)  # page: channel c holds c
    out = forms(20, plane, z=np.zeros(4096, np.float16)).reshape(256, 16)
    assert np.array_equal(out, np.tile(np.arange(16, dtype=np.float16), (256, 1)))
    random = halves(4096)
    out = forms(20, random, z=np.zeros(4096, np.float16)).reshape(16, 16, 16)
    assert np.array_equal(out, random.reshape(16, 16, 16).transpose(1, 2, 0))

    wide = floats(128)
    assert np.array_equal(forms(21, wide, z=np.zeros(128, np.float32)).reshape(8, 16), wide.reshape(16, 8).T)

    small = RNG.integers(-128, 128, 512).astype(np.int8)
    for halves_of in range(4):
        old = np.full(512, 99, np.int8)
        to, frm = (16 if halves_of & 1 else 0), (16 if halves_of & 2 else 0)
        expected = old.reshape(16, 32).copy()
        expected[:, to : to + 16] = small.reshape(16, 32)[:, frm : frm + 16].T
        assert np.array_equal(forms(22, small, z=old, p=halves_of), expected.ravel()), halves_of

    double = halves(512)  # with one repeat the strides move the start (TransDataTo5HD page)
    out = forms(23, double, z=np.zeros(512, np.float16))
    assert not out[:256].any()
    assert np.array_equal(out[256:].reshape(16, 16), double[256:].reshape(16, 16).T)


@proves("sim_vector/forms.cpp", "Transpose")
def test_transposes_of_planes(forms: Forms) -> None:
    x = halves(3 * 3 * 16)
    out = forms(24, x, z=np.zeros(144, np.float16))
    assert np.array_equal(out.reshape(3, 2, 8, 3), x.reshape(3, 3, 2, 8).transpose(0, 2, 3, 1))
    y = floats(2 * 5 * 24)
    out = forms(25, y, z=np.zeros(240, np.float32))
    assert np.array_equal(out.reshape(2, 5, 4, 6), y.reshape(2, 4, 6, 5).transpose(0, 3, 1, 2))


@proves("sim_vector/forms.cpp", "Gather Gatherb GatherRepeatParams", forms="count mask")
def test_gathers(forms: Forms) -> None:
    offsets = np.arange(254, -1, -2, dtype=np.uint32)  # page: Gather
    out = forms(26, np.arange(128, dtype=np.float16), w=offsets, z=np.zeros(128, np.float16))
    assert out.tolist() == list(range(127, -1, -1))
    x, old = floats(256), np.full(128, -9, np.float32)
    places = RNG.integers(0, 240, 128).astype(np.uint32)
    expected = old.copy()
    for r in range(2):
        expected[64 * r : 64 * r + 48] = x[8 + places[64 * r : 64 * r + 48]]
    assert np.array_equal(forms(27, x, w=places * 4, z=old), expected)
    blocks = np.array([224, 192, 160, 128, 96, 64, 32, 0], np.uint32)  # page: Gatherb
    out = forms(28, np.arange(128, dtype=np.uint16), w=blocks, z=np.zeros(128, np.uint16))
    assert np.array_equal(out.reshape(8, 16), np.arange(128, dtype=np.uint16).reshape(8, 16)[::-1])


@proves("sim_vector/forms.cpp", "GatherMask GatherMaskParams")
def test_gathermask(forms: Forms) -> None:
    x, old = floats(128), np.full(1032, -9, np.float32)
    lane = np.arange(128) % 64
    chosen = {1: lane % 2 == 0, 2: lane % 2 == 1, 7: lane >= 0} | {p: lane % 4 == p - 3 for p in (3, 4, 5, 6)}
    for pattern, flags in chosen.items():
        out = forms(29, x, z=old, p=pattern)
        assert np.array_equal(out[: int(flags.sum())], x[flags]), pattern
        assert out[1024] == flags.sum()
        assert (out[int(flags.sum()) : 1024] == -9).all()
    # page: GatherMask, Counter mode: mask 70, two repeats 4 blocks apart, pattern 0xAAAAAAAA
    numbers = np.arange(1, 257, dtype=np.uint32)
    out = forms(30, numbers, w=np.full(32, 0xAAAAAAAA, np.uint32), z=np.zeros(1032, np.uint32))
    assert out[:70].tolist() == [*range(2, 71, 2), *range(34, 103, 2)]
    assert out[1024:1025].view(np.float32)[0] == 70


def test_arithmetic_with_a_conversion(forms: Forms) -> None:
    x, y = floats(128) * 100, floats(128) * 100
    out = forms(31, x, y, z=np.zeros(128, np.float16), q=128)
    assert np.array_equal(out, np.maximum(x + y, 0).astype(np.float16))
    hx, hy = (halves(256) * 90).astype(np.float16), (halves(256) * 90).astype(np.float16)
    out = forms(32, hx, hy, z=np.zeros(256, np.int8))
    assert np.array_equal(
        out, np.clip(np.rint(np.maximum((hx - hy).astype(np.float64), 0)), -128, 127).astype(np.int8)
    )
    small, other = (halves(128) * 12).astype(np.float16), (halves(128) * 12).astype(np.float16)
    out = forms(33, small, other, z=np.zeros(128, np.uint8), q=128)
    assert np.array_equal(out, np.clip(np.rint((small * other).astype(np.float64)), 0, 255).astype(np.uint8))
    # page: AddDeqRelu with a scale of 0.1
    a, b = np.int32([70, 36, 43, 54, 28, 49, 27, 82]), np.int32([19, 33, 34, 50, 42, 2, 97, 93])
    out = forms(34, a, b, z=np.zeros(16, np.float16), q=8)
    assert np.allclose(out[:8].astype(float), [8.9, 6.9, 7.7, 10.4, 7.0, 5.1, 12.4, 17.5], atol=0.01)
    # page: CastDeq: 16 results fill half of a block
    shorts = RNG.integers(-300, 300, 256).astype(np.int16)
    lane = np.arange(256) % 16
    expected = np.clip(np.rint(shorts * 0.5 * lane) - lane, -128, 127).astype(np.int8)
    out = forms(35, shorts, z=np.zeros(512, np.int8)).reshape(16, 32)
    assert np.array_equal(out[:, 16:].ravel(), expected)
    assert not out[:, :16].any()
    out = forms(36, shorts, z=np.zeros(512, np.uint8)).reshape(16, 32)
    assert np.array_equal(out[:, :16].ravel(), np.clip(shorts * 2 + 3, 0, 255).astype(np.uint8))
    assert not out[:, 16:].any()


@proves("sim_vector/forms.cpp", "Brcb Cast CreateVecIndex Duplicate", forms="mask")
def test_fills_copies_and_indices(forms: Forms) -> None:
    out = forms(37, np.arange(1, 17, dtype=np.uint16), z=np.zeros(256, np.uint16))  # page: Brcb
    assert out.tolist() == [value for value in range(1, 17) for _ in range(16)]
    x, old = floats(512), np.full(128, -9, np.float32)
    expected = old.copy()  # Counter mode of Copy: 40 elements a repeat
    for r in range(2):
        for i in range(40):
            expected[64 * r + i] = x[128 * r + (i // 8) * 16 + i % 8]
    assert np.array_equal(forms(38, x, z=old), expected)
    indices = np.full(128, -9, np.int32)
    expected = indices.copy()
    for r in range(2):
        expected[64 * r : 64 * r + 20] = 5 + 64 * r + np.arange(20)
    assert np.array_equal(forms(39, x, z=indices), expected)
    before = np.full(512, -9, np.float16)
    expected = before.copy()
    for r in range(2):
        expected[192 * r : 192 * r + 128][MASK_BITS] = 18
    assert np.array_equal(forms(40, x, z=before), expected)
    hx, start = halves(128), floats(128)
    assert np.array_equal(
        forms(41, hx, z=start), (start.astype(np.float64) + hx.astype(np.float64) * 2).astype(np.float32)
    )
    a, b = halves(64), halves(64)
    assert np.array_equal(
        forms(50, a, b, z=start, q=64)[:64],
        (start[:64].astype(np.float64) + a.astype(np.float64) * b).astype(np.float32),
    )
    cast = forms(52, hx, z=np.full(128, -9, np.int32))
    for r in range(2):
        assert np.array_equal(cast[64 * r : 64 * r + 32], np.ceil(hx[64 * r : 64 * r + 32]).astype(np.int32))
        assert (cast[64 * r + 32 : 64 * r + 64] == -9).all()


def tree(values: Array) -> Any:
    while values.size > 1:
        values = (values[0::2] + values[1::2]).astype(values.dtype)
    return values[0]


@proves("sim_vector/forms.cpp", "GetReduceMaxMinCount GetAccVal ReduceOrder")
def test_reductions(forms: Forms) -> None:
    x = floats(4096)
    out = forms(43, x, z=np.zeros(8, np.float32), p=64)
    assert out[0] == x.max()
    assert out[1:2].view(np.uint32)[0] == x.argmax()
    out = forms(51, x, z=np.zeros(8, np.float32), q=1000)
    assert out[2] == x[:1000].min()
    assert out[3:4].view(np.uint32)[0] == x[:1000].argmin()
    rows = x[:192].reshape(3, 64)[:, :50]
    value, index = rows.min(1), rows.argmin(1).astype(np.uint32).view(np.float32)
    expected = {
        0: np.stack([value, index], 1).ravel(),
        1: np.stack([index, value], 1).ravel(),
        2: value,
        3: index,
    }
    for order, numbers in expected.items():
        out = forms(44, x, z=np.full(16, -9, np.float32), p=order)
        assert np.array_equal(out[: numbers.size].view(np.uint32), numbers.view(np.uint32)), order
    out = forms(
        45, x, z=np.full(32, -9, np.float32)
    )  # page: PairReduceSum: the pair that the mask turns off stays
    assert np.array_equal(out[:31], x[:62:2] + x[1:62:2])
    assert out[31] == -9
    hx = halves(384)
    out = forms(46, hx, z=np.full(32, -9, np.float16))  # dst at 16 bytes
    assert np.array_equal(out[8:24], hx[:256].reshape(16, 16).max(1))
    assert (out[24:] == -9).all()
    out = forms(47, x, z=np.zeros(8, np.float32))
    assert out[0] == x[:64].max()
    assert out[1:2].view(np.uint32)[0] == x[:64].argmax()
    sums = [tree(x[s : s + 64]) for s in range(0, 4096, 64)]
    in_order = sums[0]
    for part in sums[1:]:
        in_order = np.float32(in_order + part)
    out = forms(48, x, z=np.full(8, -9, np.float32), q=4096)
    assert out[3] == in_order
    assert out[5] == in_order
    assert out[4] == -9
    out = forms(49, hx, z=np.full(16, -9, np.float16))
    assert out[1:4].tolist() == [float(tree(hx[s : s + 128])) for s in (0, 128, 256)]
    assert out[0] == -9
    assert out[4] == -9
    out = forms(54, x, z=np.zeros(8, np.float32), p=64)
    assert out[0] == tree(np.array(sums, np.float32))


def test_operands_that_overlap(forms: Forms) -> None:
    x, z = floats(512), floats(512)
    forms(60, x, z=z, findings={"operand-overlap"})
    forms(61, x, z=z, findings={"operand-overlap-repeats"})
    out = forms(62, x, z=z)  # accumulation into the second source is allowed
    total = z[:64].copy()
    for r in range(3):
        total = (x[64 * r : 64 * r + 64] + total).astype(np.float32)
    assert np.array_equal(out[:64], total)
    forms(72, x, z=np.zeros(512, np.float16))  # narrowing in place reads before it writes
    forms(73, halves(1024), z=z, findings={"operand-overlap-repeats"})
    assert {one.severity for one in read_report(forms.report)} == {"violation"}
    # What lies at the end of its own target is widened as many kernels do it: right, and not promised by documents.
    x = halves(1024)
    assert np.array_equal(forms(77, x, z=z, findings={"operand-overlap"}), x[512:].astype(np.float32))
    assert {one.severity for one in read_report(forms.report)} == {"warning"}


def test_parameters_that_do_not_fit(forms: Forms) -> None:
    x, z = floats(512), floats(512)
    out = forms(63, x, z=z, p=0, findings={"repeat-out-of-range"})
    assert np.array_equal(out, z)  # 256 is 0 in 8 bits
    out = forms(63, x, z=z, p=1, findings={"repeat-out-of-range"})
    assert np.array_equal(out[:64], x[:64] + 1)
    assert np.array_equal(out[64:], z[64:])
    out = forms(64, x, z=z, p=0, findings={"stride-out-of-range"})
    assert np.array_equal(out[:128], np.tile(x[:64] + 1, 2))
    forms(65, x, z=np.zeros(64, np.int32), findings={"shift-out-of-range"})
    forms(66, np.arange(64, dtype=np.int32), z=np.zeros(32, np.uint8), findings={"compare-mode"})
    forms(67, x, z=np.zeros(64, np.int32), findings={"cast-mode"})
    forms(70, floats(4096), z=z, findings={"ub-buffer-overrun"})
    forms(71, np.arange(64, dtype=np.int32), z=np.zeros(64, np.float16), findings={"deq-scale-not-set"})
    forms(74, x, w=np.array([0, 4, 6, 8, 12, 16, 20, 24], np.uint32), z=z, findings={"offset-unaligned"})
    forms(4, x, floats(512), z=np.zeros(32, np.uint8), p=LT, q=100, findings={"compare-unaligned"})


def test_unwritten_lanes_travel_with_bits_and_are_found_where_they_decide(forms: Forms) -> None:
    x, y = floats(128), floats(128)
    out = forms(75, x, y, z=np.zeros(100, np.float32))
    assert np.array_equal(out, np.where(x < y, x, y)[:100])
    forms(75, x, y, z=np.zeros(128, np.float32), findings={"read-never-written"})
    forms(76, x, w=np.arange(32, dtype=np.uint32), z=np.zeros(64, np.uint32), findings={"read-never-written"})


def test_calls_that_the_soc_lacks(forms: Forms) -> None:
    for op, name in ((68, "Scatter"), (69, "ProposalConcat")):
        with pytest.raises(RuntimeError, match=f"not-on-this-soc: {name} does not exist on Ascend910B"):
            forms(
                op,
                halves(128),
                w=np.arange(0, 256, 2, dtype=np.uint32),
                z=np.zeros(128, np.float16),
                findings={"not-on-this-soc"},
            )


@proves("sim_vector/forms.cpp", "ProposalConcat ProposalExtract RpSort16 MrgSort4")
@pytest.mark.slow
def test_calls_of_an_older_soc(library: Path, tmp_path: Path) -> None:
    """Scatter and region proposals on 310P: a process of its own, since the SoC is chosen once."""
    script = f"""
import sys; sys.path[:0] = {sys.path!r}
import numpy as np
from pathlib import Path
from tests.support.extension import loaded
from tests.support.sim_vector import as_torch
kernels = loaded(Path({str(library)!r}))
def run(op, x, w, z):
    out = z.copy()
    spare = np.zeros(8, np.uint32)
    kernels.forms(op, as_torch(x), as_torch(spare), as_torch(w), as_torch(out), 0, 0)
    return out
offsets = np.arange(254, -1, -2, dtype=np.uint32)
scattered = run(68, np.arange(128, dtype=np.float16), offsets, np.zeros(128, np.float16))
assert scattered.tolist() == list(range(127, -1, -1))
# page: MrgSort4
values = np.random.default_rng(1).permutation(64).astype(np.float16)
assert run(69, values, offsets, np.zeros(64, np.float16)).tolist() == list(range(63, -1, -1))
"""
    environment = os.environ | {
        "OPMEND_SIM_SOC": "Ascend310P3",
        "OPMEND_SIM_REPORT": str(tmp_path / "old.jsonl"),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert rules(tmp_path / "old.jsonl") == set()


def test_types_that_a_call_does_not_take_fail_the_build_with_the_list(tmp_path: Path) -> None:
    source = """
#include "kernel_operator.h"
using namespace AscendC;
__global__ __aicore__ void wrong(GM_ADDR x) {
    LocalTensor<float> f; LocalTensor<int8_t> b; LocalTensor<bfloat16_t> n;
    LocalTensor<int32_t> i; LocalTensor<uint32_t> u; LocalTensor<half> h;
    Cast(b, f, RoundMode::CAST_RINT, 8);
    Add(n, n, n, 8);
    Sort32(i, i, u, 1);
    Transpose(f, f);
    Duplicate(b, int8_t(0), 32);
    ReduceMax(i, i, i, 8);
    AddReluCast(i, h, h, 8u);
}
"""
    build = SimToolchain().compile(
        {"kernel/wrong.cpp": source}, workdir=tmp_path, extension_name="_wrong_ext", timeout=120
    )
    assert build.compilation.failure_type is FailureType.BUILD_FAILED
    log = build.compilation.log
    for text in (
        "from float to float, half, bfloat16_t",
        "Add takes half, float, int16_t, int32_t on dav-2201",
        "Sort32 takes half, float",
        "Transpose takes int16_t, uint16_t, half on dav-2201",
        "Duplicate takes int16_t, uint16_t, half, bfloat16_t",
        "ReduceMax takes half, float on dav-2201",
        "AddReluCast takes float to half, half to int8_t",
    ):
        assert text in log, text
