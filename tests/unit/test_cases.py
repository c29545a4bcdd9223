import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.cases import (
    DTYPE_BYTES,
    AbsentInput,
    AttributeInput,
    Case,
    TensorInput,
    align_inputs,
    broadcast_shape,
    format_cases_toml,
    format_json_lines,
    parse_cases_toml,
    parse_json_lines,
)
from schema.errors import CaseFileError

EXAMPLE = """
source = "NPUKernelBench level 1"
inputs = [
  {name = "x", kind = "tensor"},
  {name = "y", kind = "tensor"},
  {name = "alpha", kind = "attr", dtype = "float"},
]
cases = [
  ["float32[128]", "float32[128]", 1.0],
  ["int64[16] in 0..8191", "-", 2],   # a comment with ] in it
  ["bfloat16[]", "bool[0, 3]", "-"],
]
"""

names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
values = st.one_of(
    scalars, st.lists(st.one_of(scalars, st.lists(st.integers(-9, 9), max_size=3)), max_size=4)
)


@st.composite
def tensors(draw, name):
    dtype = draw(st.sampled_from(sorted(DTYPE_BYTES)))
    shape = tuple(draw(st.lists(st.integers(0, 70), max_size=4)))
    limits = None
    if draw(st.booleans()):
        limits = tuple(sorted(draw(st.tuples(st.integers(-99, 99), st.integers(-99, 99)))))
        if "float" in dtype and draw(st.booleans()):
            limits = tuple(float(end) / 3 for end in limits)
    return TensorInput(name=name, dtype=dtype, shape=shape, range=limits)


@st.composite
def attributes(draw, name):
    value = draw(values)
    kind = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}[type(value)]
    return AttributeInput(name=name, dtype=kind, value=value)


@st.composite
def case_sets(draw):
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    kinds = [draw(st.sampled_from([tensors, attributes])) for _ in columns]
    rows = []
    for _ in range(draw(st.integers(1, 5))):
        rows.append(
            Case(
                inputs=tuple(
                    AbsentInput(name=name) if draw(st.integers(0, 5)) == 0 else draw(kind(name))
                    for name, kind in zip(columns, kinds, strict=True)
                )
            )
        )
    return tuple(rows)


def test_the_compact_form_reads_tensors_ranges_attributes_and_gaps():
    cases = parse_cases_toml(EXAMPLE, "cases.toml")
    assert cases[0].inputs == (
        TensorInput(name="x", dtype="float32", shape=(128,)),
        TensorInput(name="y", dtype="float32", shape=(128,)),
        AttributeInput(name="alpha", dtype="float", value=1.0),
    )
    assert cases[1].inputs[0] == TensorInput(name="x", dtype="int64", shape=(16,), range=(0, 8191))
    assert cases[1].inputs[1] == AbsentInput(name="y")
    assert cases[1].inputs[2].value == 2.0
    assert isinstance(cases[1].inputs[2].value, float)
    assert cases[2].tensors[0].shape == ()
    assert cases[2].tensors[1].shape == (0, 3)
    assert cases[2].inputs[2] == AbsentInput(name="alpha")


def test_a_case_has_a_short_name_and_counts_its_elements():
    cases = parse_cases_toml(EXAMPLE, "cases.toml")
    assert cases[0].name == "2×float32[128] alpha=1.0"
    assert cases[0].elements == 3 * 128
    assert cases[1].name == "int64[16] alpha=2.0"
    many = Case(inputs=tuple(AttributeInput(name=f"a{i}", dtype="str", value="x" * 9) for i in range(99)))
    assert len(many.name) <= 160


@given(case_sets())
def test_the_compact_form_is_read_back_as_it_was_written(cases):
    text = format_cases_toml(cases, source='a "source" \\ with\ttabs')
    assert parse_cases_toml(text, "cases.toml") == cases


@given(case_sets())
def test_json_lines_are_read_back_as_they_were_written(cases):
    assert parse_json_lines(format_json_lines(cases), "op.json") == cases


@given(case_sets())
def test_a_case_survives_its_way_through_json(cases):
    for case in cases:
        assert Case.model_validate_json(case.model_dump_json()) == case


def test_upstream_lines_with_missing_and_shapeless_inputs_get_every_input_in_place():
    lines = [
        {"inputs": [_tensor("x", [2]), _tensor("weight", [2]), _tensor("bias", [2])]},
        {"inputs": [_tensor("x", [3]), _tensor("bias", [3])]},
        {
            "inputs": [
                _tensor("x", [4]),
                {**_tensor("weight", None), "required": False},
                {"name": "bias", "type": "none"},
            ]
        },
    ]
    cases = parse_json_lines("\n".join(json.dumps(line) for line in lines) + "\n\n", "op.json")
    assert [[entry.name for entry in case.inputs] for case in cases] == [["x", "weight", "bias"]] * 3
    assert cases[1].inputs[1] == AbsentInput(name="weight")
    assert cases[2].inputs[1:] == (AbsentInput(name="weight"), AbsentInput(name="bias"))


