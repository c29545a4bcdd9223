"""Values of inputs: reproducible, independent of each other, inside their bounds, of the right type."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_worker.inputs import CHUNK, input_seed, make_inputs
from schema.cases import DTYPE_BYTES, AbsentInput, AttributeInput, Case, TensorInput
from schema.errors import CaseFileError, WorkspaceError
from schema.input_rules import InputRule, parse_input_rules


def tensor(name, dtype="float32", shape=(16,), limits=None):
    return TensorInput(name=name, dtype=dtype, shape=shape, range=limits)


def draw(entries, rules=None, *, seed=7, index=0):
    return make_inputs(
        Case(inputs=tuple(entries)), parse_input_rules(rules, where="operator.toml"), seed=seed, index=index
    )


@pytest.mark.parametrize("dtype", list(DTYPE_BYTES))
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (2, 0, 4), (17, 33)])
def test_every_dtype_and_shape_has_a_default(dtype, shape):
    (value,) = draw([tensor("x", dtype, shape)]).values()
    assert value.dtype is getattr(torch, dtype)
    assert tuple(value.shape) == shape
    assert value.is_contiguous()
    assert value.device.type == "cpu"
    again = draw([tensor("x", dtype, shape)])["x"]
    assert torch.equal(value, again)


def test_defaults_have_the_stated_distributions():
    values = draw(
        [tensor("f", "float16", (20_000,)), tensor("i", "int32", (20_000,)), tensor("b", "bool", (20_000,))]
    )
    assert abs(values["f"].double().mean()) < 0.05
    assert abs(values["f"].double().std() - 1) < 0.05
    assert set(values["i"].tolist()) == set(range(10))
    assert 0.45 < values["b"].double().mean() < 0.55


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1),
    st.integers(0, 1 << 40),
    st.integers(0, 500),
)
def test_a_tensor_depends_on_seed_index_and_name_alone(names, seed, index):
    together = draw([tensor(name) for name in names], seed=seed, index=index)
    for name in names:
        alone = draw([tensor("other", "int64", (99,)), tensor(name)], seed=seed, index=index)
        assert torch.equal(together[name], alone[name])


def test_seed_index_and_name_each_change_the_values():
    base = draw([tensor("x")])["x"]
    assert not torch.equal(base, draw([tensor("x")], seed=8)["x"])
    assert not torch.equal(base, draw([tensor("x")], index=1)["x"])
    assert not torch.equal(base, draw([tensor("y")])["y"])
    assert input_seed(1, 11, "x") != input_seed(11, 1, "x") != input_seed(1, 1, "1x")


def test_drawing_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    state = torch.get_rng_state()
    draw([tensor("x", "float16", (100,)), tensor("i", "int64", (100,)), tensor("b", "bool", (9,))])
    assert torch.equal(state, torch.get_rng_state())


def test_half_precision_is_the_rounded_float32_draw():
    for size in (7, 1000, 3 * CHUNK + 5):
        wide, half = (draw([tensor("x", dtype, (size,))])["x"] for dtype in ("float32", "bfloat16"))
        assert torch.equal(wide.bfloat16(), half)
        assert len(set(wide.tolist())) > 0.9 * size


def test_rules_are_followed():
    values = draw(
        [
            tensor("n", "float64", (4000,)),
            tensor("u", "float16", (4000,)),
            tensor("p", "float32", (4000,)),
            tensor("i", "uint8", (4000,)),
            tensor("s", "int32", (40, 5)),
            tensor("a", "int64", (2, 3)),
            tensor("c", "bfloat16", (1,)),
            tensor("q", "int16", (9,)),
        ],
        {
            "n": {"distribution": "normal", "mean": 100.0, "std": 2.0},
            "u": {"distribution": "uniform", "low": 1.0, "high": 1.01},
            "p": {"distribution": "bernoulli", "p": 0.1},
            "i": {"distribution": "integers", "low": 3, "high": 5},
            "s": {"distribution": "sorted_integers", "low": 0, "high": "a.shape[1] * 2"},
            "a": {"distribution": "arange", "low": 10},
            "c": {"distribution": "constant", "value": 1.5},
            "q": {"distribution": "permutation"},
        },
    )
    assert abs(values["n"].mean() - 100) < 0.2
    assert abs(values["n"].std() - 2) < 0.2
    assert values["u"].min() >= 1.0
    assert values["u"].double().max() < 1.01
    assert set(values["p"].tolist()) == {0.0, 1.0}
    assert set(values["i"].tolist()) == {3, 4}
    flat = values["s"].flatten().tolist()
    assert flat == sorted(flat)
    assert set(flat) <= set(range(6))
    assert len(set(flat)) > 1
    assert values["a"].tolist() == [[10, 11, 12], [13, 14, 15]]
    assert values["c"].tolist() == [1.5]
    assert sorted(values["q"].tolist()) == list(range(9))


def test_bounds_name_shapes_and_attributes():
    entries = [tensor("var", "float32", (5, 9)), tensor("index", "int32", (300,))]
    rules = {"index": {"distribution": "sorted_integers", "high": "var.shape[axis]"}}
    for axis, size in ((0, 5), (1, 9), (-1, 9)):
        index = draw([*entries, AttributeInput(name="axis", dtype="int", value=axis)], rules)["index"]
        assert index.min() == 0
        assert index.max() == size - 1


def test_a_range_of_the_case_wins_and_is_inclusive():
    values = draw(
        [
            tensor("i", "int64", (500,), (3, 5)),
            tensor("s", "int32", (500,), (0, 2)),
            tensor("f", "float32", (500,), (-0.5, 0.5)),
            tensor("one", "float32", (3,), (2, 2)),
            tensor("big", "int64", (50,), (-(1 << 63), (1 << 63) - 1)),
            tensor("flag", "bool", (50,), (0, 1)),
        ],
        {
            "i": {"distribution": "integers", "high": 100},
            "s": {"distribution": "sorted_integers", "high": 100},
        },
    )
    assert set(values["i"].tolist()) == {3, 4, 5}
    assert values["s"].tolist() == sorted(values["s"].tolist())
    assert set(values["s"].tolist()) == {0, 1, 2}
    assert values["f"].abs().max() <= 0.5
    assert values["f"].abs().max() > 0.4
    assert values["one"].tolist() == [2, 2, 2]
    assert values["big"].abs().double().max() > 2.0**60
    assert set(values["flag"].tolist()) == {True, False}


def test_attributes_pass_as_they_are_and_absent_inputs_as_none():
    shape = [4, [5, 6]]
    values = draw(
        [
            AttributeInput(name="shape", dtype="list", value=shape),
            AbsentInput(name="bias"),
            AttributeInput(name="mode", dtype="str", value="mean"),
            AttributeInput(name="keep", dtype="bool", value=False),
        ]
    )
    assert values == {"shape": [4, [5, 6]], "bias": None, "mode": "mean", "keep": False}
    values["shape"][1].append(7)
    assert shape == [4, [5, 6]]


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        (tensor("x", "int8"), {"distribution": "integers", "high": 129}),
        (tensor("x", "uint8"), {"distribution": "integers", "low": -1, "high": 4}),
        (tensor("x", "int32"), {"distribution": "normal"}),
        (tensor("x", "int32"), {"distribution": "integers", "high": 2.5}),
        (tensor("x", "int32"), {"distribution": "integers", "high": "x.shape[0] - 16"}),
        (tensor("x", "int32"), {"distribution": "integers", "high": "y.shape[0]"}),
        (tensor("x", "uint8", (300,)), {"distribution": "arange"}),
        (tensor("x", "int8", (300,)), {"distribution": "permutation"}),
        (tensor("x", "int8"), {"distribution": "constant", "value": 300}),
    ],
)
def test_a_rule_that_does_not_fit_is_told(entry, rule):
    with pytest.raises(WorkspaceError, match="input x") as caught:
        draw([entry], {"x": rule})
    assert caught.value.mend


def test_a_range_that_does_not_fit_is_told():
    with pytest.raises(CaseFileError, match="does not fit int8"):
        draw([tensor("x", "int8", (4,), (0, 128))])


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["float16", "bfloat16", "float32", "float64"]),
    st.floats(-100, 100, width=16),
    st.floats(0.125, 50, width=16),
)
def test_uniform_never_reaches_its_exclusive_bound(dtype, low, width):
    rule = InputRule(distribution="uniform", low=low, high=low + width)
    value = make_inputs(Case(inputs=(tensor("x", dtype, (2000,)),)), {"x": rule}, seed=1, index=0)["x"]
    assert value.max().item() < low + width
    # Where the type has no value between the bounds, the one just below them serves.
    assert value.min().item() >= low - abs(low) * torch.finfo(getattr(torch, dtype)).eps
