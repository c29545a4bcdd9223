"""The references of the starter cohort against the definition of each operator, written out slowly."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

STARTER = Path(__file__).parents[2] / "cohorts" / "starter"


def reference(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"starter_{name}", STARTER / name / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model()


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_add_rounds_the_product_before_the_sum(dtype: Any) -> None:
    x, y = torch.randn(3, 4, 5).to(dtype), torch.randn(4, 1).to(dtype)
    got = reference("Add")(x, y, 1.3)
    product = (y.double() * torch.tensor(1.3, dtype=torch.float32).double()).to(dtype)
    assert torch.equal(got, (x.double() + product.double()).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cumsum_rounds_at_each_step(dtype: Any, dim: int) -> None:
    x = torch.rand(7, 300, 5).to(dtype)
    total = torch.zeros_like(x.select(dim, 0))
    steps = []
    for step in x.unbind(dim):
        total = total + step
        steps.append(total)
    assert torch.equal(reference("Cumsum")(x, dim), torch.stack(steps, dim))


def test_cumsum_of_bfloat16_rounds_only_what_it_stores() -> None:
    x = torch.rand(2, 300).bfloat16()
    exact = x.double().cumsum(1)
    got = reference("Cumsum")(x, 1)
    assert (got.double() - exact).abs().max() <= exact.max() * 2.0**-8


@pytest.mark.parametrize("keepdim", [False, True])
def test_sum_rounds_once(keepdim: bool) -> None:
    x = (torch.randn(5, 400, 3) + 1).half()
    got = reference("Sum")(x, -2, keepdim)
    exact = x.double().sum(1, keepdim=keepdim)
    assert got.shape == exact.shape
    assert ((got.double() - exact).abs() <= exact.abs() * 2.0**-10).all()


@pytest.mark.parametrize(("weighted", "biased"), [(True, True), (True, False), (False, True)])
def test_layer_norm_over_two_axes(weighted: bool, biased: bool) -> None:
    x = torch.randn(2, 3, 4, 8)
    weight = torch.randn(4, 8) if weighted else None
    bias = torch.randn(4, 8) if biased else None
    wide = x.double()
    centred = wide - wide.mean((2, 3), keepdim=True)
    exact = centred / torch.sqrt((centred * centred).mean((2, 3), keepdim=True) + 1e-5)
    exact = exact * (1 if weight is None else weight) + (0 if bias is None else bias)
    assert torch.allclose(reference("LayerNorm")(x, [4, 8], weight, bias).double(), exact, atol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss_divides_by_the_weights_of_what_counts(reduction: str, weighted: bool) -> None:
    values, target = torch.randn(3, 4, 6), torch.randint(0, 4, (3, 6))
    weight = torch.randn(4) if weighted else None
    losses, divisor = torch.zeros(3, 6, dtype=torch.float64), 0.0
    for n in range(3):
        for place in range(6):
            label = int(target[n, place])
            if label != 2:
                factor = 1.0 if weight is None else float(weight[label])
                losses[n, place] = -factor * float(values[n, label, place])
                divisor += factor
    exact = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / divisor}[reduction]
    got = reference("NLLLoss")(values, target, weight, 2, reduction)
    assert got.shape == exact.shape
    assert torch.allclose(got.double(), exact, rtol=1e-4, atol=1e-5)


def test_nll_loss_of_nothing_is_nan() -> None:
    loss = reference("NLLLoss")(torch.randn(2, 3), torch.tensor([1, 1]), None, 1, "mean")
    assert torch.isnan(loss)


def test_gate_gradients_match_autograd() -> None:
    shape = (4, 16)
    grad, hidden = torch.randn(shape).bfloat16(), torch.randn(shape).bfloat16()
    mask = (torch.rand(shape) < 0.5).bfloat16()
    gate = torch.tensor(0.4).bfloat16()
    wide_gate = gate.float().clone().requires_grad_()
    wide_hidden = hidden.float().clone().requires_grad_()
    residual = torch.zeros(shape, requires_grad=True)
    (residual + torch.tanh(wide_gate) * wide_hidden * mask.float()).backward(grad.float())
    assert wide_gate.grad is not None
    assert wide_hidden.grad is not None
    assert residual.grad is not None
    got = reference("TanhGatedResidualAddBackward")(grad, gate.expand(shape).clone(), hidden, mask)
    assert torch.equal(got[0], residual.grad.bfloat16())
    assert torch.allclose(got[1].float(), wide_hidden.grad, rtol=1e-2, atol=1e-3)
    assert torch.allclose(got[2].float(), wide_gate.grad.expand(shape), rtol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_matmul_contracts_the_first_axis(dtype: Any) -> None:
    a, b = torch.randn(9, 3).to(dtype), torch.randn(9, 5).to(dtype)
    exact = torch.einsum("km,kn->mn", a.double(), b.double())
    got = reference("MatmulTransA")(a, b)
    assert got.dtype == dtype
    assert torch.allclose(got.double(), exact, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
@pytest.mark.parametrize("axis", [0, 1])
def test_index_add_counts_duplicates_in_order(dtype: Any, axis: int) -> None:
    if dtype == torch.int32:
        var, value = (
            torch.randint(-9, 9, (6, 4, 8), dtype=dtype),
            torch.randint(-9, 9, (3, 4, 8), dtype=dtype),
        )
        alpha = torch.tensor([2], dtype=dtype)
    else:
        var, value = torch.randn(6, 4, 8).to(dtype), torch.randn(3, 4, 8).to(dtype)
        alpha = torch.tensor([1.5])
    indices = torch.tensor([1, 1, 5] if axis == 0 else [0, 2, 2, 3], dtype=torch.int32)
    pos = torch.arange(len(indices) - 1, -1, -1, dtype=torch.int32)
    want = var.clone()
    for index, place in zip(indices.tolist(), pos.tolist(), strict=True):
        scaled = value.select(axis, place) * alpha[0].item()
        part = want.select(axis, index)
        if axis == 1:
            part = part[: value.shape[0]]
        part += scaled
    before = var.clone()
    assert torch.equal(
        reference("inplace_index_add_with_sorted")(var, value, indices, pos, alpha, axis), want
    )
    assert torch.equal(var, before)
