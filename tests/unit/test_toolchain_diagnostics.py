"""Which compiler messages mean "the simulator lacks this"."""

import pytest

from npu_worker.toolchains.diagnostics import api_names, errors_of, unsupported_findings


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("error: 'VectorPadding' was not declared in this scope", "VectorPadding"),
        ("error: 'SoftMax' is not a member of 'AscendC'", "SoftMax"),
        ("error: 'LoadData2DParamsV2' does not name a type", "LoadData2DParamsV2"),
        ("error: 'TQueSync' in namespace 'AscendC' does not name a template type", "TQueSync"),
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
            "error: there are no arguments to 'MulsCast' that depend on a template parameter",
            "MulsCast",
        ),
        ("error: ‘Prelu’ was not declared in this scope; did you mean ‘Sort’?", "Prelu"),
    ],
)
def test_names_of_ascendc_are_unsupported(message: str, name: str) -> None:
    (finding,) = unsupported_findings(f"kernel/a.cpp:12:5: {message}\n")
    said = finding.message.partition(" (")[0]
    assert (finding.rule, said) == ("unsupported", f"unsupported by the simulator: {name}")
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


@pytest.mark.parametrize("name", ["Sort32", "TPipe", "GET_TILING_DATA", "DataCopyPad"])
def test_a_name_that_the_simulator_has_is_the_kernel_s_mistake(name: str) -> None:
    log = (
        f"kernel/a.cpp:3:5: error: '{name}' was not declared in this scope; did you mean 'AscendC::{name}'?\n"
    )
    assert unsupported_findings(log) == ()


@pytest.mark.parametrize("name", ["DTYPE_X", "ORIG_DTYPE_X1", "FORMAT_Y"])
def test_what_an_operator_project_s_build_defines_is_named(name: str) -> None:
    (finding,) = unsupported_findings(f"kernel/a.cpp:3:5: error: '{name}' was not declared in this scope\n")
    assert finding.message.startswith(f"unsupported by the simulator: {name} (an operator project's build")


def test_a_call_of_another_chip_says_so() -> None:
    (finding,) = unsupported_findings(
        "kernel/a.cpp:3:5: error: 'Interleave' was not declared in this scope\n"
    )
    assert (
        finding.message
        == "unsupported by the simulator: Interleave (dav-2201 does not have it, Ascend 950 does)"
    )


@pytest.mark.parametrize(
    ("message", "lacking"),
    [
        ("'InitBuffer' is not a member of 'AscendC'", False),
        ("'class AscendC::TBufPool' has no member named 'InitBuffer'", True),
        ("'TransData' is not a member of 'AscendC'", True),
        ("'class Mine' has no member named 'InitBuffer'", False),
    ],
)
def test_a_member_is_looked_for_in_a_class_alone(message: str, lacking: bool) -> None:
    assert bool(unsupported_findings(f"kernel/a.cpp:3:5: error: {message}\n")) is lacking
