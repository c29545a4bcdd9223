"""Rewrites on code that is shaped unlike their examples: what they mend, and what they must leave alone."""
# ruff: noqa: E501 (kernels in one line)

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.context import RewriteContext
from kb.entry import load_entries
from kb.rewrite import MOST_PROPOSALS, Edit, apply, propose, rewrites, trials
from kb.source import Source
from schema.results import CaseResult, CaseStatus, Deviation

TESTS = Path(__file__).parent.parent
ANY = RewriteContext()


def rewritten(name: str, code: str, context: RewriteContext = ANY) -> str | None:
    found = trials({"kernel/k.h": code}, rewrites()[name], context)
    return found[0][1]["kernel/k.h"] if found else None


MENDS = [
    # (rewrite, code, what the new code holds, what it no longer holds)
    (
        "datacopy-to-pad",
        "void f(GlobalTensor<half> &g, TQue<TPosition::VECIN, 1> &q, int n) {"
        " auto t = q.AllocTensor<half>(); DataCopy(t, g, n + 1); }",
        ["DataCopyPad(t, g,", "(n + 1) * sizeof(half)"],
        ["DataCopy(t"],
    ),
    (
        "datacopy-to-pad",
        "template <typename T> void f(GlobalTensor<T> &g, LocalTensor<T> &t, int n) {"
        " int m = (n + 15) / 16 * 16; DataCopy(g[n], t, m); }",
        ["static_cast<uint32_t>(n * sizeof(T))"],
        ["t, m)"],
    ),
    (
        "current-tile-count",
        "void f(GlobalTensor<float> &g, LocalTensor<float> &t, int total) {"
        " for (int at = 0; at < total; at = at + LEN) { Exp(t, t, LEN); for (int j = 0; j < LEN; ++j) { t.SetValue(j, 0.0f); } } }",
        ["total - at < LEN ? total - at : LEN", "Exp(t, t, currentCount)", "j < currentCount"],
        ["t, LEN)"],
    ),
    (
        "current-tile-count",
        "void g(LocalTensor<float> &t, int i, int n, int step);"
        "void f(LocalTensor<float> &t, int total) { int loops = total / 32; int i = 0;"
        " while (i < loops) { Relu(t[i * 32], t[i * 32], 32); i++; } }",
        ["((total + 32 - 1) / 32)", "currentCount)"],
        [],
    ),
    (
        "current-tile-count",
        "struct K { int n; int T(int t) { return LEN; } void C(int t, int c) { Exp(x, x, c); }"
        " void P() { for (int t = 0; t < CeilDiv(n, LEN); ++t) { C(t, T(t)); } } };",
        ["return currentCount;", "n - t * LEN < LEN", "Exp(x, x, c)"],
        [],
    ),
    (
        "current-tile-count",
        "struct K { int n; int64_t perRow; void I() { perRow = (n + 63) / 64; }"
        " void P(int rows) { for (int k = GetBlockIdx(); k < rows * perRow; k += GetBlockNum()) {"
        " int at = k % perRow * 64; int c = 64; Exp(t, t, c); } } };",
        ["int c = static_cast<uint32_t>(n - at < 64 ? n - at : 64);"],
        [],
    ),
    (
        "current-tile-count",
        "constexpr int L = 64; struct K { int n; int tiles; void I() { tiles = n / L; }"
        " int C(int t) { int rest = n - t * L; return rest < L ? rest : L; } };",
        ["tiles = (n + L - 1) / L;"],
        [],
    ),
    (
        "index-in-elements",
        "template <typename T> void g(GlobalTensor<T> &a, int at) { T v = a.GetValue(at); DataCopy(x, a[at], 8); }"
        "void f(GlobalTensor<half> &a, int r) { g(a, r * sizeof(half)); }",
        ["g(a, r);"],
        [],
    ),
    (
        "accumulate-over-tiles",
        "float f(LocalTensor<float> &p, int n) { float s = 0.0f; for (int i = 0; i < n; ++i) { Sum(p, q, i); s = p.GetValue(0); } return s; }",
        ["s += p.GetValue(0)"],
        [],
    ),
    (
        "initialise-accumulator",
        "struct K { TPipe pipe; TBuf<TPosition::VECCALC> b; void I() { pipe.InitBuffer(b, 4 * W * sizeof(float)); }"
        " void M(LocalTensor<float> &s, int i) { LocalTensor<float> r = s[i * W]; Axpy(r, t, 2.0f, W); }"
        " void P(int n) { LocalTensor<float> acc = b.Get<float>(); for (int i = 0; i < n; ++i) { M(acc, i); } DataCopy(g, acc, W); } };",
        ["Duplicate(acc, 0.0f, 4 * W); for"],
        [],
    ),
    (
        "free-tensor",
        "struct K { TQue<TPosition::VECIN, 1> q;"
        " LocalTensor<float> L(TQue<TPosition::VECIN, 1> &s) { auto t = s.AllocTensor<float>(); s.EnQue(t); return s.DeQue<float>(); }"
        " void P(int n) { for (int i = 0; i < n; ++i) { LocalTensor<float> v = L(q);\nAdd(o, o, v, 8); } } };",
        ["q.FreeTensor(v);"],
        [],
    ),
    (
        "share-the-remainder",
        "void f(int n) { int e = (n + GetBlockNum() - 1) / GetBlockNum(); int s = e * GetBlockIdx(); if (s > n) { s = n; } Use(s, e); }",
        ["coreShare"],
        [],
    ),
    (
        "index-in-elements",
        "struct K { GlobalTensor<int32_t> g; int64_t base;"
        " void I(int64_t r) { base = sizeof(int32_t) * r; } int V(int i) { return g[base].GetValue(i); } };",
        ["base = r;"],
        ["sizeof"],
    ),
    (
        "length-in-bytes",
        "void f(GlobalTensor<half> &g, LocalTensor<half> &t, uint32_t n) {"
        " DataCopyPad(g, t, DataCopyExtParams{2, n * 2 + n, 0, 0, 0}); }",
        ["(n * 2 + n) * sizeof(half)"],
        [],
    ),
    (
        "reduce-true-count",
        "struct K { uint32_t w; uint32_t wp;"
        " void I(uint32_t x) { this->w = x; this->wp = CeilDiv(x, 8) * 8; }"
        " float S(LocalTensor<float> &t) { float s = 0; for (uint32_t i = 0; i < wp; i++) { s = s + t.GetValue(i); } return s; } };",
        ["i < w;"],
        ["i < wp"],
    ),
    (
        "mean-true-divisor",
        "float f(float s, int total) { float n = total / GetBlockNum(); return s / n; }",
        ["s / static_cast<float>(total)"],
        [],
    ),
    (
        "mean-true-divisor",
        "void f(LocalTensor<float> &t, int n) { const int m = AlignUp(n, 64); Muls(t, t, 1.0f / m, n); }",
        ["1.0f / static_cast<float>(n)"],
        [],
    ),
    (
        "weighted-mean-divisor",
        "float f(LocalTensor<float> &a, LocalTensor<float> &b, int n) { float up = 0.0f; float down = 0.0f;"
        " for (int i = 0; i < n; ++i) { float p = a.GetValue(i); float q = b.GetValue(i); up += p * q; down += 1.0f; }"
        " return up / down; }",
        ["down += p;"],
        [],
    ),
    (
        "reduce-identity",
        "float f(LocalTensor<float> &t, int n) { float m = 0;"
        " for (int i = 0; i < n; ++i) { m = std::max(m, t.GetValue(i)); } return m; }",
        ["m = -__builtin_inff()"],
        [],
    ),
    (
        "reduce-identity",
        "void f(LocalTensor<half> &low, LocalTensor<half> &t, int n) {"
        " Duplicate(low, static_cast<half>(0), n); for (int i = 0; i < 9; ++i) { Min(low, low, t[i * n], n); } }",
        ["Duplicate(low, static_cast<half>(__builtin_inff()), n)"],
        [],
    ),
    (
        "hoist-initialisation",
        "void Add3(LocalTensor<float> &s, LocalTensor<float> &t) { Axpy(s, t, 2.0f, 8); }"
        "void f(LocalTensor<float> &s, LocalTensor<float> &t, GlobalTensor<float> &g) {"
        " int k = 0; while (k < 4) { Duplicate(s, 0.0f, 8); Add3(s, t); k++; } DataCopy(g, s, 8); }",
        ["Duplicate(s, 0.0f, 8); while"],
        ["{ Duplicate"],
    ),
    (
        "initialise-accumulator",
        "float f(LocalTensor<float> &t, int n) { float a, b = 1.0f;"
        " for (int i = 0; i < n; ++i) { a = a + t.GetValue(i) * b; } return a; }",
        ["float a = 0.0f, b"],
        [],
    ),
    (
        "sum-in-float",
        "void f(LocalTensor<bfloat16_t> &t, LocalTensor<bfloat16_t> &o, int n) { bfloat16_t s = 0;"
        " for (int i = 0; i < n; ++i) { s += t.GetValue(i) * t.GetValue(i + n); } o.SetValue(3, s); }",
        [
            "float s = 0;",
            "static_cast<float>(t.GetValue(i)) * static_cast<float>(t.GetValue(i + n))",
            "static_cast<bfloat16_t>(s)",
        ],
        [],
    ),
    (
        "vector-sum-in-float",
        "struct K { TPipe pipe; TQue<TPosition::VECIN, 1> q; LocalTensor<half> work;"
        " void I(int n) { pipe.InitBuffer(q, 1, n * sizeof(half)); }"
        " void R(LocalTensor<half> &o, int n) { auto t = q.DeQue<half>(); ReduceSum(o, t, work, n); } };",
        ["TBuf<TPosition::VECCALC> wideBuf;", "pipe.InitBuffer(wideBuf, n * sizeof(float));", "ReduceSum(wide, wide,"],
        ["ReduceSum(o, t"],
    ),
    (
        "round-each-step",
        "void f(LocalTensor<bfloat16_t> &x, LocalTensor<bfloat16_t> &y, int n) { float run = 0.0f; int i = 0;"
        " do { run = run + ToFloat(x.GetValue(i)); y.SetValue(i, ToBfloat16(run)); ++i; } while (i < n); }",
        ["run = ToFloat(ToBfloat16(run));"],
        [],
    ),
    (
        "cast-mode",
        "void f(TBuf<TPosition::VECCALC> &b, LocalTensor<half> &h, int n) {"
        " auto w = b.Get<float>(); AscendC::Cast(w, h, AscendC::RoundMode::CAST_ROUND, n); }",
        ["AscendC::RoundMode::CAST_NONE"],
        ["CAST_ROUND"],
    ),
    (
        "share-the-remainder",
        "void f(GlobalTensor<float> &g, uint32_t rows) { uint32_t each = (rows + GetBlockNum() - 1) / GetBlockNum();"
        " for (uint32_t r = 0; r < each; ++r) { float v = g.GetValue(GetBlockIdx() * each + r); } }",
        ["coreShare * GetBlockIdx() >= rows ? 0", "GetBlockIdx() * coreShare + r"],
        [],
    ),
    (
        "offset-in-64-bits",
        "void f(GlobalTensor<float> &g, LocalTensor<float> &t, uint32_t row, uint32_t width) {"
        " uint32_t place = row * width; DataCopy(t, g[place], 8); }",
        ["int64_t place = static_cast<int64_t>(row) * width"],
        [],
    ),
    (
        "row-distance",
        "void f(LocalTensor<float> &t, GlobalTensor<float> &g, int n) { int p = AlignUp(n, 8);"
        " for (int r = 0; r < 4; ++r) { DataCopy(t[r * p], g[r * p], p); } }",
        ["t[r * p]", "g[r * n]"],
        [],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "code", "holds", "lost"), MENDS, ids=[f"{i}-{m[0]}" for i, m in enumerate(MENDS)]
)
def test_a_rewrite_mends_code_of_another_shape(
    name: str, code: str, holds: list[str], lost: list[str]
) -> None:
    new = rewritten(name, code)
    assert new is not None
    for text in holds:
        assert text in new, new
    for text in lost:
        assert text not in new, new
    assert Source("kernel/k.h", new).errors == 0


