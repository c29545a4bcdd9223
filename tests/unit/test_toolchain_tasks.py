"""Which cores a kernel runs on, read from its text."""

import pytest

from npu_worker.toolchains.sources import kernel_signatures, launch_header, rewrite_launches
from npu_worker.toolchains.tasks import CUBE, MIX, Task, asked_core, kernel_tasks

PARAMETERS = "(GM_ADDR x, GM_ADDR y)"


@pytest.mark.parametrize(
    ("declaration", "task"),
    [
        ('extern "C" __global__ __aicore__ void k', None),
        ("__global__ __mix__(1, 2) __aicore__ void k", MIX),
        ("__global__ __aicore__ __mix__(1,1) void k", Task(aics=1, aivs=1, mix=True)),
        ("__mix__(1, 0) __global__ void k", Task(aics=1, aivs=0, mix=True)),
        ("__global__ __cube__ __aicore__ void k", CUBE),
        ("__global__ __vector__ void k", None),
        ("__global__ __attribute__((noinline)) __aicore__ void k", None),
        ("__global__ __mix__(7, 9) void k", None),
    ],
)
def test_marks(declaration: str, task: Task | None) -> None:
    source = f"{declaration}{PARAMETERS} {{ }}"
    assert kernel_tasks({"k.cpp": source}) == ({} if task is None else {"k": task})
    assert [kernel.name for kernel in kernel_signatures(source)] == ["k"]
    assert len(kernel_signatures(source)[0].parameters) == 2


@pytest.mark.parametrize(
    ("helpers", "body", "task"),
    [
        ("", "Add(a, b, c, 8);", None),
        ("", "Mmad(c, a, b, p); Fixpipe(z, c, f);", CUBE),
        ("", "if ASCEND_IS_AIC { Mmad(c, a, b, p); } if ASCEND_IS_AIV { Add(a, b, c, 8); }", MIX),
        ("", "if ASCEND_IS_AIC { return; } Add(a, b, c, 8);", None),
        (
            "class Op { TQue<TPosition::VECIN, 1> q; void Go() { Step(); } void Step() { Mmad(a); } };",
            "Op op; op.Go();",
            MIX,
        ),
        ("class Other { void Go() { Mmad(a); } };", "Add(a, b, c, 8);", None),
        ("using Mm = MatmulType<1>; struct Op { Mm m; };", "Op op;", MIX),
        ("#define STEP(x) \\\n    LoadData(x, x)\n", "STEP(1);", CUBE),
        ('// Mmad\nconst char* text = "Mmad";', "/* Mmad */ Add(a, b, c, 8);", None),
        ("void Load() { LoadData(a); }\nvoid Far() { Load(); }", "Far();", CUBE),
    ],
)
def test_what_a_kernel_calls_decides(helpers: str, body: str, task: Task | None) -> None:
    kernel = f'#include "op.h"\nextern "C" __global__ __aicore__ void k{PARAMETERS} {{ {body} }}'
    found = kernel_tasks({"kernel/op.h": helpers, "kernel/k.cpp": kernel})
    assert found == ({} if task is None else {"k": task})


def test_each_kernel_of_a_file_has_a_task_of_its_own() -> None:
    source = f"__global__ void a{PARAMETERS} {{ Mmad(1); }}\n__global__ void b{PARAMETERS} {{ Add(1); }}"
    assert kernel_tasks({"k.cpp": source}) == {"a": CUBE}


def test_a_launch_says_the_task() -> None:
    tasks = {"k": MIX.expression}
    source = "void go() {\n  ns::k<half><<<8, nullptr, s>>>(x);\n  other<<<8, nullptr, s>>>(x);\n}"
    text = rewrite_launches(source, tasks)
    assert text.count("\n") == source.count("\n")
    assert "::opmend_sim::launch_as(::opmend_sim::Task{1, 2, true}, 8, nullptr, s, " in text
    assert "::opmend_sim::launch(8, nullptr, s, " in text
    (kernel,) = kernel_signatures(f"__global__ void k{PARAMETERS};")
    assert "launch_as(::opmend_sim::Task{1, 2, true}, blockDim" in launch_header(kernel, tasks)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if constexpr (g_coreType == AIV) { f(); }", "if   (g_coreType == AIV) { f(); }"),
        (
            "if constexpr (A && ASCEND_IS_AIC) {}\nelse if constexpr (B) {}",
            "if   (A && ASCEND_IS_AIC) {}\nelse if constexpr (B) {}",
        ),
        ("constexpr int ASCEND_IS_AIV_COUNT = 1;", "constexpr int ASCEND_IS_AIV_COUNT = 1;"),
        (
            "// if constexpr (g_coreType)\nif constexpr (B) {}",
            "// if constexpr (g_coreType)\nif constexpr (B) {}",
        ),
    ],
)
def test_the_kind_of_core_is_known_at_run_time(source: str, expected: str) -> None:
    assert rewrite_launches(source) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("int a;\n#ifdef __DAV_C220_CUBE__\n#endif\n", (2, "__DAV_C220_CUBE__")),
        ("#if defined(__DAV_C220_VEC__)\n#endif\n", (1, "__DAV_C220_VEC__")),
        ("#if 0\n#elif defined __DAV_VEC__\n#endif\n", (2, "__DAV_VEC__")),
        ("# ifndef __DAV_CUBE__\n#endif\n", (1, "__DAV_CUBE__")),
        ("#if X && \\\n  defined(__DAV_C220_CUBE__)\n#endif\n", (1, "__DAV_C220_CUBE__")),
        ("// #ifdef __DAV_C220_CUBE__\nint a; /*\n#ifdef __DAV_C220_VEC__\n*/", None),
        ('const char* a = "__DAV_C220_CUBE__";\n', None),
        ("#define __DAV_C220_CUBE__ 1\n", None),
        ("#ifdef __DAV_C310_CUBE__\n#endif\n", None),
    ],
)
def test_a_line_that_asks_for_the_kind_of_core(text: str, found: tuple[int, str] | None) -> None:
    asked = asked_core({"a.h": "int b;\n", "k.cpp": text})
    assert (asked and (asked.path, asked.line, asked.macro)) == (found and ("k.cpp", *found))


def test_a_kernel_is_judged_by_what_its_own_source_sees() -> None:
    kernel = "__global__ __aicore__ void {}(GM_ADDR x) {{ Op op; op.Process(); }}"
    vector, cube = (f"class Op {{ void Process() {{ {call}(); }} }};\n" for call in ("Add", "Mmad"))
    files = {"kernel/add.cpp": vector + kernel.format("add"), "kernel/mul.cpp": cube + kernel.format("mul")}
    assert kernel_tasks(files) == {"mul": CUBE}
    files = {"kernel/add.cpp": '#include "op.h"\n' + kernel.format("add"), "kernel/op.h": cube}
    assert kernel_tasks(files) == {"add": CUBE}
