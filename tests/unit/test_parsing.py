"""A tree that is made from the last one describes lines as a fresh one does, also where code breaks and mends."""

from hypothesis import given, settings
from hypothesis import strategies as st

from schema import parsing
from schema.diff import difference, split_lines
from schema.languages import language_of
from schema.syntax import described_lines

CPP = """\
#include "kernel_operator.h"
namespace {
class KernelAdd {
public:
    __aicore__ inline void Process(uint32_t n)
    {
        for (uint32_t i = 0; i < n; ++i) {
            Add(zLocal, xLocal, yLocal, i);
        }
        PipeBarrier<PIPE_V>();
    }
    int size = 0;
};
}  // namespace
"""
PYTHON = """\
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if x is None:
            return None
        return torch.add(
            x,
            x,
        )
"""
LINES = st.sampled_from(
    [
        "",
        "    }",
        "    {",
        "void g() {",
        "        x = y + 1;",
        "def f(x):",
        "    return x",
        "/*",
        "*/",
        '"""',
        "é = 'ß'",
    ]
)
EDITS = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 3), st.lists(LINES, max_size=3)), max_size=3)


@settings(deadline=None)
@given(st.sampled_from([("a.cpp", CPP), ("m.py", PYTHON)]), st.lists(EDITS, min_size=1, max_size=4))
def test_a_tree_made_from_the_last_one_is_the_same(
    program: tuple[str, str], history: list[list[tuple[int, int, list[str]]]]
) -> None:
    path, text = program
    language = language_of(path)
    assert language is not None
    parsing.forget()
    parsing.parse(language, split_lines(text), text)
    for edits in history:
        lines = split_lines(text)
        for start, count, fresh in edits:
            lines[start : start + count] = [f"{line}\n" for line in fresh]
        new = "".join(lines)
        gaps = [
            (gap.old, gap.new) for gap in difference({path: split_lines(text)}, {path: lines}).stretches[path]
        ]
        quick = parsing.parse(language, lines, new, (text, gaps))
        slow = parsing.parse(language, lines)
        assert quick is not None
        assert slow is not None
        assert (quick.source, quick.begins) == (slow.source, slow.begins)
        every = range(len(lines))
        assert described_lines(language, quick, every) == described_lines(language, slow, every)
        text = new