def test_a_name_that_comes_up_late_takes_its_place_in_the_order():
    cases = align_inputs(
        [
            Case(
                inputs=(AbsentInput(name="input"), AbsentInput(name="target"), AbsentInput(name="reduction"))
            ),
            Case(
                inputs=tuple(AbsentInput(name=name) for name in ("input", "target", "weight", "reduction")),
            ),
        ]
    )
    assert [entry.name for entry in cases[0].inputs] == ["input", "target", "weight", "reduction"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"inputs": [', "broken JSON"),
        ("[]", '"inputs"'),
        ('{"inputs": [{"type": "tensor"}]}', "name"),
        ('{"inputs": [{"name": "x", "type": "tensor", "dtype": "float32"}]}', "shape"),
        ('{"inputs": [{"name": "x", "type": "tensor", "dtype": "complex64", "shape": [1]}]}', "complex64"),
        ('{"inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": [-1]}]}', "shape"),
        ('{"inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": [true]}]}', "shape"),
        (
            '{"inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": [99999999, 99999999]}]}',
            "large",
        ),
        (
            '{"inputs": [{"name": "x", "type": "tensor", "dtype": "int32", "shape": [1], "range": [2, 1]}]}',
            "empty",
        ),
        (
            '{"inputs": [{"name": "x", "type": "tensor", "dtype": "int32", "shape": [1], "range": [0.5, 1]}]}',
            "whole",
        ),
        ('{"inputs": [{"name": "x", "type": "attr", "dtype": "int"}]}', "value"),
        ('{"inputs": [{"name": "x", "type": "attr", "dtype": "int", "value": "a"}]}', "int"),
        ('{"inputs": [{"name": "x", "type": "attr", "dtype": "int", "value": {}}]}', "dict"),
        ('{"inputs": [{"name": "x", "type": "list"}]}', "list"),
        ('{"inputs": [{"name": "x", "type": "none"}, {"name": "x", "type": "none"}]}', "share"),
    ],
)
def test_a_broken_line_is_named_with_file_and_line(line, said):
    good = json.dumps({"inputs": [_tensor("x", [2])]})
    with pytest.raises(CaseFileError) as caught:
        parse_json_lines(f"{good}\n\n{line}\n", "op.json")
    assert str(caught.value).startswith("op.json:3: ")
    assert said in str(caught.value)
    assert caught.value.mend


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"bool[0, 3]", "-"]', '"bool[0, 3]"]', 11, "2 cells for 3"),
        ('float32[128]", 1.0', 'float33[128]", 1.0', 9, "float33"),
        ("0..8191", "9..1", 10, "empty"),
        ('"int64[16] in 0..8191"', "16", 10, "no tensor"),
        ('"-", 2]', '"-", "two"]', 10, "float"),
        ('"-", 2]', '"-", 2', 13, "broken TOML"),
        ('kind = "attr"', 'kind = "attribute"', 3, "attribute"),
        ('source = "N', 'sauce = "N', 2, "sauce"),
        ('name = "y"', 'name = "x"', 3, "share"),
    ],
)
def test_a_broken_case_table_is_named_with_file_and_line(old, new, line, said):
    assert old in EXAMPLE
    with pytest.raises(CaseFileError) as caught:
        parse_cases_toml(EXAMPLE.replace(old, new, 1), "dir/cases.toml")
    assert str(caught.value).startswith(f"dir/cases.toml:{line}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "cases = []", "inputs = []\ncases = []", "\0", "inputs = 1\ncases = [[1]]"]
)
def test_a_case_table_without_cases_is_refused(text):
    with pytest.raises(CaseFileError):
        parse_cases_toml(text, "cases.toml")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    for parse in (parse_cases_toml, parse_json_lines):
        with suppress(CaseFileError):
            assert parse(text, "f")


def test_broadcast_shapes_follow_the_rule_of_numpy():
    assert broadcast_shape([(4, 1), (3,)]) == (4, 3)
    assert broadcast_shape([(4, 2), (3,)]) is None
    assert broadcast_shape([(0, 1), (1, 5)]) == (0, 5)
    assert broadcast_shape([()]) == ()
    assert broadcast_shape([]) is None


def _tensor(name, shape):
    return {"name": name, "type": "tensor", "required": True, "dtype": "float32", "shape": shape}
