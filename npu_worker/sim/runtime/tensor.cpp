// at::Tensor of the light torch/extension.h, by way of Python torch.
#include "torch/extension.h"

#include <cmath>
#include <map>

#include "opmend_sim/core.h"

namespace at {

struct TensorFacts {
    py::object object;
    std::vector<int64_t> sizes, strides;
    void* data = nullptr;
    int64_t elements = 0;
    ScalarType type = ScalarType::Undefined;
};

namespace {

struct TypeName {
    ScalarType type;
    const char* python;
    const char* text;
    size_t bytes;
};
constexpr TypeName kTypes[] = {
    {ScalarType::Byte, "uint8", "Byte", 1},       {ScalarType::Char, "int8", "Char", 1},      {ScalarType::Short, "int16", "Short", 2},
    {ScalarType::Int, "int32", "Int", 4},         {ScalarType::Long, "int64", "Long", 8},     {ScalarType::Half, "float16", "Half", 2},
    {ScalarType::Float, "float32", "Float", 4},   {ScalarType::Double, "float64", "Double", 8}, {ScalarType::Bool, "bool", "Bool", 1},
    {ScalarType::BFloat16, "bfloat16", "BFloat16", 2}, {ScalarType::ComplexFloat, "complex64", "ComplexFloat", 8},
    {ScalarType::ComplexDouble, "complex128", "ComplexDouble", 16}, {ScalarType::UInt16, "uint16", "UInt16", 2},
    {ScalarType::UInt32, "uint32", "UInt32", 4},  {ScalarType::UInt64, "uint64", "UInt64", 8},
};
const TypeName* named(ScalarType type) {
    for (const TypeName& one : kTypes)
        if (one.type == type) return &one;
    return nullptr;
}

// Looked up each time: a harness may put poisoning versions of the allocators in torch's place.
py::module_ torch_module() { return py::module_::import("torch"); }
py::object python_type(ScalarType type) {
    const TypeName* name = named(type);
    if (!name) throw Error("unsupported dtype in the simulator's light torch");
    return torch_module().attr(name->python);
}
ScalarType type_of(py::handle dtype) {
    const std::string text = py::str(dtype);
    for (const TypeName& one : kTypes)
        if (text == std::string("torch.") + one.python) return one.type;
    return ScalarType::Undefined;
}
py::tuple shape_of(IntArrayRef values) {
    py::tuple shape(values.size());
    for (size_t i = 0; i < values.size(); ++i) shape[i] = values[i];
    return shape;
}
py::object python_scalar(const Scalar& value) {
    if (value.kind == Scalar::Kind::Boolean) return py::bool_(value.integer != 0);
    if (value.kind == Scalar::Kind::Real) return py::float_(value.real);
    return py::int_(value.integer);
}
py::dict keywords(const TensorOptions& options) {
    py::dict words;
    if (options.type) words["dtype"] = python_type(*options.type);
    return words;
}
template <class... A> Tensor made(const char* function, const TensorOptions& options, A&&... arguments) {
    return Tensor(torch_module().attr(function)(std::forward<A>(arguments)..., **keywords(options)));
}
template <class... A> Tensor method(const Tensor& self, const char* name, A&&... arguments) {
    return Tensor(self.python().attr(name)(std::forward<A>(arguments)...));
}
TensorOptions with_type(const TensorOptions& options, const Tensor& like) {
    return options.type ? options : options.dtype(like.scalar_type());
}

}  // namespace

const char* toString(ScalarType type) {
    const TypeName* name = named(type);
    return name ? name->text : "Undefined";
}
std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }
std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << (type == DeviceType::CPU ? "cpu" : "npu"); }
std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
size_t elementSize(ScalarType type) {
    const TypeName* name = named(type);
    return name ? name->bytes : 0;
}
bool isFloatingType(ScalarType type) {
    return type == ScalarType::Half || type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::BFloat16;
}
bool isIntegralType(ScalarType type, bool with_bool) {
    return type <= ScalarType::Long || type == ScalarType::UInt16 || type == ScalarType::UInt32 || type == ScalarType::UInt64 ||
           (with_bool && type == ScalarType::Bool);
}

