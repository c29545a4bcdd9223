"""High-level calls against NumPy and torch, and against what their documentation prints."""

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from npu_worker.sim.report import read_report
from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "high_level"
LANES = 2048
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    work = tmp_path_factory.mktemp("high_level")
    return loaded(compiled(sources(KERNELS), "_sim_calls_ext", work))


class Call:
    """One call: sources as rows of 2048 lanes, results as float arrays."""

    def __init__(self, calls: ModuleType, report: Path) -> None:
        self._calls, self._report = calls, report

    def __call__(
        self, what: int, *sources: Array, m: int = 0, k: int = 0, used: int = 0, other: int = 0
    ) -> tuple[Array, Array, Array]:
        lanes = np.zeros((4, LANES), np.float32)
        for row, source in zip(lanes, sources, strict=False):
            narrow = source.astype(np.float32) if source.dtype == np.float64 else source
            flat = np.ascontiguousarray(narrow).reshape(-1).view(np.float32)
            row[: flat.size] = flat
        first, second, third = self._calls.call(torch.from_numpy(lanes), what, m, k, used or k, other).numpy()
        assert read_report(self._report) == ()
        return first, second, third


@pytest.fixture
def call(calls: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    report = tmp_path / "report.jsonl"
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(report))
    return Call(calls, report)


def rows(seed: int, m: int, k: int) -> Array:
    return np.random.default_rng(seed).normal(size=(m, k)).astype(np.float32)


def close(actual: Array, expected: Array, tolerance: float = 2e-6) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def blocks(values: Array) -> Array:
    return np.repeat(values.reshape(-1, 1), 8, axis=1).reshape(-1)


def softmax(x: Array) -> tuple[Array, Array, Array]:
    most = x.max(axis=-1, keepdims=True)
    powers = np.exp(x - most)
    total = powers.sum(axis=-1, keepdims=True)
    return powers / total, total, most


def test_softmax_and_its_rows_of_blocks(call: Call) -> None:
    x = rows(1, 12, 64)
    result, total, most = softmax(x[:, :50].astype(np.float64))
    for what in (0, 1):
        out, sums, maxima = call(what, x, m=12, k=64, used=50)
        close(out[:768].reshape(12, 64)[:, :50], result)
        assert (out[:768].reshape(12, 64)[:, 50:] == 0).all()  # nothing is put where nothing is in use
        if what == 0:
            close(sums[:96], blocks(total))
            close(maxima[:96], blocks(most))
    fractal = x.reshape(12, 4, 16).transpose(1, 0, 2)
    out, *_ = call(2, fractal, m=12, k=64)
    close(out[:768].reshape(4, 12, 16).transpose(1, 0, 2).reshape(12, 64), softmax(x)[0])
    simple, *_ = call(3, x, blocks(total), blocks(most), m=12, k=64, used=50)
    close(simple[:768].reshape(12, 64)[:, :50], result)


def test_softmax_in_parts(call: Call) -> None:
    x, before = rows(2, 8, 64), rows(3, 8, 64)
    _, old_sum, old_max = softmax(before)
    most = np.maximum(old_max, x.max(axis=1, keepdims=True))
    scale = np.exp(old_max - most)
    powers = np.exp(x - most)
    total = scale * old_sum + powers.sum(axis=1, keepdims=True)
    out, factors, sums = call(4, x, blocks(old_sum), blocks(old_max), m=8, k=64)
    close(out[:512].reshape(8, 64), powers)
    close(factors[:64], blocks(scale))
    close(sums[:64], blocks(total))
    out, sums, _ = call(5, x, blocks(old_sum), blocks(old_max), m=8, k=64)
    close(out[:512].reshape(8, 64), powers / total)
    close(sums[:64], blocks(total))


