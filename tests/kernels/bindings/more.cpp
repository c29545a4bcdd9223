// Bindings spread over two sources: the module goes from one to the other.
#include <torch/extension.h>

void more(py::module_& m) {
    py::module_ part = m.def_submodule("part", "a part");
    part.def("half", [](double value) { return value / 2; });
}
