"""Tiling structs are read from the text: which there are, and which one GET_TILING_DATA means."""

import pytest

from npu_worker.toolchains.tilings import TilingSources
from schema.operator_names import snake_case

HOST = """
namespace optiling {
constexpr uint32_t CORES = 8;  // of the device
BEGIN_TILING_DATA_DEF(AddTilingData)
  TILING_DATA_FIELD_DEF(uint32_t, total);
  TILING_DATA_FIELD_DEF_ARR(int32_t, CORES * 2, parts);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(AddCustom, AddTilingData)
BEGIN_TILING_DATA_DEF(SubTilingData)
  TILING_DATA_FIELD_DEF(uint32_t, total);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(SubCustom, SubTilingData)
}
"""
KERNEL = """#include "kernel_operator.h"
// GET_TILING_DATA(in, comment)
extern "C" __global__ __aicore__ void {name}(GM_ADDR x, GM_ADDR tiling) {{
    GET_TILING_DATA (data, tiling);
}}
"""


@pytest.mark.parametrize(
    ("operator", "kernel"),
    [("AddCustom", "add_custom"), ("RMSNorm", "rms_norm"), ("Conv2DGrad", "conv2_d_grad"), ("add", "add")],
)
def test_kernel_name_of_an_operator(operator: str, kernel: str) -> None:
    assert snake_case(operator) == kernel


@pytest.mark.parametrize(
    ("name", "struct"), [("add_custom", "AddTilingData"), ("sub_custom", "SubTilingData")]
)
def test_the_struct_an_operator_registered(name: str, struct: str) -> None:
    text = KERNEL.format(name=name)
    sources = TilingSources({"kernel/host.h": HOST, "kernel/k.cpp": text})
    rewritten = sources.rewritten("kernel/k.cpp", text)
    assert f"GET_TILING_DATA_WITH_STRUCT ({struct}, data, tiling);" in rewritten
    assert "// GET_TILING_DATA(in, comment)" in rewritten
    assert rewritten.count("\n") == text.count("\n")
    prologue = sources.prologue("kernel/k.cpp")
    assert f"BEGIN_TILING_DATA_DEF({struct})" in prologue
    assert prologue.count("BEGIN_TILING_DATA_DEF") == 1
    assert "CORES" not in prologue
    assert sources.prologue("kernel/host.h").count("BEGIN_TILING_DATA_DEF") == 0 or "optiling" not in prologue


def test_a_default_in_reach_wins_and_a_lone_struct_needs_none() -> None:
    header = "struct MyTiling { int a; };\nclass Op { void Init(GM_ADDR t) { GET_TILING_DATA(d, t); } };\n"
    kernel = '#include "op.h"\n__global__ void k(GM_ADDR t) { REGISTER_TILING_DEFAULT(ns::MyTiling); }\n'
    both = TilingSources({"kernel/op.h": header, "kernel/k.cpp": kernel})
    assert "WITH_STRUCT(ns::MyTiling, d, t)" in both.rewritten("kernel/op.h", header)
    alone = TilingSources({"kernel/op.h": header})
    assert "WITH_STRUCT(MyTiling, d, t)" in alone.rewritten("kernel/op.h", header)
    assert alone.prologue("kernel/op.h") == ""


def test_two_structs_and_no_registration_leave_the_call_as_it_is() -> None:
    text = "struct ATiling { int a; };\nstruct BTiling { int b; };\nvoid f() { GET_TILING_DATA(d, t); }\n"
    assert TilingSources({"k.cpp": text}).rewritten("k.cpp", text) == text


def test_an_own_struct_hides_the_library_s() -> None:
    own = "struct LayerNormTiling { int rows; };\nvoid f(LayerNormTiling t, SoftMaxTiling s);\n"
    prologue = TilingSources({"k.cpp": own}).prologue("k.cpp")
    assert "tiling::SoftMaxTiling" in prologue
    assert "tiling::LayerNormTiling" not in prologue
