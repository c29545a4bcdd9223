"""Enclosing scope and node kind of each line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schema.diff import split_lines
from schema.languages import NOTHING, LineSyntax, language_of
from schema.syntax import syntax_of_lines

KERNEL = """\
#include "kernel_operator.h"
class KernelAdd {
public:
    __aicore__ inline void Process(uint32_t n)
    {
        for (uint32_t i = 0; i < n; ++i) {
            DataCopy(a,
                     b, n);
        }
    }
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x) {
    KernelAdd op;
}
template <typename T> T twice(T a) { return a + a; }
int Other::size() { return 1; }
"""

MODEL = """\
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        if x is None:
            return 0
        return (x,
                1)

limit = 3
"""


def scopes(path: str, text: str) -> list[str]:
    return [line.scope for line in syntax_of_lines(path, text)]


def kinds(path: str, text: str) -> list[str]:
    return [line.node_kind for line in syntax_of_lines(path, text)]


def test_scopes_of_a_kernel() -> None:
    assert scopes("kernel/add.cpp", KERNEL) == [
        "",
        *["KernelAdd"] * 2,
        *["KernelAdd::Process"] * 7,
        "KernelAdd",
        "",
        *["add_custom"] * 3,
        "twice",
        "Other::size",
    ]


def test_kinds_of_a_kernel() -> None:
    found = kinds("add.h", KERNEL)
    assert found[0] == "preproc_include"
    assert found[1] == "class_specifier"
    assert found[3] == "function_definition"
    assert found[5] == "for_statement"
    assert found[6] == "expression_statement"
    assert found[11] == ""
    assert found[13] == "declaration"


def test_scopes_and_kinds_of_a_model() -> None:
    assert scopes("model.py", MODEL) == ["", "", "Model", *["Model.forward"] * 5, "", ""]
    found = kinds("model.py", MODEL)
    assert found[0] == "import_statement"
    assert found[3:7] == ["function_definition", "if_statement", "return_statement", "return_statement"]
    assert found[9] == "expression_statement"


@given(st.sets(st.integers(0, 40)))
def test_wanted_lines_are_described_as_in_the_whole(wanted: set[int]) -> None:
    for path, text in (("add.cpp", KERNEL), ("model.py", MODEL)):
        whole = syntax_of_lines(path, text)
        part = syntax_of_lines(path, text, wanted)
        assert all(part[index] == whole[index] for index in wanted if index < len(whole))


@pytest.mark.parametrize(
    ("whole", "broken"), [("b, n);", "b, n;"), ("b, n);", "b, n)"), ("KernelAdd op;", "KernelAdd op = ;")]
)
def test_a_slip_in_one_statement_changes_no_scope(whole: str, broken: str) -> None:
    text = KERNEL.replace(whole, broken)
    assert text != KERNEL
    assert scopes("a.cpp", text) == scopes("a.cpp", KERNEL)


def test_a_lost_brace_leaves_the_functions_known() -> None:
    found = scopes("a.cpp", KERNEL.replace("        }\n    }\n};", "        }\n};"))
    assert found[3].endswith("Process")
    assert found[6].endswith("Process")
    assert found[12] == "add_custom"
    assert scopes("a.py", "def f(x):\n    return x\ndef g(:\n    y =\n")[:2] == ["f", "f"]


def test_other_files_have_none() -> None:
    assert language_of("CMakeLists.txt") is None
    assert syntax_of_lines("notes.txt", "a\nb") == [NOTHING, NOTHING]
    assert syntax_of_lines("empty.py", "") == []


@settings(deadline=None)
@given(
    st.sampled_from(["a.py", "a.cpp"]),
    st.text(alphabet=st.sampled_from("{}()[];:\n\r\f\u2028 \tabif=\"'#/*\\\ud800"), max_size=120),
)
def test_any_text_gives_one_answer_a_line(path: str, text: str) -> None:
    lines = syntax_of_lines(path, text)
    assert len(lines) == len(split_lines(text))
    assert all(isinstance(line, LineSyntax) for line in lines)


def test_deep_nesting_does_not_recurse() -> None:
    assert len(syntax_of_lines("a.cpp", "void f() " + "{\n" * 5_000)) == 5_000


@pytest.mark.parametrize("odd", ["\0", "\udcff", "\x0c", "\ufeff", "\r"])
def test_odd_bytes_in_comments_and_literals_change_nothing_around_them(odd: str) -> None:
    text = KERNEL.replace("{\n", f"{{ // a{odd}b\n")
    assert scopes("a.cpp", text) == scopes("a.cpp", KERNEL)
    assert scopes("a.py", f"def f(x):\n    y = 'a{odd}b'\n    return y\n")[1:] == ["f", "f"]


def test_what_is_no_name_never_becomes_one() -> None:
    # A grammar takes a megabyte without a space for one name; no line around it carries that.
    text = "void " + "x" * 1_000_000 + "()\n{\n    a();\n}\n"
    assert {len(scope) for scope in scopes("a.cpp", text)} == {200}
    deep = "".join(f"namespace space_number_{number} {{\n" for number in range(200)) + "int a;\n"
    assert max(len(scope) for scope in scopes("a.cpp", deep)) < 1_100


@pytest.mark.parametrize("line", ["a," * 1_500_000, "f(" * 1_500_000, "[" * 3_000_000])
def test_a_line_of_megabytes_leaves_the_lines_around_it_their_scope(line: str) -> None:
    text = f"void f()\n{{\n    a();\n}}\n// {line}\nvoid g()\n{{\n    b();\n}}\n"
    assert [scopes("a.cpp", text)[index] for index in (2, 7)] == ["f", "g"]
    assert len(syntax_of_lines("a.cpp", line)) == 1


def test_many_megabytes_have_no_syntax() -> None:
    assert set(syntax_of_lines("a.cpp", "int a;\n" * 700_000)) == {NOTHING}
