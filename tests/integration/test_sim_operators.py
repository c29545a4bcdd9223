"""Operator projects: description, tiling function and kernel of each operator are bound by its name and run.

The kernels of tests/kernels/operators were written as msopgen's users and models write them, before they were run
here: an addition with a tail, a softmax of rows, a GELU with attributes and an optional input, a sum with two tiling
keys and a workspace, a leaky ReLU for two types, and a product. Classes and functions of several have one name.
"""

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from npu_worker.toolchains import SimToolchain
from schema.results import Compilation, FailureType
from tests.support.extension import loaded, saved
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "operators"
NAME = "_sim_operators_ext"


def project() -> dict[str, str]:
    paths = [path for path in KERNELS.rglob("*") if path.is_file()]
    return {f"kernel/{path.relative_to(KERNELS)}": path.read_text() for path in paths}


def only(operator: str) -> dict[str, str]:
    """One operator of the project, with a binding of its own."""
    files = {path: text for path, text in project().items() if operator in path}
    inputs = "x, y" if operator.startswith("add") else "x"
    declared = ", ".join(f"const at::Tensor& {name}" for name in inputs.split(", "))
    kind = "".join(part.capitalize() for part in operator.split("_"))
    shape = "{1}, x.options()" if operator.startswith("reduce") else "x.sizes(), x.options()"
    files["kernel/pybind11.cpp"] = (
        '#include <torch/extension.h>\n#include "pytorch_npu_helper.hpp"\n'
        f"at::Tensor run({declared}) {{\n"
        f"    at::Tensor out = at::empty({shape});\n"
        f"    EXEC_NPU_CMD(aclnn{kind}, {inputs}, out);\n    return out;\n}}\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }\n'
    )
    return files


def edited(files: dict[str, str], path: str, old: str, new: str) -> dict[str, str]:
    assert old in files[path]
    return {**files, path: files[path].replace(old, new)}


def built(files: dict[str, str], work: Path, name: str = NAME) -> ModuleType:
    build = SimToolchain().compile(files, workdir=work, extension_name=name, timeout=280)
    assert build.compilation.ok, build.compilation.log
    assert build.binary is not None
    return loaded(saved(build.binary, name, work))


def refused(files: dict[str, str], work: Path) -> Compilation:
    return SimToolchain().compile(files, workdir=work, extension_name=NAME, timeout=280).compilation


def rules(report: Path) -> set[str]:
    found = (json.loads(line) for line in report.read_text().splitlines()) if report.is_file() else ()
    return {str(line["rule"]) for line in found if "rule" in line}


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return built(project(), tmp_path_factory.mktemp("operators"))


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "report.jsonl"
    monkeypatch.setenv("OPMEND_SIM_REPORT", str(place))
    return place


@proves("operators/CppExtension/csrc/op.cpp", "EXEC_NPU_CMD pytorch_npu_helper.hpp")
@proves(
    "operators/op_host/add_tail_custom.cpp",
    "OP_ADD OpDef TilingContext PlatformAscendC register/op_def_registry.h",
)
@pytest.mark.parametrize("count", [1, 7, 8, 513, 24_577, 100_003])
def test_an_addition_of_any_length(operators: ModuleType, report: Path, count: int) -> None:
    generator = np.random.default_rng(count)
    x, y = (generator.standard_normal(count, dtype=np.float32) for _ in range(2))
    found = operators.add_tail(torch.from_numpy(x), torch.from_numpy(y))
    assert np.array_equal(found.numpy(), x + y)
    assert not rules(report)


@proves("operators/op_host/softmax_rows_custom.cpp", "OpAICoreConfig StorageShape")
@pytest.mark.parametrize("shape", [(1, 8), (37, 101), (3, 5, 1), (64, 1000)])
def test_a_softmax_over_rows(operators: ModuleType, report: Path, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))
    assert torch.allclose(operators.softmax_rows(x), torch.softmax(x, -1), atol=1e-6, rtol=1e-5)
    assert not rules(report)


