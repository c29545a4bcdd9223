"""Launch forms, signatures and forbidden constructs, as the lexer sees them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_worker.toolchains.sources import (
    faults,
    includes,
    kernel_signatures,
    launch_header,
    reached_from,
    rewrite_launches,
    tokens,
)

PIECES = st.lists(
    st.sampled_from(
        [
            "k<<<1, nullptr, s>>>(x)",
            "a >>> b",
            "<<<",
            ">>>",
            "(",
            ")",
            "{",
            "}",
            ";",
            "\n",
            " ",
            "// c\n",
            "/* \n */",
            '"s<<<"',
            "'<'",
            "x",
            "::",
            "k<half>",
            ",",
            "#define A \\\n b\n",
            'R"(<<<)"',
            "1.0f",
            "\\\n",
            '"open',
            "'",
        ]
    ),
    max_size=25,
).map("".join)


@given(PIECES)
def test_tokens_join_to_the_source(source: str) -> None:
    assert "".join(token.text for token in tokens(source)) == source


@given(PIECES)
def test_rewriting_keeps_the_number_of_lines(source: str) -> None:
    assert rewrite_launches(source).count("\n") == source.count("\n")


@given(st.text(alphabet="abk<>(){}\"'/*\\\n #,;:", max_size=60))
def test_no_text_breaks_the_lexer(source: str) -> None:
    assert rewrite_launches(source).count("\n") == source.count("\n")
    faults("kernel/a.cpp", source)
    kernel_signatures(source)


@pytest.mark.parametrize(
    ("source", "name", "rest"),
    [
        ("add<<<8, nullptr, stream>>>(x, y);", "add", "8, nullptr, stream"),
        ("  add_any<half> <<<n, l2ctrl, stream>>>(x);", "add_any<half>", "n, l2ctrl, stream"),
        ("ns::k<float, 3><<<dim(1, 2), nullptr, s>>>(f(a, b));", "ns::k<float, 3>", "dim(1, 2), nullptr, s"),
        ("return ::k<Pair<int, (1 > 0)>><<<1, nullptr, s>>>();", "::k<Pair<int, (1 > 0)>>", "1, nullptr, s"),
        ("k<<<(n >> 3), nullptr, s>>>(x);", "k", "(n >> 3), nullptr, s"),
        ("k<<<1, s>>>(x);", "k", "1, s, nullptr"),
        ("gather_##kind<<<1, nullptr, s>>>(x)", "gather_##kind", "1, nullptr, s"),
        ("ns::a ## b ## c<half><<<1, nullptr, s>>>(x)", "ns::a ## b ## c<half>", "1, nullptr, s"),
    ],
)
def test_launch_forms(source: str, name: str, rest: str) -> None:
    text = rewrite_launches(source)
    assert "<<<" not in text
    assert (
        f'::opmend_sim::launch({rest}, "{name}", [&](auto... opmend_arguments) {{ {name}(opmend_arguments...); }}'
        in text
    )


def test_line_of_every_following_token_stays() -> None:
    source = "void f() {\n  k<half>\n    <<<n,\n       nullptr, s>>>\n    (x,\n     y);\n  int marker;\n}\n"
    assert [i for i, line in enumerate(rewrite_launches(source).split("\n")) if "marker" in line] == [6]


@pytest.mark.parametrize(
    "source",
    [
        "// k<<<1, nullptr, s>>>(x)\n",
        "/* k<<<1, nullptr, s>>>(x) */",
        'auto s = "k<<<1, nullptr, s>>>(x)";',
        'R"(k<<<1,nullptr,s>>>(x))"',
    ],
)
def test_comments_and_strings_are_left_alone(source: str) -> None:
    assert rewrite_launches(source) == source


def test_a_launch_in_a_macro_and_two_in_a_line() -> None:
    source = "#define GO(k) \\\n  k<<<1, nullptr, s>>>(x)\na<<<1,nullptr,s>>>(x); b<<<2,nullptr,s>>>(y);\n"
    assert rewrite_launches(source).count("::opmend_sim::launch(") == 3


def test_signatures_and_launch_header() -> None:
    source = (
        'extern "C" __global__ __aicore__ void add_t(GM_ADDR x, __gm__ uint8_t* y, uint32_t n, const Tiling t) {}\n'
        "template <class T> __global__ __aicore__ void skipped(GM_ADDR x) {}\n"
        "// __global__ void commented(GM_ADDR x)\n"
    )
    (kernel,) = kernel_signatures(source)
    assert (kernel.name, kernel.c_linkage) == ("add_t", True)
    assert [name for _, name in kernel.parameters] == ["x", "y", "n", "t"]
    header = launch_header(kernel)
    assert (
        "aclrtlaunch_add_t(uint32_t blockDim, const void* stream, void* x, void* y, uint32_t n, const Tiling t)"
        in header
    )


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ('#include "/etc/passwd"', "include-outside-workspace"),
        ("#  include </etc/passwd>", "include-outside-workspace"),
        ('#/**/include "../../secret.h"', "include-outside-workspace"),
        ('#incl\\\nude "/etc/passwd"', "include-outside-workspace"),
        ('%:include "/etc/passwd"', "include-outside-workspace"),
        ("#define F </etc/passwd>\n#include F", "include-computed"),
        ('void f() { __asm__(".incbin \\"/etc/passwd\\""); }', "inline-assembly"),
        ('#include "sub/../../../x.h"', "include-outside-workspace"),
    ],
)
def test_constructs_that_leak_host_files(source: str, rule: str) -> None:
    assert [fault.rule for fault in faults("kernel/a.cpp", source)] == [rule]


@pytest.mark.parametrize(
    "source",
    [
        '#include "../common.h"',
        "#include <cstdint>",
        '// #include "/etc/passwd"',
        'auto s = "asm";',
        '#include "kernel_operator.h"',
    ],
)
def test_plain_includes_are_fine(source: str) -> None:
    assert faults("kernel/a.cpp", source) == ()


def test_includes_are_followed_through_the_workspace() -> None:
    files = {
        "kernel/a.cpp": '#include "b.h"\n',
        "kernel/b.h": "#include <kernel_operator.h>\n",
        "kernel/c.h": "#include <vector>\n",
    }
    assert includes(files["kernel/a.cpp"]) == ("b.h",)
    reached = reached_from("kernel/a.cpp", files)
    assert reached.files == {"kernel/a.cpp", "kernel/b.h"}
    assert reached.operands == {"b.h", "kernel_operator.h"}


@pytest.mark.parametrize(
    "text",
    ['\ufeff#include "a.h"', '\0#include "a.h"', '#\0include\0"a.h"', '\x0c#\x0binclude "a.h"', '#\\ \ninclude "a.h"',
     '#inc\\ \t\nlude "a.h"', '#inc\\\r\nlude "a.h"', '%:include "a.h"'],
    ids=ascii,
)  # fmt: skip
def test_an_include_is_seen_where_the_compiler_sees_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("int from_there;\n")
    (tmp_path / "a.cpp").write_bytes(f"{text}\nint x = from_there;\n".encode())
    done = subprocess.run(["g++", "-fsyntax-only", "a.cpp"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert includes(text + "\n") == ("a.h",)
    assert "".join(token.text for token in tokens(text)) == text
