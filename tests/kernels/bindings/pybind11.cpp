// Every way a kernel's bindings take and give values. Compiled with the simulator's binding layer, and with pybind11 to compare.
#include <torch/extension.h>
#include <pybind11/stl.h>

#include <array>
#include <map>
#include <unordered_map>

namespace py = pybind11;
using namespace pybind11::literals;

void more(py::module_& m);

namespace {
int alive = 0;
struct Counted {  // a bound object with state: as many as there are functions
    Counted() { ++alive; }
    Counted(const Counted&) { ++alive; }
    ~Counted() { --alive; }
    int operator()(int by) const { return alive + by; }
};

std::string thrown(int which) {
    switch (which) {
        case 0: throw std::runtime_error("runtime");
        case 1: throw std::invalid_argument("argument");
        case 2: throw std::out_of_range("range");
        case 3: throw std::overflow_error("overflow");
        case 4: throw std::domain_error("domain");
        case 5: throw std::length_error("length");
        case 6: throw std::range_error("range");
        case 7: throw std::bad_alloc();
        case 8: throw py::value_error("value");
        case 9: throw py::type_error("type");
        case 10: throw py::index_error("index");
        case 11: throw py::key_error("key");
        case 12: throw py::stop_iteration("stop");
        case 13: TORCH_CHECK(which == 0, "which is ", which);
        case 14: throw at::Error("torch");
        case 15: throw 3;
        case 16: return at::empty({2, 3}).view({5}).dim() ? "" : "never";  // torch's own error
        case 17: throw py::import_error("import");
        case 18: throw std::logic_error("logic");
        default: return "nothing";
    }
}
std::string caught(py::object function) {
    try {
        function(1, "two");
    } catch (py::error_already_set& error) {
        return error.matches(PyExc_KeyError) ? "key" : "other";
    } catch (const std::exception& error) {  // the runtime's own, where pybind11 calls it
        return "std";
    }
    return "none";
}
std::string over_real(double value) { return "real " + std::to_string(value); }
std::string over_whole(int64_t value) { return "whole " + std::to_string(value); }
std::string over_text(const std::string& value) { return "text " + value; }
std::string over_tensor(const at::Tensor& value) { return "tensor " + std::to_string(value.numel()); }
std::string over_list(const std::vector<double>& value, bool flag) { return "list " + std::to_string(value.size()) + (flag ? "+" : "-"); }
int twice(int value) noexcept { return 2 * value; }
double twice(double value) { return 2 * value; }

py::dict built(const py::list& items, py::tuple pair) {
    py::dict out;
    py::list copy;
    for (auto item : items) copy.append(item);
    copy.append(2.5);
    copy.append("end");
    out["items"] = copy;
    out["count"] = items.size();
    out["first"] = pair[0];
    out["whole"] = pair[1].cast<int64_t>() + 1;
    out["shape"] = py::make_tuple(1, "two", at::kFloat, py::none(), true);
    out["has"] = out.contains("count") && !out.contains("nothing");
    out["upper"] = py::str("text").attr("upper")();
    out["kind"] = py::isinstance<py::str>(pair[0]) ? "str" : "other";
    out["length"] = py::len(items);
    return out;
}
}  // namespace

