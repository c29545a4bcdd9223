// at::Tensor of the light torch/extension.h, by way of Python torch.
#include "torch/extension.h"

#include <cmath>
#include <map>

#include "opmend_sim/core.h"

namespace at {

using ::opmend_sim::Held;
using ::opmend_sim::Reference;

struct TensorFacts {
    Reference object;
    std::vector<int64_t> sizes, strides;
    void* data = nullptr;
    int64_t elements = 0;
    ScalarType type = ScalarType::Undefined;
};

namespace {

// The last tensor may end on a thread without the GIL, or after Python itself.
void drop(TensorFacts* facts) {
    if (Py_IsInitialized()) {
        const Held held;
        facts->object = Reference();
    } else {
        facts->object.release();
    }
    delete facts;
}

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
    const std::string text = py::str(py::reinterpret_borrow<py::object>(dtype));
    for (const TypeName& one : kTypes)
        if (text == std::string("torch.") + one.python) return one.type;
    return ScalarType::Undefined;
}
py::object python_scalar(const Scalar& value) {
    if (value.kind == Scalar::Kind::Boolean) return py::bool_(value.integer != 0);
    if (value.kind == Scalar::Kind::Real) return py::float_(value.real);
    return py::int_(value.integer);
}
py::object object_of(const Reference& reference) { return py::reinterpret_borrow<py::object>(reference.get()); }
py::object object_of(const Tensor& tensor) { return object_of(tensor.python()); }
Tensor tensor_from(py::object object) { return Tensor(Reference::owned(object.release().ptr())); }
// Each runs with the GIL, whether or not the kernel's host code gave it away.
template <class... A> Tensor made(const char* function, const TensorOptions& options, const A&... arguments) {
    const Held held;
    const py::object callee = torch_module().attr(function);
    const py::tuple passed = py::make_tuple(arguments...);
    py::dict words;
    if (options.type) words["dtype"] = python_type(*options.type);
    return Tensor(::opmend_sim::checked(PyObject_Call(callee.ptr(), passed.ptr(), words.ptr())));
}
template <class... A> Tensor method(const Tensor& self, const char* name, const A&... arguments) {
    const Held held;
    return tensor_from(object_of(self).attr(name)(arguments...));
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

// A call of a method without arguments whose result is an integer.
static int64_t integer_of(const py::object& object, const char* method) { return object.attr(method)().cast<int64_t>(); }
static uintptr_t address_of(const py::object& object) { return object.attr("data_ptr")().cast<uintptr_t>(); }
static Storage storage_of(const py::object& tensor) {
    const py::object storage = tensor.attr("untyped_storage")();
    return Storage(reinterpret_cast<void*>(address_of(storage)), static_cast<size_t>(integer_of(storage, "nbytes")));
}

Tensor::Tensor(Reference reference) : facts_(new TensorFacts(), &drop) {
    TensorFacts& facts = *facts_;
    const py::object object = object_of(reference);
    facts.sizes = static_cast<py::object>(object.attr("shape")).cast<std::vector<int64_t>>();
    facts.strides = object.attr("stride")().cast<std::vector<int64_t>>();
    facts.elements = 1;
    for (const int64_t size : facts.sizes) facts.elements *= size;
    facts.type = type_of(static_cast<py::object>(object.attr("dtype")));
    facts.data = reinterpret_cast<void*>(address_of(object));
    const Storage storage = storage_of(object);
    ::opmend_sim::register_global(storage.data(), storage.nbytes());
    facts.object = std::move(reference);
}

const TensorFacts& Tensor::facts() const {
    if (!facts_) throw Error("an undefined tensor was used");
    return *facts_;
}
Reference Tensor::python() const { return facts().object; }
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
    const Held held;
    return storage_of(object_of(*this));
}
int64_t Tensor::storage_offset() const {
    const Held held;
    return integer_of(object_of(*this), "storage_offset");
}
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
    const Held held;
    return object_of(*this).attr("item")().cast<Scalar>();
}
Tensor Tensor::contiguous(MemoryFormat) const { return is_contiguous() ? *this : method(*this, "contiguous"); }
Tensor Tensor::clone() const { return method(*this, "clone"); }
Tensor Tensor::view(IntArrayRef shape) const { return method(*this, "view", shape); }
Tensor Tensor::view(ScalarType type) const { return method(*this, "view", type); }
Tensor Tensor::reshape(IntArrayRef shape) const { return method(*this, "reshape", shape); }
Tensor Tensor::expand(IntArrayRef shape, bool) const { return method(*this, "expand", shape); }
Tensor Tensor::permute(IntArrayRef order) const { return method(*this, "permute", order); }
Tensor Tensor::transpose(int64_t a, int64_t b) const { return method(*this, "transpose", a, b); }
Tensor Tensor::squeeze() const { return method(*this, "squeeze"); }
Tensor Tensor::squeeze(int64_t dim) const { return method(*this, "squeeze", dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return method(*this, "unsqueeze", dim); }
Tensor Tensor::flatten(int64_t from, int64_t to) const { return method(*this, "flatten", from, to); }
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const { return method(*this, "narrow", dim, start, length); }
Tensor Tensor::select(int64_t dim, int64_t index) const { return method(*this, "select", dim, index); }
Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) const {
    const Held held;
    const size_t at = wrapped(dim, facts().sizes.size());
    const py::object from = py::cast(start), to = py::cast(end), by = py::cast(step);
    const py::tuple index(at + 1);
    for (size_t i = 0; i < at; ++i) index[i] = py::taken(PySlice_New(nullptr, nullptr, nullptr));
    index[at] = py::taken(PySlice_New(from.ptr(), to.ptr(), by.ptr()));
    return tensor_from(py::handle(object_of(*this))[py::handle(index)]);
}
Tensor Tensor::to(ScalarType type, bool, bool copy) const {
    if (type == scalar_type() && !copy) return *this;
    return method(*this, "to", type);
}
Tensor Tensor::to(Device, bool, bool copy) const { return copy ? clone() : *this; }
Tensor Tensor::to(Device, ScalarType type, bool non_blocking, bool copy) const { return to(type, non_blocking, copy); }
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy) const {
    return to(options.type.value_or(scalar_type()), non_blocking, copy);
}
Tensor& Tensor::copy_(const Tensor& source, bool) {
    method(*this, "copy_", source);
    return *this;
}
Tensor& Tensor::zero_() {
    method(*this, "zero_");
    return *this;
}
Tensor& Tensor::fill_(const Scalar& value) {
    method(*this, "fill_", value);
    return *this;
}
Tensor& Tensor::resize_(IntArrayRef shape) {
    *this = method(*this, "resize_", shape);
    return *this;
}
Tensor Tensor::new_empty(IntArrayRef shape, const TensorOptions& options) const { return empty(shape, with_type(options, *this)); }
Tensor Tensor::new_zeros(IntArrayRef shape, const TensorOptions& options) const { return zeros(shape, with_type(options, *this)); }
Tensor Tensor::new_ones(IntArrayRef shape, const TensorOptions& options) const { return ones(shape, with_type(options, *this)); }
Tensor Tensor::new_full(IntArrayRef shape, const Scalar& value, const TensorOptions& options) const {
    return full(shape, value, with_type(options, *this));
}