Tensor::Tensor(py::object object) : facts_(std::make_shared<TensorFacts>()) {
    TensorFacts& facts = *facts_;
    for (py::handle size : object.attr("shape")) facts.sizes.push_back(size.cast<int64_t>());
    for (py::handle stride : object.attr("stride")()) facts.strides.push_back(stride.cast<int64_t>());
    facts.elements = 1;
    for (const int64_t size : facts.sizes) facts.elements *= size;
    facts.type = type_of(object.attr("dtype"));
    facts.data = reinterpret_cast<void*>(object.attr("data_ptr")().cast<uintptr_t>());
    py::object storage = object.attr("untyped_storage")();
    ::opmend_sim::register_global(reinterpret_cast<void*>(storage.attr("data_ptr")().cast<uintptr_t>()), storage.attr("nbytes")().cast<size_t>());
    facts.object = std::move(object);
}

const TensorFacts& Tensor::facts() const {
    if (!facts_) throw Error("an undefined tensor was used");
    return *facts_;
}
py::object Tensor::python() const { return facts().object; }
IntArrayRef Tensor::sizes() const { return facts().sizes; }
IntArrayRef Tensor::strides() const { return facts().strides; }
static size_t wrapped(int64_t dim, size_t rank) {
    const int64_t at = dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
    if (at < 0 || at >= static_cast<int64_t>(rank))
        throw Error("Dimension out of range (expected to be in range of [-" + std::to_string(rank) + ", " + std::to_string(rank) + "), but got " +
                    std::to_string(dim) + ")");
    return static_cast<size_t>(at);
}
int64_t Tensor::size(int64_t dim) const { return facts().sizes[wrapped(dim, facts().sizes.size())]; }
int64_t Tensor::stride(int64_t dim) const { return facts().strides[wrapped(dim, facts().strides.size())]; }
int64_t Tensor::numel() const { return facts().elements; }
int64_t Tensor::element_size() const { return static_cast<int64_t>(elementSize(facts().type)); }
size_t Tensor::nbytes() const { return static_cast<size_t>(numel() * element_size()); }
Storage Tensor::storage() const {
    const py::object storage = python().attr("untyped_storage")();
    return Storage(reinterpret_cast<void*>(storage.attr("data_ptr")().cast<uintptr_t>()), storage.attr("nbytes")().cast<size_t>());
}
int64_t Tensor::storage_offset() const { return python().attr("storage_offset")().cast<int64_t>(); }
ScalarType Tensor::scalar_type() const { return facts().type; }
// Every tensor stands in for one on the device.
Device Tensor::device() const { return Device(DeviceType::PrivateUse1, 0); }
TensorOptions Tensor::options() const { return TensorOptions(scalar_type()).device(device()); }
void* Tensor::data_ptr() const { return facts().data; }
bool Tensor::is_contiguous(MemoryFormat) const {
    const TensorFacts& facts = this->facts();
    int64_t expected = 1;
    for (size_t i = facts.sizes.size(); i-- > 0;) {
        if (facts.sizes[i] == 0) return true;
        if (facts.sizes[i] != 1 && facts.strides[i] != expected) return false;
        expected *= facts.sizes[i];
    }
    return true;
}
Scalar Tensor::item() const {
    const py::object value = python().attr("item")();
    if (py::isinstance<py::bool_>(value)) return Scalar(value.cast<bool>());
    if (py::isinstance<py::int_>(value)) return Scalar(value.cast<int64_t>());
    return Scalar(value.cast<double>());
}
Tensor Tensor::contiguous(MemoryFormat) const { return is_contiguous() ? *this : method(*this, "contiguous"); }
Tensor Tensor::clone() const { return method(*this, "clone"); }
Tensor Tensor::view(IntArrayRef shape) const { return method(*this, "view", shape_of(shape)); }
Tensor Tensor::view(ScalarType type) const { return method(*this, "view", python_type(type)); }
Tensor Tensor::reshape(IntArrayRef shape) const { return method(*this, "reshape", shape_of(shape)); }
Tensor Tensor::expand(IntArrayRef shape, bool) const { return method(*this, "expand", shape_of(shape)); }
Tensor Tensor::permute(IntArrayRef order) const { return method(*this, "permute", shape_of(order)); }
Tensor Tensor::transpose(int64_t a, int64_t b) const { return method(*this, "transpose", a, b); }
Tensor Tensor::squeeze() const { return method(*this, "squeeze"); }
Tensor Tensor::squeeze(int64_t dim) const { return method(*this, "squeeze", dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return method(*this, "unsqueeze", dim); }
Tensor Tensor::flatten(int64_t from, int64_t to) const { return method(*this, "flatten", from, to); }
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const { return method(*this, "narrow", dim, start, length); }
Tensor Tensor::select(int64_t dim, int64_t index) const { return method(*this, "select", dim, index); }
Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) const {
    py::tuple index(wrapped(dim, facts().sizes.size()) + 1);
    for (size_t i = 0; i + 1 < index.size(); ++i) index[i] = py::slice(std::nullopt, std::nullopt, std::nullopt);
    index[index.size() - 1] = py::slice(start ? std::optional<py::ssize_t>(*start) : std::nullopt, end ? std::optional<py::ssize_t>(*end) : std::nullopt,
                                        py::ssize_t{step});
    return Tensor(python()[index]);
}
Tensor Tensor::to(ScalarType type, bool, bool copy) const {
    if (type == scalar_type() && !copy) return *this;
    return Tensor(python().attr("to")(python_type(type)));
}
Tensor Tensor::to(Device, bool, bool copy) const { return copy ? clone() : *this; }
Tensor Tensor::to(Device, ScalarType type, bool non_blocking, bool copy) const { return to(type, non_blocking, copy); }
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy) const {
    return to(options.type.value_or(scalar_type()), non_blocking, copy);
}
Tensor& Tensor::copy_(const Tensor& source, bool) {
    python().attr("copy_")(source.python());
    return *this;
}
Tensor& Tensor::zero_() {
    python().attr("zero_")();
    return *this;
}
Tensor& Tensor::fill_(const Scalar& value) {
    python().attr("fill_")(python_scalar(value));
    return *this;
}
Tensor& Tensor::resize_(IntArrayRef shape) {
    *this = Tensor(python().attr("resize_")(shape_of(shape)));
    return *this;
}
Tensor Tensor::new_empty(IntArrayRef shape, const TensorOptions& options) const { return empty(shape, with_type(options, *this)); }
Tensor Tensor::new_zeros(IntArrayRef shape, const TensorOptions& options) const { return zeros(shape, with_type(options, *this)); }
Tensor Tensor::new_ones(IntArrayRef shape, const TensorOptions& options) const { return ones(shape, with_type(options, *this)); }
Tensor Tensor::new_full(IntArrayRef shape, const Scalar& value, const TensorOptions& options) const {
    return full(shape, value, with_type(options, *this));
}

