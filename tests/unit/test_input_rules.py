"""Rules of input values: what parses, what is refused, what bounds mean."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.errors import WorkspaceError
from schema.input_rules import Distribution, InputRule, evaluate_bound, parse_bound, parse_input_rules

WHERE = "operator.toml"


def bound(text, shapes=None, attributes=None):
    return evaluate_bound(text, shapes=shapes or {}, attributes=attributes or {}, where=WHERE)


def test_no_table_means_no_rules():
    assert parse_input_rules(None, where=WHERE) == {}
    assert parse_input_rules({}, where=WHERE) == {}


def test_each_distribution_parses():
    rules = parse_input_rules(
        {
            "a": {"distribution": "normal", "mean": 1, "std": 0.5},
            "b": {"distribution": "uniform", "low": -1.0, "high": 1.0},
            "c": {"distribution": "bernoulli", "p": 0.25},
            "d": {"distribution": "integers", "low": 0, "high": "var.shape[axis]"},
            "e": {"distribution": "sorted_integers", "high": 7},
            "f": {"distribution": "arange"},
            "g": {"distribution": "constant", "value": 1.5},
            "h": {"distribution": "permutation"},
        },
        where=WHERE,
    )
    assert rules["a"] == InputRule(distribution=Distribution.NORMAL, mean=1.0, std=0.5)
    assert rules["d"].high == "var.shape[axis]"
    assert rules["g"].value == 1.5
    assert {rule.distribution for rule in rules.values()} == set(Distribution)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([1], "no table"),
        ({"x": 3}, "must be a table"),
        ({"x": {}}, "no distribution"),
        ({"x": {"distribution": "gauss"}}, "'gauss'"),
        ({"x": {"distribution": ["normal"]}}, "distribution is"),
        ({"x": {"distribution": "normal", "low": 0}}, "takes no low"),
        ({"x": {"distribution": "uniform", "low": 0}}, "needs high"),
        ({"x": {"distribution": "uniform", "low": 1, "high": 1}}, "nothing lies"),
        ({"x": {"distribution": "normal", "std": -1}}, "std is -1"),
        ({"x": {"distribution": "normal", "std": True}}, "std is True"),
        ({"x": {"distribution": "normal", "mean": float("nan")}}, "finite"),
        ({"x": {"distribution": "bernoulli", "p": 1.5}}, "p is 1.5"),
        ({"x": {"distribution": "constant"}}, "needs value"),
        ({"x": {"distribution": "integers", "high": "__import__('os')"}}, "uses"),
    ],
)
def test_a_broken_rule_is_refused_with_its_place(table, words):
    with pytest.raises(WorkspaceError) as caught:
        parse_input_rules(table, where=WHERE)
    assert words in str(caught.value)
    assert WHERE in str(caught.value)
    assert caught.value.mend


def test_expressions_over_shapes_and_attributes():
    shapes = {"var": (5, 7), "x": (3,)}
    assert bound("var.shape[axis]", shapes, {"axis": 1}) == 7
    assert bound("var.shape[axis]", shapes, {"axis": -2}) == 5
    assert bound("var.shape[0] * x.shape[-1] - 1", shapes) == 14
    assert bound("-(var.shape[1] + 1) // 3", shapes) == -3
    assert bound(2.5) == 2.5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "1.5",
        "True",
        "2 ** 8",
        "1 / 2",
        "x",
        "x.shape",
        "x.size[0]",
        "x.shape[0:1]",
        "x.shape[9]",
        "y.shape[0]",
        "x.shape[0].bit_length()",
        "len(x)",
        "(lambda: 1)()",
        "[1][0]",
        "1 if 1 else 2",
        "flag",
        "1 // (x.shape[0] - 3)",
        "999999999999999999 * 999999999999999999",
        "(" * 120 + "1" + ")" * 120,
        "1+" * 150 + "1",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(WorkspaceError):
        bound(text, {"x": (3,)}, {"flag": True, "x": "text"})


@given(st.text(max_size=60))
def test_no_text_escapes_as_another_error(text):
    try:
        value = bound(text, {"x": (3, 4)}, {"axis": 1})
    except WorkspaceError:
        return
    assert isinstance(value, int)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.sampled_from(["+", "-", "*", "//"]))
def test_arithmetic_is_pythons(left, right, operator):
    if operator == "//" and right == 0:
        return
    expected = {"+": left + right, "-": left - right, "*": left * right}.get(operator)
    expected = left // right if expected is None else expected
    assert bound(f"({left}) {operator} ({right})") == expected


def test_parse_accepts_what_evaluate_needs():
    assert parse_bound("var.shape[axis] - 1", where=WHERE) is not None


def test_importing_the_rules_imports_no_torch():
    code = "import schema.input_rules, npu_worker.inputs, npu_worker.compare, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
