"""Counts and offsets: spellings of the same thing read as the same thing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.expressions import Expression, expression
from kb.reader import Reader
from kb.source import Program, walk

NAMES = st.sampled_from(["n", "length_", "tiling.cols", "this->width", "rowsLeft"])
STEPS = st.sampled_from([8, 16, 32, 64, 256])

ROUNDED_UP = st.sampled_from(
    [
        "({n} + {less}) / {step} * {step}",
        "(({n} + {step} - 1) / {step}) * {step}",
        "{step} * (({n} + {less}) / {step})",
        "static_cast<uint32_t>(({less} + {n}) / {step} * {step})",
        "(uint32_t)((({n} + {less}) >> {shift}) << {shift})",
        "({n} + {less}) & ~{less}",
        "({n} + {step} - 1) & ~({step} - 1)",
        "AlignUp({n}, {step})",
        "RoundUp({n}, {step})",
        "CeilDiv({n}, {step}) * {step}",
        "({n} * sizeof(float) + 31) / 32 * 32 / sizeof(float)",
    ]
)
NOT_ROUNDED_UP = st.sampled_from(
    ["{n}", "{n} / {step} * {step}", "({n} + {step}) / {step} * {step}", "({n} + {less}) / {step}", "{n} * {step}",
     "({n} + {less}) / {step} * {less}", "Min({n}, {step})"]
)  # fmt: skip


def read(text: str, around: str = "") -> tuple[Reader, Expression]:
    code = f"{around}\nvoid f() {{ auto wanted = {text}; }}\n"
    program = Program({"kernel/a.h": code})
    source = program.sources["kernel/a.h"]
    node = next(n for n in walk(source.root) if n.type == "init_declarator" and "wanted" in source.text(n))
    value = node.child_by_field_name("value")
    assert value is not None
    return Reader(program), expression(source, value, source.function_at(value))


def plain(name: str) -> str:
    return name.removeprefix("this->")


@given(NAMES, STEPS, ROUNDED_UP)
def test_every_spelling_of_rounding_up_yields_the_true_length(name: str, step: int, form: str) -> None:
    text = form.format(n=name, step=step, less=step - 1, shift=step.bit_length() - 1)
    reader, found = read(text)
    base = reader.unaligned(found)
    assert base is not None, text
    assert plain(base.key) == plain(name)


@given(NAMES, STEPS, NOT_ROUNDED_UP)
def test_what_does_not_round_up_is_left_alone(name: str, step: int, form: str) -> None:
    reader, found = read(form.format(n=name, step=step, less=step - 1))
    assert reader.unaligned(found) is None


@given(st.integers(0, 500), st.integers(1, 64), st.sampled_from(["+", "-", "*", "/", "%"]))
def test_constants_fold_as_in_the_language(left: int, right: int, operator: str) -> None:
    reader, found = read(f"({left}) {operator} ({right})")
    expected = {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "/": left // right,
        "%": left % right,
    }
    assert reader.number(found) == expected[operator]


def test_constants_are_looked_up_through_names_and_sizes() -> None:
    reader, found = read("STEP * 2 * sizeof(half)", "constexpr int STEP = 3 * 16;")
    assert reader.number(found) == 192


def test_a_name_with_two_values_has_none() -> None:
    reader, found = read("n", "int n = 1; void g() { n = 2; }")
    assert reader.number(found) is None


def test_rounding_up_is_seen_through_helpers_names_and_members() -> None:
    code = """
    inline int up(int v) { return (v + 7) / 8 * 8; }
    class Row {
        void Init(int length) { n = length; padded = up(length); }
        void Use() { auto wanted = padded; }
        int n; int padded;
    };
    """
    program = Program({"kernel/row.h": code})
    source = program.sources["kernel/row.h"]
    use = next(f for f in program.functions if f.name == "Use")
    node = next(n for n in walk(use.body) if n.type == "init_declarator")
    value = node.child_by_field_name("value")
    assert value is not None
    reader = Reader(program)
    base = reader.unaligned(expression(source, value, use))
    assert base is not None
    assert base.key == "length"
    # `length` is a parameter of another function; the member that keeps it serves in its place.
    assert reader.accessible(base, use) == "n"


@pytest.mark.parametrize("shift", ["<< 99999999999999", ">> 99999999999999", "<< (1 << 62)", ">> (1 << 62)"])
def test_a_shift_beyond_a_word_is_no_number(shift: str) -> None:
    """Python would build the number, and the memory of the machine would go with it."""
    reader, found = read(f"1 {shift}")
    assert reader.number(found) is None
    assert reader.unaligned(found) is None