Tensor empty(IntArrayRef shape, const TensorOptions& options) { return made("empty", options, shape_of(shape)); }
Tensor zeros(IntArrayRef shape, const TensorOptions& options) { return made("zeros", options, shape_of(shape)); }
Tensor ones(IntArrayRef shape, const TensorOptions& options) { return made("ones", options, shape_of(shape)); }
Tensor full(IntArrayRef shape, const Scalar& value, const TensorOptions& options) {
    return made("full", options, shape_of(shape), python_scalar(value));
}
Tensor empty_strided(IntArrayRef shape, IntArrayRef strides, const TensorOptions& options) {
    return made("empty_strided", options, shape_of(shape), shape_of(strides));
}
Tensor empty_like(const Tensor& like, const TensorOptions& options) { return made("empty_like", options, like.python()); }
Tensor empty_like(const Tensor& like, const TensorOptions& options, std::optional<MemoryFormat>) { return empty_like(like, options); }
Tensor zeros_like(const Tensor& like, const TensorOptions& options) { return made("zeros_like", options, like.python()); }
Tensor ones_like(const Tensor& like, const TensorOptions& options) { return made("ones_like", options, like.python()); }
Tensor full_like(const Tensor& like, const Scalar& value, const TensorOptions& options) {
    return made("full_like", options, like.python(), python_scalar(value));
}
Tensor tensor_of(const std::vector<double>& values, const TensorOptions& options, ScalarType inferred) {
    py::list list;
    for (const double value : values) {
        if (isFloatingType(inferred)) list.append(value);
        else list.append(static_cast<int64_t>(value));
    }
    return made("tensor", options.type ? options : options.dtype(inferred), list);
}
Tensor from_blob(void* data, IntArrayRef shape, const TensorOptions& options) {
    Tensor copy = empty(shape, options);
    std::memcpy(copy.data_ptr(), data, copy.nbytes());
    return copy;
}
std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
    const size_t rank = std::max(a.size(), b.size());
    std::vector<int64_t> out(rank, 1);
    for (size_t i = 0; i < rank; ++i) {
        const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) throw Error("the sizes " + joined(a) + " and " + joined(b) + " do not broadcast");
        out[rank - 1 - i] = x == 1 ? y : x;
    }
    return out;
}
void failed_check(const char* condition, const std::string& message, const char* file, int line) {
    throw Error(message.empty() ? "Expected " + std::string(condition) + " to be true, but got false (" + file + ":" + std::to_string(line) + ")"
                                : message);
}

}  // namespace at