@proves("high_level/calls.cpp", "AdjustSoftMaxRes SoftMaxShapeInfo")
def test_logarithm_gradient_and_adjustment_of_softmax(call: Call) -> None:
    x, gradient = rows(4, 8, 64), rows(5, 8, 64)
    close(call(6, x, m=8, k=64)[0][:512].reshape(8, 64), np.log10(softmax(x)[0]), 1e-5)
    y = softmax(x)[0]
    dot = (gradient * y).sum(axis=1, keepdims=True)
    close(call(7, gradient, y, m=8, k=64)[0][:512].reshape(8, 64), (gradient - dot) * y)
    close(call(8, gradient, y, m=8, k=64)[0][:64], blocks(dot))
    maxima = np.zeros((8, 8), np.float32)
    maxima[3] = np.array([0xFF7FFFFF], np.uint32).view(np.float32)
    out = call(36, x, maxima, m=8, k=64)[0][:512].reshape(8, 64)
    assert (out[3] == 0).all()
    assert np.array_equal(np.delete(out, 3, 0), np.delete(x, 3, 0))


def test_half_data_with_float_sums(calls: ModuleType) -> None:
    x = torch.from_numpy(rows(6, 16, 64)).half()
    out, sums = calls.half_softmax(x)
    assert torch.allclose(out.float(), torch.softmax(x.float(), 1), atol=5e-4)
    most = x.float().max(1, keepdim=True).values
    assert torch.allclose(sums[:, 0], (x.float() - most).exp().sum(1), rtol=1e-6)


def test_a_softmax_without_a_shape_says_so(calls: ModuleType) -> None:
    with pytest.raises(RuntimeError, match=r"^softmax-shape: SoftMax: shape 0 x 0"):
        calls.call(torch.zeros(4, LANES), 99, 0, 0, 0, 0)


