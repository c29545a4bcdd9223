"""Which prelude a source gets, and when its bindings get pybind11 itself."""

import pytest

from npu_worker.toolchains.units import units_of

TORCH = "#include <torch/extension.h>\n"


@pytest.mark.parametrize(
    ("text", "prelude", "bindings"),
    [
        ("", "", False),
        ('#include "kernel_operator.h"', "kernel", False),
        ("void f() { k<<<1, nullptr, nullptr>>>(); }", "kernel", False),
        ('#include "aclrtlaunch_add.h"', "kernel", False),
        (TORCH, "torch", True),
        ("#include <ATen/ATen.h>", "torch", True),
        ("#include <torch/library.h>", "torch", True),
        (TORCH + '#include "kernel_operator.h"', "both", True),
        ("#include <pybind11/pybind11.h>", "", True),
        ("#include <pybind11/pybind11.h>\n" + TORCH, "torch", True),
    ],
)
def test_the_prelude_follows_the_includes(text: str, prelude: str, bindings: bool) -> None:
    (unit,) = units_of({"kernel/a.cpp": text})
    assert (unit.prelude, unit.bindings, unit.full) == (prelude, bindings, False)


@pytest.mark.parametrize(
    "text",
    [
        'm.def("run", &run, py::arg("x"), pybind11::arg("y") = 1, py::call_guard<py::gil_scoped_release>());',
        "namespace py = pybind11;",
        "namespace py = ::pybind11;",
        "using namespace pybind11::literals;",
        "#include <pybind11/stl.h>",
        '#include "pybind11.h"',
        "float* py = nullptr; py[0] = 1; auto z = py;",
        "// py::class_ and pybind11::array\n/* using namespace pybind11; */",
        'const char* text = "py::class_<pybind11::array>";',
        "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}",
        "int happy; namespace happy_py { int py; }",
    ],
)
def test_what_the_layer_has_is_light(text: str) -> None:
    assert not units_of({"kernel/a.cpp": TORCH + text})[0].full


@pytest.mark.parametrize(
    "text",
    [
        'py::class_<Plan>(m, "Plan");',
        'pybind11 :: enum_<Kind>(m, "Kind");',
        "py::/* here */array_t<float> x;",
        "py::detail::type_caster<Plan> x;",
        "namespace pybind11 { namespace detail {} }",
        "namespace pybind11::detail {}",
        "using namespace pybind11;",
        "using namespace py;",
        "namespace pyb = pybind11;",
        "namespace pyb = py;",
        "PYBIND11_MAKE_OPAQUE(std::vector<int>)",
        "#include <pybind11/numpy.h>",
        "#include <pybind11/functional.h>",
        "#define BIND(name) pybind11 \\\n::class_<name>",
        'py::module_ a; py::exec("");',
    ],
)
def test_what_only_pybind11_has_is_seen(text: str) -> None:
    assert units_of({"kernel/a.cpp": TORCH + text})[0].full
    assert units_of({"kernel/a.cpp": TORCH + '#include "b.h"', "kernel/b.h": text})[0].full


def test_one_source_brings_pybind11_to_all_bindings_and_to_no_kernel() -> None:
    files = {
        "kernel/a.cpp": TORCH + "py::class_<int> x;",
        "kernel/b.cpp": TORCH,
        "kernel/c.cpp": '#include "kernel_operator.h"',
        "kernel/d.cpp": "int d;",
    }
    assert [unit.full for unit in units_of(files)] == [True, True, False, False]


def test_an_included_source_is_no_unit_and_objects_have_names_of_their_own() -> None:
    files = {"kernel/a.cpp": '#include "b.cpp"', "kernel/b.cpp": "int b;", "other/a.cpp": "int c;"}
    units = units_of(files, ("-DX",))
    assert [unit.path for unit in units] == ["kernel/a.cpp", "other/a.cpp"]
    assert len({unit.object_name for unit in units}) == 2
    assert all(unit.flags == ("-DX",) for unit in units)