LEAVES = [
    # Whole blocks, known when the kernel is compiled.
    ("datacopy-to-pad", "constexpr int L = 64; void f(GlobalTensor<half> &g, LocalTensor<half> &t) { DataCopy(t, g[L], L * 2); }"),
    ("datacopy-to-pad", "void f(GlobalTensor<half> &g, LocalTensor<half> &t, DataCopyParams &p) { DataCopy(t, g, p); }"),
    ("datacopy-to-pad", "void f(LocalTensor<half> &u, LocalTensor<half> &t, int n) { DataCopy(t, u, n); }"),
    # The count follows the tile, the tail has a block of its own, or the total is a multiple of the tile.
    (
        "current-tile-count",
        "void f(LocalTensor<float> &t, int n) { for (int i = 0; i < n; i += L) { int c = n - i < L ? n - i : L; Exp(t, t, c); } }",
    ),
    (
        "current-tile-count",
        "void f(LocalTensor<float> &t, int n) { int k = n / L; for (int i = 0; i < k; ++i) { Exp(t, t, L); } Exp(t, t, n % L); }",
    ),
    (
        "current-tile-count",
        "void f(LocalTensor<float> &t) { for (int i = 0; i < 256; i += 64) { Exp(t, t, 64); } }",
    ),
    (
        "current-tile-count",
        "void f(LocalTensor<float> &t, int n) { int k = (n + L - 1) / L; for (int i = 0; i < k; ++i) {"
        " if (i + 1 < k) { Exp(t, t, L); } else { Exp(t, t, n - i * L); } } }",
    ),
    ("index-in-elements", "void f(GM_ADDR x, int n) { auto p = (__gm__ uint8_t *)x + n * sizeof(float); }"),
    ("index-in-elements", "void f(TPipe &pipe, TBuf<TPosition::VECCALC> &b, int n) { pipe.InitBuffer(b, n * sizeof(float)); }"),
    (
        "length-in-bytes",
        "void f(GlobalTensor<half> &g, LocalTensor<half> &t, uint32_t n) { uint32_t length = n * sizeof(half);"
        " DataCopyPad(g, t, DataCopyExtParams{1, length, 0, 0, 0}); }",
    ),
    ("reduce-true-count", "void f(LocalTensor<float> &t, int n) { ReduceSum(t, t, t, n); }"),
    (
        "accumulate-over-tiles",
        "float f(LocalTensor<float> &p, int n) { float s = 0.0f; for (int i = 0; i < n; ++i) { s = p.GetValue(i); o.SetValue(i, s); } return s; }",
    ),
    (
        "current-tile-count",
        "struct K { int n; int T(int t) { return n - t * LEN < LEN ? n - t * LEN : LEN; }"
        " void P() { for (int t = 0; t < CeilDiv(n, LEN); ++t) { Exp(x, x, T(t)); } } };",
    ),
    ("mean-true-divisor", "float f(float s, int n) { return s / static_cast<float>(n); }"),
    ("mean-true-divisor", "int f(int i, int n) { int p = AlignUp(n, 8); return i / p; }"),
    (
        "weighted-mean-divisor",
        "float f(LocalTensor<float> &a, LocalTensor<float> &b, int n) { float up = 0.0f; float down = 0.0f;"
        " for (int i = 0; i < n; ++i) { float p = a.GetValue(i); up += p * b.GetValue(i); down += p; } return up / down; }",
    ),
    ("reduce-identity", "float f(LocalTensor<float> &t, int n) { float s = 0; for (int i = 0; i < n; ++i) { s += t.GetValue(i); } return s; }"),
    # Each row has a sum of its own, read within the loop.
    (
        "hoist-initialisation",
        "void f(LocalTensor<float> &t, LocalTensor<float> &o, int n) { float s; for (int r = 0; r < n; ++r) { s = 0.0f;"
        " for (int i = 0; i < n; ++i) { s += t.GetValue(i); } o.SetValue(r, s); } }",
    ),
    ("initialise-accumulator", "int f(int n) { int a; a = 2; for (int i = 0; i < n; ++i) { a += i; } return a; }"),
    ("sum-in-float", "float f(LocalTensor<half> &t, int n) { float s = 0; for (int i = 0; i < n; ++i) { s += (float)t.GetValue(i); } return s; }"),
    (
        "round-each-step",
        "void f(LocalTensor<half> &x, LocalTensor<half> &y, int n) { half run = 0;"
        " for (int i = 0; i < n; ++i) { run += x.GetValue(i); y.SetValue(i, run); } }",
    ),
    # A single store behind the loop is no scan.
    (
        "round-each-step",
        "void f(LocalTensor<half> &x, LocalTensor<half> &y, int n) { float run = 0;"
        " for (int i = 0; i < n; ++i) { run += (float)x.GetValue(i); } y.SetValue(0, (half)run); }",
    ),
    ("cast-mode", "void f(LocalTensor<float> &w, LocalTensor<half> &h, int n) { Cast(h, w, RoundMode::CAST_RINT, n); Cast(w, h, RoundMode::CAST_NONE, n); }"),
    (
        "share-the-remainder",
        "void f(int n) { int e = n / GetBlockNum(); int s = e * GetBlockIdx(); if (GetBlockIdx() == GetBlockNum() - 1) { e = n - s; } }",
    ),
    (
        "share-the-remainder",
        "void f(int n) { int e = (n + GetBlockNum() - 1) / GetBlockNum(); int s = e * GetBlockIdx(); if (s + e > n) { e = n - s; } }",
    ),
    ("offset-in-64-bits", "void f(GlobalTensor<float> &g, LocalTensor<float> &t, int64_t r, int64_t w) { DataCopy(t, g[r * w], 8); }"),
    (
        "queue-exchange",
        "struct K { TQue<TPosition::VECIN, 1> q; GlobalTensor<float> g;"
        " void I() { auto t = q.AllocTensor<float>(); DataCopy(t, g, 8); q.EnQue(t); } void C() { auto t = q.DeQue<float>(); q.FreeTensor(t); } };",
    ),
    (
        "free-tensor",
        "struct K { TQue<TPosition::VECOUT, 1> q; void I() { auto t = q.AllocTensor<float>(); q.EnQue(t); }"
        " void O() { auto t = q.DeQue<float>(); q.FreeTensor(t); } };",
    ),
    (
        "scatter-adds",
        "void f(GlobalTensor<float> &g, GlobalTensor<int32_t> &at, LocalTensor<float> &t, int n) { for (int i = 0; i < n; ++i) {"
        " int r = at.GetValue(i); DataCopy(t, g[r * 8], 8); Adds(t, t, 1.0f, 8); DataCopy(g[r * 8], t, 8); } }",
    ),
    ("row-extent", "float f(GlobalTensor<float> &g, int n, int m) { float s = 0; for (int i = 0; i < n; ++i) { for (int j = 0; j < m; ++j) { s += g.GetValue(i * m + j); } } return s; }"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code"), LEAVES, ids=[f"{i}-{leave[0]}" for i, leave in enumerate(LEAVES)])
def test_a_rewrite_leaves_right_code_alone(name: str, code: str) -> None:
    assert rewritten(name, code) is None


def correct_kernels() -> list[Path]:
    return sorted((TESTS / "kernels" / "correct").glob("*/kernel/*.h"))


# What may be proposed on kernels that pass: copies and casts that can't be known to be whole or to fit from the file alone.
SPECULATIVE = {"datacopy-to-pad", "round-each-step"}


@pytest.mark.parametrize("path", correct_kernels(), ids=lambda path: path.stem)
def test_kernels_that_pass_are_left_alone(path: Path) -> None:
    code = path.read_text()
    applied = {name for name in rewrites() if rewritten(name, code) is not None}
    assert applied <= SPECULATIVE


@pytest.mark.parametrize("entry", [e for e in load_entries() if e.rewrite], ids=lambda entry: entry.id)
def test_a_rewrite_is_done_after_one_pass(entry: object) -> None:
    for path in sorted((TESTS / "kernels" / "rewrites" / "kernel").glob("*.h")):
        files = {f"kernel/{path.name}": path.read_text()}
        name = entry.rewrite  # type: ignore[attr-defined]
        found = trials(files, rewrites()[name], ANY)
        if found:
            again = trials(files | found[0][1], rewrites()[name], ANY)
            assert not again, f"{name} changes {path.name} twice"


def test_only_files_under_kernel_change() -> None:
    code = "void f(GlobalTensor<float> &g, LocalTensor<float> &t, int n) { DataCopy(t, g, n); }"
    entry = next(entry for entry in load_entries() if entry.rewrite == "datacopy-to-pad")
    files = {"kernel/a.h": code, "model.py": "x = 1", "include/a.h": code, "kernel/notes.txt": code}
    proposals = propose(files, entry, ANY)
    assert proposals
    assert {path for proposal in proposals for path in proposal.files} == {"kernel/a.h"}
    assert proposals[0].locations == ("kernel/a.h:1",)


def test_several_places_are_tried_together_and_one_by_one() -> None:
    line = "DataCopy(t, g, n);\n"
    code = f"void f(GlobalTensor<float> &g, LocalTensor<float> &t, int n) {{\n{line * 3}}}"
    entry = next(entry for entry in load_entries() if entry.rewrite == "datacopy-to-pad")
    proposals = propose({"kernel/a.h": code}, entry, ANY)
    assert [len(proposal.locations) for proposal in proposals] == [3, 1, 1, 1]
    assert len(proposals) <= MOST_PROPOSALS


def test_places_compiled_for_passing_types_only_come_later() -> None:
    body = "run += (float)x.GetValue(i); y.SetValue(i, static_cast<T>(run));"
    code = (
        "template <typename T> void f(LocalTensor<T> &x, LocalTensor<T> &y, int n) { float run = 0; for (int i = 0; i < n; ++i) {"
        f"\nif constexpr (std::is_same<T, half>::value) {{ {body} }} else {{\n{body} }} }} }}"
    )
    wrong = Deviation(output="0", dtype="float16", shape=(1,), mismatched=1, total=1)
    failing = CaseResult(index=0, name="c", status=CaseStatus.MISMATCH, deviations=(wrong,))
    context = RewriteContext(failing=(failing,), passing_dtypes=("bfloat16", "float32"))
    groups = trials({"kernel/a.h": code}, rewrites()["round-each-step"], context)
    assert [[site.line for site in group] for group, _ in groups][:2] == [[2], [2, 3]]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.text("xyz", max_size=3)), max_size=6))