def test_normalisation_of_rows(call: Call) -> None:
    x, gamma, beta = rows(7, 10, 64), rows(8, 1, 64), rows(9, 1, 64)
    part = torch.from_numpy(x[:, :60].copy())
    weight, bias = torch.from_numpy(gamma[0, :60].copy()), torch.from_numpy(beta[0, :60].copy())
    expected = torch.nn.functional.layer_norm(part, (60,), weight, bias, 1e-5)
    out, mean, variance = call(9, x, gamma, beta, m=10, k=64, used=60)
    close(out[:640].reshape(10, 64)[:, :60], expected.numpy(), 5e-6)
    close(mean[:10], part.mean(1).numpy())
    close(variance[:10], part.var(1, correction=0).numpy())
    scale = np.sqrt((part.numpy().astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-5)
    close(
        call(10, x, gamma, m=10, k=64, used=60)[0][:640].reshape(10, 64)[:, :60],
        part.numpy() / scale * gamma[:, :60],
    )
    deep, _, spread = call(14, x, x[::-1], gamma, beta, m=10, k=64)
    sums = 2 * x + x[::-1]
    expected = torch.nn.functional.layer_norm(
        torch.from_numpy(sums.copy()), (64,), torch.from_numpy(gamma[0]), torch.from_numpy(beta[0]), 1e-5
    )
    close(deep[:640].reshape(10, 64), expected.numpy(), 5e-6)
    close(spread[:10], 1 / np.sqrt(sums.var(axis=1) + 1e-5), 1e-5)


def test_normalisation_of_groups_and_batches(call: Call) -> None:
    channels, size = 6, 20  # rows of 20 floats, padded to 24
    x, gamma, beta = rows(10, 2 * channels, 24), rows(11, 1, channels), rows(12, 1, channels)
    used = torch.from_numpy(x[:, :size].copy()).view(2, channels, size)
    expected = torch.nn.functional.group_norm(
        used, 2, torch.from_numpy(gamma[0]), torch.from_numpy(beta[0]), 1e-5
    )
    out, mean, variance = call(11, x, gamma, beta, m=channels, k=24, used=size)
    close(out[: 12 * 24].reshape(2, channels, 24)[:, :, :size], expected.numpy(), 5e-6)
    close(mean[:4], used.view(4, -1).mean(1).numpy(), 5e-6)
    close(variance[:4], used.view(4, -1).var(1, correction=0).numpy(), 5e-6)
    x, gamma, beta = rows(13, 9, 32), rows(14, 1, 9), rows(15, 1, 9)
    out, mean, variance = call(13, x, gamma, beta, m=9, k=32)
    expected = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * gamma.T + beta.T
    close(out[:288].reshape(9, 32), expected, 1e-5)
    close(mean[:32], x.mean(0), 1e-5)
    close(variance[:32], x.var(0), 1e-5)


def test_gradient_of_layer_norm(call: Call) -> None:
    x, dy, gamma = rows(16, 6, 32), rows(17, 6, 32), rows(18, 1, 32)
    leaf = torch.from_numpy(x.copy()).requires_grad_()
    torch.nn.functional.layer_norm(leaf, (32,), torch.from_numpy(gamma[0]), None, 1e-5).backward(
        torch.from_numpy(dy)
    )
    statistics = np.zeros(LANES, np.float32)
    statistics[:6], statistics[1024 : 1024 + 6] = x.mean(1), x.var(1)
    out, for_gamma, _ = call(12, dy, x, statistics, gamma, m=6, k=32)
    assert leaf.grad is not None
    close(out[:192].reshape(6, 32), leaf.grad.numpy(), 1e-5)
    close(
        for_gamma[:192].reshape(6, 32),
        (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5),
        1e-5,
    )


def test_welford_joins_two_samples(call: Call) -> None:
    first, second = rows(19, 1, 32), rows(20, 1, 32)
    mean, variance, ends = call(39, second, first, np.zeros(32, np.float32), k=32)
    both = np.concatenate([first, second])
    close(mean[:32], both.mean(0))
    close(variance[:32], ((both - both.mean(0)) ** 2).sum(0), 1e-5)
    close(ends[:1], both.mean())
    close(ends[8:9], both.var(), 1e-5)


@proves("high_level/calls.cpp", "SumParams MeanParams CumSumConfig CumSumInfo Pattern")
def test_sums_means_and_patterns(call: Call) -> None:
    x = rows(21, 7, 24)
    used = x[:, :21].astype(np.float64)
    close(call(15, x, m=7, k=24, used=21)[0][:7], used.sum(1))
    close(call(16, x, m=7, k=24, used=21)[0][:7], used.mean(1))
    close(call(17, x, m=7, k=24, used=21)[0][:21], used.sum(0))
    assert np.array_equal(call(18, x, m=7, k=24, used=21)[0][:7], used.max(1).astype(np.float32))
    close(call(19, x, m=7, k=24, used=21)[0][:7], used.prod(1), 1e-5)
    close(call(20, x, m=7, k=24)[0][:168].reshape(7, 24), x.cumsum(1), 1e-5)
    out, last, _ = call(21, x, m=7, k=24)
    close(out[:168].reshape(7, 24), x.cumsum(0), 1e-5)
    close(last[:24], x.cumsum(0)[-1], 1e-5)


#: The first row of the example that the page of TopK prints, and what it says comes out.
TOPK_ROW = """-18096.555 -11389.83 -43112.895 -21344.77 57755.918 50911.145 24912.621 -12683.089
45088.004 -39351.043 -30153.293 11478.329 12069.15 -9215.71 45716.44 -21472.398
-37372.16 -17460.414 22498.03 21194.838 -51229.17 -51721.918 -47510.38 47899.11
43008.176 5495.8975 -24176.97 -14308.27 53950.695 7652.6035 -45169.168 -26275.518"""


@proves("high_level/calls.cpp", "TopK TopKInfo")
def test_the_best_of_each_row_as_documented(call: Call) -> None:
    row = np.array(TOPK_ROW.split(), np.float32)
    values, indices, _ = call(22, row, m=1, k=32, used=32, other=1)
    assert np.array_equal(
        values[:5], np.array([-51721.918, -51229.17, -47510.38, -45169.168, -43112.895], np.float32)
    )
    assert indices[:5].view(np.int32).tolist() == [21, 20, 22, 30, 2]
    ties = np.array([[3, 1, np.nan, 3, 2, np.inf] + [-np.inf] * 26, [*range(32)]], np.float32)
    values, indices, _ = call(22, ties, m=2, k=32, used=32)
    assert indices[:13].view(np.int32).tolist() == [2, 5, 0, 3, 4, 0, 0, 0, 31, 30, 29, 28, 27]


@proves("high_level/calls.cpp", "ClampMax ClampMin")
def test_gated_units_and_functions(call: Call) -> None:
    a, b = rows(22, 1, LANES)[0], rows(23, 1, LANES)[0]
    wide, other = a.astype(np.float64), b.astype(np.float64)
    sigmoid = 1 / (1 + np.exp(-1.5 * other))
    tanh = torch.nn.functional.gelu(torch.from_numpy(other), approximate="tanh").numpy()
    close(call(23, a, b)[0], wide * tanh, 5e-6)
    close(call(24, a, b)[0], wide * other * sigmoid, 5e-6)
    assert np.array_equal(call(25, a, b)[0], a * np.maximum(b, 0))
    assert np.array_equal(call(26, a, b)[0], np.fmod(a, b))
    close(call(27, np.abs(a), b)[0], np.abs(wide) ** other, 5e-6)
    close(call(28, a * 5)[0], torch.lgamma(torch.from_numpy(a.astype(np.float32) * 5).double()).numpy(), 5e-6)
    digamma = torch.digamma(torch.from_numpy(a * np.float32(5)).double()).numpy()
    close(call(29, a * np.float32(5))[0], digamma, 2e-5)
    close(call(30, a)[0], np.exp(wide))
    assert np.array_equal(call(37, a * 3)[0], np.clip(a * 3, -1, 1))
    close(call(38, a)[0], torch.nn.functional.gelu(torch.from_numpy(a)).numpy(), 0.02)


@proves("high_level/calls.cpp", "DropOut DropOutShapeInfo Pad UnPad DequantParams SetSize")
def test_masks_pads_and_quantisation(call: Call) -> None:
    x = rows(24, 8, 64)
    keep = np.random.default_rng(25).integers(0, 2, (8, 64)).astype(np.uint8)
    assert np.array_equal(call(31, x, keep, m=8, k=64)[0][:512].reshape(8, 64), np.where(keep == 1, x * 2, 0))
    padded = call(32, x, m=8, k=64, used=61)[0][:512].reshape(8, 64)
    assert np.array_equal(padded[:, :61], x[:, :61])
    assert (padded[:, 61:] == 7).all()
    assert np.array_equal(call(33, x, m=8, k=64, used=56)[0][:448].reshape(8, 56), x[:, :56])
    data = rows(26, 1, LANES)[0] * 20
    out, codes, _ = call(34, data)
    expected = np.clip(np.rint((data * np.float32(3) + np.float32(1)).astype(np.float16)), -128, 127)
    assert np.array_equal(codes.view(np.int8)[:LANES].astype(np.float32), expected.astype(np.float32))
    back = (expected[:LANES] - 1) * 0.25
    assert np.array_equal(out.view(np.float16)[:LANES], back.astype(np.float16))
    codes = np.random.default_rng(27).integers(-(10**6), 10**6, (4, 16)).astype(np.int32)
    scales = rows(28, 1, 16)
    out = call(35, codes, scales, m=4, k=16, used=13)[0][:64].reshape(4, 16)
    assert np.array_equal(out[:, :13], codes[:, :13].astype(np.float32) * scales[:, :13])
    assert (out[:, 13:] == 0).all()