@proves("operators/op_host/gelu_blend_custom.cpp", "RuntimeAttrs")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("tile", [64, 128])
def test_attributes_an_optional_input_and_a_key_for_each_type(
    operators: ModuleType, report: Path, dtype: torch.dtype, biased: bool, tile: int
) -> None:
    x = torch.linspace(-6, 6, 1001).to(dtype)
    bias = torch.tensor([2.0]) if biased else None
    exact = torch.nn.functional.gelu(x.double(), approximate="tanh")
    wanted = 0.25 * exact + 0.75 * x.double() + (2.0 if biased else 0.0)
    found = operators.gelu_blend(x, bias, 0.25, tile)
    assert found.dtype == dtype
    assert torch.allclose(
        found.double(), wanted, **({"atol": 1e-5} if dtype == torch.float32 else {"rtol": 2e-3})
    )
    assert not rules(report)


@pytest.mark.parametrize("count", [5, 4096, 4097, 70_001])
def test_a_sum_with_two_keys_and_a_workspace(operators: ModuleType, report: Path, count: int) -> None:
    x = torch.randint(-8, 9, (count,), generator=torch.Generator().manual_seed(count)).float()
    assert operators.reduce_all(x).tolist() == [x.sum().item()]
    assert not rules(report)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_kernel_that_is_compiled_for_each_type(
    operators: ModuleType, report: Path, dtype: torch.dtype
) -> None:
    x = torch.randn(8, 2048, generator=torch.Generator().manual_seed(1)).to(dtype)
    assert torch.equal(operators.leaky_scale(x, 0.25), torch.nn.functional.leaky_relu(x, 0.25))
    assert not rules(report)


def test_a_product_with_a_tiling_struct_of_the_library(operators: ModuleType, report: Path) -> None:
    generator = torch.Generator().manual_seed(2)
    a, b = (torch.randn(shape, generator=generator).half() for shape in ((128, 64), (64, 128)))
    bias = torch.randn(128, generator=generator)
    wanted = torch.nn.functional.leaky_relu(a.double() @ b.double() + bias, 0.001)
    assert torch.allclose(operators.matmul_leaky(a, b, bias).double(), wanted, atol=1e-4)
    assert not rules(report)


def test_an_input_of_another_order_is_made_contiguous_where_the_operator_says_so(
    operators: ModuleType, report: Path
) -> None:
    x = torch.arange(48, dtype=torch.float32).reshape(6, 8)[:, ::2]
    y = torch.ones(6, 4)
    assert torch.equal(operators.add_tail(x, y), x + y)
    assert not rules(report)
    operators.add_tail(y, x)
    assert rules(report) == {"operator-not-contiguous"}


def test_a_refused_call_says_why(operators: ModuleType) -> None:
    x = torch.ones(8)
    with pytest.raises(
        RuntimeError, match=r"^operator-arguments: .*has 2 arguments; .* are 2 \+ 0 \+ 1 \(kernel/Cpp"
    ):
        operators.too_few(x)
    with pytest.raises(
        RuntimeError, match=r"^unsupported by the simulator: aclnnRelu, an operator that the work"
    ):
        operators.built_in(x)
    with pytest.raises(RuntimeError, match=r"^operator-types: .* no column of DataType has x DT_FLOAT16"):
        operators.add_tail(x.half(), x.half())
    with pytest.raises(RuntimeError, match=r"^operator-tiling: .* which is not GRAPH_SUCCESS"):
        operators.gelu_blend(x, None, 1.0, 64, False, "erf")


def test_a_wrong_field_of_the_tiling_data_is_found(tmp_path: Path, report: Path) -> None:
    host = "kernel/op_host/add_tail_custom.cpp"
    wrong = "tiling.set_totalLength(totalLength + 64);"
    files = edited(only("add_tail_custom"), host, "tiling.set_totalLength(totalLength);", wrong)
    x = torch.ones(2000)
    built(files, tmp_path, "_sim_operators_wrong_ext").run(x, x)
    assert {"gm-read-out-of-range", "gm-write-out-of-range"} <= rules(report)