def test_edits_apply_like_slices_or_are_refused(raw: list[tuple[int, int, str]]) -> None:
    text = "0123456789" * 5
    edits = [Edit(path="a", start=start, end=start + length, text=new) for start, length, new in raw]
    changed = apply({"a": text}, edits)
    unique = sorted(set(edits), key=lambda edit: (edit.start, edit.end))
    overlap = any(one.end > two.start for one, two in itertools.pairwise(unique))
    if overlap:
        assert changed is None
        return
    kept, at = "", 0
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)):
        kept += text[at : edit.start] + edit.text
        at = edit.end
    kept += text[at:]
    assert changed == ({"a": kept} if kept != text else {})


def all_kernels() -> list[Path]:
    return [*correct_kernels(), *sorted((TESTS / "kernels" / "rewrites" / "kernel").glob("*"))]


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(all_kernels()), st.integers(0, 10**6))
def test_torn_and_shuffled_code_is_survived(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    lines = path.read_text().split("\n")
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(lines))
        match chance.randrange(3):
            case 0:
                lines[at] = ""
            case 1:
                lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
            case _:
                lines[at], lines[0] = lines[0], lines[at]
    files = {"kernel/k.h": "\n".join(lines)}
    for rewrite in rewrites().values():
        for group, changed in trials(files, rewrite, ANY):
            assert group
            assert set(changed) == {"kernel/k.h"}