namespace pybind11::detail {
bool type_caster<at::Tensor>::load(handle source, bool) {
    if (!source || source.is_none() || !isinstance(source, module_::import("torch").attr("Tensor"))) return false;
    value = at::Tensor(reinterpret_borrow<object>(source));
    return true;
}
handle type_caster<at::Tensor>::cast(const at::Tensor& tensor, return_value_policy, handle) {
    if (!tensor.defined()) return none().release();
    return tensor.python().release();
}
bool type_caster<at::ScalarType>::load(handle source, bool) {
    if (!source || !isinstance(source, module_::import("torch").attr("dtype"))) return false;
    value = at::type_of(source);
    return true;
}
handle type_caster<at::ScalarType>::cast(at::ScalarType type, return_value_policy, handle) { return at::python_type(type).release(); }
bool type_caster<at::Scalar>::load(handle source, bool) {
    if (!source) return false;
    if (isinstance<bool_>(source)) value = at::Scalar(source.cast<bool>());
    else if (isinstance<int_>(source)) value = at::Scalar(source.cast<int64_t>());
    else if (isinstance<float_>(source)) value = at::Scalar(source.cast<double>());
    else return false;
    return true;
}
handle type_caster<at::Scalar>::cast(const at::Scalar& scalar, return_value_policy, handle) { return at::python_scalar(scalar).release(); }
bool type_caster<at::IntArrayRef>::load(handle source, bool convert) {
    make_caster<std::vector<int64_t>> list;
    if (!list.load(source, convert)) return false;
    kept = cast_op<std::vector<int64_t>&&>(std::move(list));
    value = at::IntArrayRef(kept);
    return true;
}
}  // namespace pybind11::detail

namespace opmend_sim {
namespace {
// One of torch.library's objects a namespace and kind of key, kept until the process ends: they unregister when they are collected.
py::object& library_of(const std::string& space) {
    static auto* all = new std::map<std::string, py::object>();
    py::object& one = (*all)[space];
    if (!one) one = py::module_::import("torch.library").attr("Library")(space, "FRAGMENT");
    return one;
}
}  // namespace

void library_define(const std::string& space, const std::string& schema) { library_of(space).attr("define")(schema); }
void library_implement(const std::string& space, const std::string& name, const std::string& key, py::cpp_function function) {
    // Device kernels run on CPU tensors here; shape functions and gradients keep their own key.
    const bool own = key == "Meta" || key.rfind("Autograd", 0) == 0;
    library_of(space).attr("impl")(name, function, own ? key : "CompositeExplicitAutograd");
}
}  // namespace opmend_sim
