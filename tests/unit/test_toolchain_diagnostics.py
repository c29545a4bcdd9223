"""Which compiler messages mean "the simulator lacks this"."""

import pytest

from npu_worker.toolchains.diagnostics import api_names, errors_of, unsupported_findings


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("error: 'TransDataTo5HD' was not declared in this scope", "TransDataTo5HD"),
        ("error: 'SoftMax' is not a member of 'AscendC'", "SoftMax"),
        ("error: 'Nd2NzParams' does not name a type", "Nd2NzParams"),
        ("error: 'TBufPool' in namespace 'AscendC' does not name a template type", "TBufPool"),
        ("error: 'class AscendC::TPipe' has no member named 'InitBufPool'", "InitBufPool"),
        ("fatal error: lib/matmul_intf.h: No such file or directory", "lib/matmul_intf.h"),
        ("fatal error: torch/library.h: No such file or directory", "torch/library.h"),
        (
            "error: 'const class at::Tensor' has no member named 'index_select'; did you mean 'x'?",
            "index_select",
        ),
        ("error: 'matmul' is not a member of 'at'", "matmul"),
        ("error: static assertion failed: unsupported by the simulator: Mmad", "Mmad"),
        (
            "error: there are no arguments to 'MrgSort' that depend on a template parameter",
            "MrgSort",
        ),
        ("error: ‘Sort32’ was not declared in this scope; did you mean ‘Sort’?", "Sort32"),
    ],
)
def test_names_of_ascendc_are_unsupported(message: str, name: str) -> None:
    (finding,) = unsupported_findings(f"kernel/a.cpp:12:5: {message}\n")
    assert (finding.rule, finding.message) == ("unsupported", f"unsupported by the simulator: {name}")
    assert (finding.file, finding.line) == ("kernel/a.cpp", 12)


@pytest.mark.parametrize(
    "message",
    [
        "error: 'DataCopyy' was not declared in this scope; did you mean 'DataCopy'?",
        "error: 'tileLenght' was not declared in this scope",
        "fatal error: my_missing.h: No such file or directory",
        "error: expected ';' before '}' token",
        "error: 'sum' was not declared in this scope",
        "error: 'class KernelAdd' has no member named 'Init'",
        "error: 'class KernelAdd' has no member named 'sum'",
        "error: 'matmul' is not a member of 'std'",
        "error: no matching function for call to 'Add(int)'",
    ],
)
def test_mistakes_stay_mistakes(message: str) -> None:
    assert unsupported_findings(f"kernel/a.cpp:3:1: {message}\n") == ()
    (finding,) = errors_of(f"kernel/a.cpp:3:1: {message}\n")
    assert (finding.rule, finding.line) == ("compile-error", 3)


def test_the_list_has_the_names_people_use() -> None:
    assert {"DataCopy", "ReduceSum", "Mmad", "GET_TILING_DATA", "TQueBind"} <= api_names().free
    assert {"SetGlobalBuffer", "EnQue", "InitBuffer"} <= api_names().members