Tensor empty(IntArrayRef shape, const TensorOptions& options) { return made("empty", options, shape); }
Tensor zeros(IntArrayRef shape, const TensorOptions& options) { return made("zeros", options, shape); }
Tensor ones(IntArrayRef shape, const TensorOptions& options) { return made("ones", options, shape); }
Tensor full(IntArrayRef shape, const Scalar& value, const TensorOptions& options) {
    return made("full", options, shape, value);
}
Tensor empty_strided(IntArrayRef shape, IntArrayRef strides, const TensorOptions& options) {
    return made("empty_strided", options, shape, strides);
}
Tensor empty_like(const Tensor& like, const TensorOptions& options) { return made("empty_like", options, like); }
Tensor empty_like(const Tensor& like, const TensorOptions& options, std::optional<MemoryFormat>) { return empty_like(like, options); }
Tensor zeros_like(const Tensor& like, const TensorOptions& options) { return made("zeros_like", options, like); }
Tensor ones_like(const Tensor& like, const TensorOptions& options) { return made("ones_like", options, like); }
Tensor full_like(const Tensor& like, const Scalar& value, const TensorOptions& options) {
    return made("full_like", options, like, value);
}
Tensor tensor_of(const std::vector<double>& values, const TensorOptions& options, ScalarType inferred) {
    const TensorOptions typed = options.type ? options : options.dtype(inferred);
    if (isFloatingType(inferred)) return made("tensor", typed, values);
    return made("tensor", typed, std::vector<int64_t>(values.begin(), values.end()));
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

bool load_python(PyObject* source, Tensor& out) {
    if (!source || source == Py_None || !py::isinstance(source, static_cast<py::object>(torch_module().attr("Tensor")))) return false;
    out = Tensor(Reference::borrowed(source));
    return true;
}
bool load_python(PyObject* source, ScalarType& out) {
    if (!source || !py::isinstance(source, static_cast<py::object>(torch_module().attr("dtype")))) return false;
    out = type_of(source);
    return true;
}
bool load_python(PyObject* source, Scalar& out) {
    if (!source) return false;
    if (PyBool_Check(source)) out = Scalar(source == Py_True);
    else if (PyLong_Check(source)) out = Scalar(py::handle(source).cast<int64_t>());
    else if (PyFloat_Check(source)) out = Scalar(PyFloat_AS_DOUBLE(source));
    else return false;
    return true;
}
// A tensor's device is the simulated one, whatever Python calls it, so an argument's is too.
bool load_python(PyObject* source, Device& out) {
    if (!source || !py::isinstance(source, static_cast<py::object>(torch_module().attr("device")))) return false;
    out = Device(DeviceType::PrivateUse1, 0);
    return true;
}
PyObject* python_of(const Tensor& tensor) { return tensor.defined() ? tensor.python().release() : py::none().release().ptr(); }
PyObject* python_of(ScalarType type) { return python_type(type).release().ptr(); }
PyObject* python_of(const Scalar& scalar) { return python_scalar(scalar).release().ptr(); }
PyObject* python_of(const Device&) { return torch_module().attr("device")("cpu").release().ptr(); }

}  // namespace at

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
void library_implement(const std::string& space, const std::string& name, const std::string& key, Reference function) {
    // Device kernels run on CPU tensors here; shape functions and gradients keep their own key.
    const bool own = key == "Meta" || key.rfind("Autograd", 0) == 0;
    const auto callee = py::reinterpret_borrow<py::object>(function.get());
    library_of(space).attr("impl")(name, callee, own ? key : "CompositeExplicitAutograd");
}
}  // namespace opmend_sim