#define ECHO(name, ...) m.def("echo_" #name, [](__VA_ARGS__ value) { return value; })

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "bindings of all kinds";
    m.attr("tile") = 2048;
    m.attr("names") = std::vector<std::string>{"a", "b"};
    ECHO(i8, int8_t);
    ECHO(u8, uint8_t);
    ECHO(i16, int16_t);
    ECHO(u16, uint16_t);
    ECHO(i32, int32_t);
    ECHO(u32, uint32_t);
    ECHO(i64, int64_t);
    ECHO(u64, uint64_t);
    ECHO(long_long, long long);
    ECHO(size, size_t);
    ECHO(f32, float);
    ECHO(f64, double);
    ECHO(bool, bool);
    ECHO(string, const std::string&);
    ECHO(view, std::string_view);
    ECHO(characters, const char*);
    ECHO(maybe_int, std::optional<int64_t>);
    ECHO(maybe_real, c10::optional<double>);
    ECHO(maybe_bool, std::optional<bool>);
    ECHO(maybe_tensor, const c10::optional<at::Tensor>&);
    ECHO(ints, std::vector<int64_t>);
    ECHO(small_ints, const std::vector<int32_t>&);
    ECHO(reals, std::vector<double>);
    ECHO(texts, std::vector<std::string>);
    ECHO(flags, std::vector<bool>);
    ECHO(rows, std::vector<std::vector<int>>);
    ECHO(three, std::array<int, 3>);
    ECHO(two, std::tuple<int, double>);
    ECHO(pair, std::pair<std::string, int64_t>);
    ECHO(map, std::map<std::string, int>);
    ECHO(unordered, std::unordered_map<int, double>);
    ECHO(tensor, at::Tensor);
    ECHO(dtype, at::ScalarType);
    ECHO(scalar, at::Scalar);
    ECHO(device, at::Device);
    ECHO(shape, at::IntArrayRef);
    ECHO(maybe_shape, std::optional<std::vector<int64_t>>);
    ECHO(object, py::object);
    ECHO(handle, py::handle);
    ECHO(list, py::list);
    ECHO(tuple, py::tuple);
    ECHO(dict, py::dict);
    ECHO(str, py::str);
    ECHO(int, py::int_);
    ECHO(float, py::float_);
    m.def("sizes", [](at::TensorList tensors) { return tensors.size() ? tensors[0].sizes().vec() : std::vector<int64_t>(); });
    m.def("tensors", [](std::vector<at::Tensor> tensors) { return tensors; });
    m.def("pair_of", [](const at::Tensor& x) { return std::make_tuple(x, at::zeros_like(x)); });
    m.def("undefined", [] { return at::Tensor(); });
    m.def("nothing", [] {});
    m.def("no_text", []() -> const char* { return nullptr; });
    m.def("broken_text", [] { return std::string("\xff\xfe"); });
    m.def("changed", [](at::Tensor& x) -> at::Tensor& { return x.fill_(3); });
    m.def("taken", [](std::vector<int64_t>&& values) { return values.size(); });
    m.def("built", &built);
    m.def("thrown", &thrown, "throws");
    m.def("caught", &caught);
    m.def("named", [](const at::Tensor& x, int n, bool flag, c10::optional<at::Tensor> bias, const std::string& mode) {
        return std::to_string(x.numel()) + "/" + std::to_string(n) + "/" + (flag ? "yes" : "no") + "/" + (bias ? "bias" : "none") + "/" + mode;
    }, "named parameters", py::arg("x"), py::arg("n") = 3, "flag"_a = false, py::arg("bias") = py::none(), py::arg("mode") = "none");
    m.def("strict", [](double value, const c10::optional<at::Tensor>& x) { return value + (x ? 1 : 0); }, py::arg("value").noconvert(),
          py::arg("x").none(false));
    m.def("typed", [](at::ScalarType type, std::vector<int64_t> dims) { return std::to_string(static_cast<int>(type)) + std::to_string(dims.size()); },
          py::arg("type") = at::kHalf, py::arg("dims") = std::vector<int64_t>{0, 1}, py::return_value_policy::copy);
    m.def("over", &over_whole);
    m.def("over", &over_real);
    m.def("over", &over_text, "text");
    m.def("over", &over_tensor);
    m.def("over", &over_list, py::arg("values"), py::arg("flag") = true);
    m.def("twice", py::overload_cast<int>(&twice)).def("twice", static_cast<double (*)(double)>(&twice));
    m.def("released", [](int64_t n) { return at::full({n}, 2.0).item<double>(); }, py::call_guard<py::gil_scoped_release>());
    m.def("inside", [](py::object function) {
        py::gil_scoped_release released;
        py::gil_scoped_acquire held;
        return function(1).cast<int64_t>();
    });
    m.def("counted", Counted(), py::arg("by"));
    m.def("many", [](int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, double x, double y) {
        return a + b + c + d + e + f + g + h + i + j + k + l + x + y;
    });
    more(m);
}