def test_a_workspace_without_the_library_s_part_is_found(tmp_path: Path, report: Path) -> None:
    host = "kernel/op_host/reduce_all_custom.cpp"
    short = "user == 0 ? 0 : 16 + platform.GetLibApiWorkSpaceSize();"
    files = edited(
        only("reduce_all_custom"), host, "user == 0 ? 0 : user + platform.GetLibApiWorkSpaceSize();", short
    )
    module = built(files, tmp_path / "short", "_sim_operators_short_ext")
    with pytest.raises(RuntimeError, match=r"^gm-read-out-of-range: element 8 .* of 16777232 bytes"):
        module.run(torch.ones(5000))
    assert "gm-write-out-of-range" in rules(report)
    report.unlink()
    alone = "user == 0 ? 0 : user;"
    files = edited(files, host, short, alone)
    module = built(files, tmp_path / "alone", "_sim_operators_alone_ext")
    assert module.run(torch.ones(5000)).tolist() == [5000.0]
    assert rules(report) == {"workspace-without-system"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("context->SetBlockDim(used);", "", "operator-tiling: .* sets no block dimension"),
        pytest.param(
            'AddConfig("ascend910b")',
            'AddConfig("ascend310p")',
            "operator-soc: .* names ascend310p, and the device",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ".SetTiling(optiling::TilingFunc)",
            "",
            "operator-tiling: .* no tiling function",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "SetDataSize(tiling.GetDataSize())",
            "SetDataSize(4)",
            "gm-read-out-of-range: tiling data of 12 bytes",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "this->SetInferShape",
            'this->Attr("scale").AttrType(OPTIONAL).Float(1.0);\n        this->SetInferShape',
            r"operator-arguments: .*has 3 arguments; .* are 2 \+ 1 \+ 1",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_description_that_a_device_refuses(tmp_path: Path, old: str, new: str, message: str) -> None:
    files = edited(only("add_tail_custom"), "kernel/op_host/add_tail_custom.cpp", old, new)
    name = f"_sim_operators_{abs(hash(old)) % 10**8}_ext"
    with pytest.raises(RuntimeError, match=message):
        built(files, tmp_path, name).run(torch.ones(8), torch.ones(8))


def test_a_tiling_function_that_stands_outside_the_description(tmp_path: Path) -> None:
    host = "kernel/op_host/add_tail_custom.cpp"
    files = edited(only("add_tail_custom"), host, ".SetTiling(optiling::TilingFunc)", "")
    outside = "OP_ADD(AddTailCustom);\nIMPL_OP_OPTILING(AddTailCustom).Tiling(optiling::TilingFunc);"
    module = built(
        edited(files, host, "OP_ADD(AddTailCustom);", outside), tmp_path, "_sim_operators_outside_ext"
    )
    assert module.run(torch.ones(9), torch.ones(9)).tolist() == [2.0] * 9


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (
            "context->SetBlockDim(used);",
            "context->SetBlockDim(used);\n    context->SetAippMode(1);",
            "SetAippMode",
        ),
        pytest.param(".AutoContiguous();", ".ValueDepend(OPTIONAL);", "ValueDepend", marks=pytest.mark.slow),
        pytest.param(
            "OP_ADD(AddTailCustom);",
            "OP_ADD(AddTailCustom);\nIMPL_OP_OPTILING(AddTailCustom).Tiling(optiling::TilingFunc).TilingParse<int>(nullptr);",
            "TilingParse",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            '#include "register/op_def_registry.h"',
            '#include "register/op_def_registry.h"\n#include "graph/x.h"',
            "graph/x.h",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_the_simulator_lacks_is_named(tmp_path: Path, old: str, new: str, name: str) -> None:
    files = edited(only("add_tail_custom"), "kernel/op_host/add_tail_custom.cpp", old, new)
    compilation = refused(files, tmp_path)
    assert compilation.failure_type is FailureType.UNSUPPORTED, compilation.log
    assert [one.message for one in compilation.findings] == [f"unsupported by the simulator: {name}"]


def test_a_misspelt_member_is_a_mistake_of_the_candidate(tmp_path: Path) -> None:
    files = edited(
        only("add_tail_custom"),
        "kernel/op_host/add_tail_custom.cpp",
        "SetBlockDim(used)",
        "SetBlockDims(used)",
    )
    assert refused(files, tmp_path).failure_type is FailureType.BUILD_FAILED
