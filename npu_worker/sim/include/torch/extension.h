// A light torch/extension.h: at::Tensor is a handle to a Python torch.Tensor. It compiles in a fraction of the time of
// the real headers and covers what a kernel's host side does: shapes, allocation, views, pointers, checks.
// Allocation goes through Python torch, so that a harness can poison it. There is no compute here on purpose. No class here has pybind11's
// types in it: a unit is compiled with the binding layer or, with OPMEND_SIM_FULL_PYBIND11, with pybind11 itself, and both link with one runtime.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

// What sources get of the standard library by way of torch's own header, needed here or not: most include nothing else.
#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "opmend_sim/numeric.h"
#include "opmend_sim/python.h"

namespace py = pybind11;

#pragma GCC visibility push(hidden)
namespace at {

enum class ScalarType : int8_t {
    Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool, QInt8, QUInt8, QInt32, BFloat16,
    UInt16 = 27, UInt32 = 28, UInt64 = 29, Undefined = 45, NumOptions = 46,
};
enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 14, PrivateUse1 = 20 };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
enum class Layout : int8_t { Strided };
inline constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char,
    kShort = ScalarType::Short, kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long,
    kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half, kFloat = ScalarType::Float, kFloat32 = ScalarType::Float,
    kDouble = ScalarType::Double, kFloat64 = ScalarType::Double, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16,
    kComplexFloat = ScalarType::ComplexFloat, kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;
inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kPrivateUse1 = DeviceType::PrivateUse1;
inline constexpr Layout kStrided = Layout::Strided;
using Half = ::half;
using BFloat16 = ::bfloat16_t;
template <class T> using optional = std::optional<T>;
using std::nullopt;
using std::nullopt_t;
using std::make_optional;

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
    const char* what_without_backtrace() const noexcept { return what(); }
    std::string msg() const { return what(); }
};
const char* toString(ScalarType type);
std::ostream& operator<<(std::ostream& out, ScalarType type);
std::ostream& operator<<(std::ostream& out, DeviceType type);
size_t elementSize(ScalarType type);
bool isFloatingType(ScalarType type);
bool isIntegralType(ScalarType type, bool with_bool = false);

template <class T> class ArrayRef {
public:
    ArrayRef() = default;
    ArrayRef(const T& one) : data_(&one), size_(1) {}
    ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
    ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
    ArrayRef(const std::vector<T>& values) : data_(values.data()), size_(values.size()) {}
    ArrayRef(const std::initializer_list<T>& values) : data_(values.begin()), size_(values.size()) {}
    template <size_t N> ArrayRef(const std::array<T, N>& values) : data_(values.data()), size_(N) {}
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T& operator[](size_t i) const { return data_[i]; }
    const T& at(size_t i) const {
        if (i >= size_) throw Error("ArrayRef: index out of range");
        return data_[i];
    }
    const T& front() const { return at(0); }
    const T& back() const { return at(size_ - 1); }
    std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
    operator std::vector<T>() const { return vec(); }
    ArrayRef slice(size_t from, size_t count) const { return ArrayRef(data_ + from, count); }
    ArrayRef slice(size_t from) const { return ArrayRef(data_ + from, size_ - from); }
    bool equals(ArrayRef other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
    friend bool operator==(ArrayRef a, ArrayRef b) { return a.equals(b); }
    friend bool operator!=(ArrayRef a, ArrayRef b) { return !a.equals(b); }
    friend std::ostream& operator<<(std::ostream& out, ArrayRef values) {
        out << "[";
        for (size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
        return out << "]";
    }

private:
    const T* data_ = nullptr;
    size_t size_ = 0;
};
using IntArrayRef = ArrayRef<int64_t>;

struct Scalar {
    enum class Kind : uint8_t { Integer, Real, Boolean } kind = Kind::Integer;
    double real = 0;
    int64_t integer = 0;
    Scalar() = default;
    template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0> Scalar(T value)
        : kind(std::is_same_v<T, bool> ? Kind::Boolean : std::is_floating_point_v<T> ? Kind::Real : Kind::Integer),
          real(static_cast<double>(value)), integer(static_cast<int64_t>(value)) {}
    template <class T> T to() const { return kind == Kind::Real ? static_cast<T>(real) : static_cast<T>(integer); }
    double toDouble() const { return to<double>(); }
    float toFloat() const { return to<float>(); }
    int64_t toLong() const { return to<int64_t>(); }
    int toInt() const { return to<int>(); }
    bool toBool() const { return to<bool>(); }
    bool isFloatingPoint() const { return kind == Kind::Real; }
    bool isIntegral(bool with_bool = false) const { return kind == Kind::Integer || (with_bool && kind == Kind::Boolean); }
    bool isBoolean() const { return kind == Kind::Boolean; }
};

struct Device {
    DeviceType kind = DeviceType::PrivateUse1;
    int8_t number = 0;
    Device() = default;
    Device(DeviceType type, int8_t index = -1) : kind(type), number(index) {}
    Device(const std::string& name) : kind(name.rfind("cpu", 0) == 0 ? DeviceType::CPU : DeviceType::PrivateUse1) {}
    Device(const char* name) : Device(std::string(name)) {}
    DeviceType type() const { return kind; }
    int8_t index() const { return number; }
    bool has_index() const { return number >= 0; }
    bool is_cpu() const { return kind == DeviceType::CPU; }
    bool is_cuda() const { return false; }
    bool is_privateuseone() const { return kind == DeviceType::PrivateUse1; }
    std::string str() const { return is_cpu() ? "cpu" : "npu:0"; }
    bool operator==(const Device& other) const { return kind == other.kind; }
    bool operator!=(const Device& other) const { return !(*this == other); }
};
std::ostream& operator<<(std::ostream& out, const Device& device);

struct TypeMeta {
    ScalarType type = ScalarType::Float;
    size_t itemsize() const { return elementSize(type); }
    std::string name() const { return toString(type); }
    ScalarType toScalarType() const { return type; }
    friend bool operator==(TypeMeta a, TypeMeta b) { return a.type == b.type; }
    friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type != b.type; }
    friend bool operator==(TypeMeta a, ScalarType b) { return a.type == b; }
    friend bool operator!=(TypeMeta a, ScalarType b) { return a.type != b; }
    friend bool operator==(ScalarType a, TypeMeta b) { return a == b.type; }
    friend bool operator!=(ScalarType a, TypeMeta b) { return a != b.type; }
    friend std::ostream& operator<<(std::ostream& out, TypeMeta meta) { return out << toString(meta.type); }
};
inline ScalarType typeMetaToScalarType(TypeMeta meta) { return meta.type; }

struct TensorOptions {
    std::optional<ScalarType> type;
    std::optional<Device> place;
    TensorOptions() = default;
    TensorOptions(ScalarType dtype) : type(dtype) {}
    TensorOptions(TypeMeta dtype) : type(dtype.type) {}
    TensorOptions(Device device) : place(device) {}
    TensorOptions(DeviceType device) : place(Device(device)) {}
    TensorOptions dtype(ScalarType value) const { auto copy = *this; copy.type = value; return copy; }
    TensorOptions dtype(TypeMeta value) const { return dtype(value.type); }
    TensorOptions dtype(std::optional<ScalarType> value) const { auto copy = *this; copy.type = value; return copy; }
    TensorOptions device(Device value) const { auto copy = *this; copy.place = value; return copy; }
    TensorOptions device(DeviceType value, int8_t = -1) const { return device(Device(value)); }
    TensorOptions layout(Layout) const { return *this; }
    TensorOptions requires_grad(bool) const { return *this; }
    TensorOptions pinned_memory(bool) const { return *this; }
    TensorOptions memory_format(MemoryFormat) const { return *this; }
    TypeMeta dtype() const { return TypeMeta{type.value_or(ScalarType::Float)}; }
    Device device() const { return place.value_or(Device()); }
};
inline TensorOptions dtype(ScalarType value) { return TensorOptions(value); }
inline TensorOptions device(Device value) { return TensorOptions(value); }

template <class T> constexpr ScalarType scalar_type_of() {
    if constexpr (std::is_same_v<T, uint8_t>) return ScalarType::Byte;
    else if constexpr (std::is_same_v<T, int8_t>) return ScalarType::Char;
    else if constexpr (std::is_same_v<T, int16_t>) return ScalarType::Short;
    else if constexpr (std::is_same_v<T, int32_t>) return ScalarType::Int;
    else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, long long>) return ScalarType::Long;
    else if constexpr (std::is_same_v<T, Half>) return ScalarType::Half;
    else if constexpr (std::is_same_v<T, float>) return ScalarType::Float;
    else if constexpr (std::is_same_v<T, double>) return ScalarType::Double;
    else if constexpr (std::is_same_v<T, bool>) return ScalarType::Bool;
    else if constexpr (std::is_same_v<T, BFloat16>) return ScalarType::BFloat16;
    else return ScalarType::Undefined;
}

// The memory behind a tensor and its views. data() is its start, whatever the tensor's offset.
class Storage {
public:
    Storage(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
    void* data() const { return data_; }
    void* mutable_data() const { return data_; }
    const Storage& data_ptr() const { return *this; }
    void* get() const { return data_; }
    size_t nbytes() const { return bytes_; }

private:
    void* data_;
    size_t bytes_;
};

struct TensorFacts;
class Tensor {
public:
    Tensor() = default;
    explicit Tensor(::opmend_sim::Reference object);
    bool defined() const { return facts_ != nullptr; }
    IntArrayRef sizes() const;
    IntArrayRef strides() const;
    int64_t size(int64_t dim) const;
    int64_t stride(int64_t dim) const;
    int64_t dim() const { return static_cast<int64_t>(sizes().size()); }
    int64_t ndimension() const { return dim(); }
    int64_t numel() const;
    size_t nbytes() const;
    int64_t element_size() const;
    int64_t itemsize() const { return element_size(); }
    int64_t storage_offset() const;
    Storage storage() const;
    bool has_storage() const { return defined(); }
    ScalarType scalar_type() const;
    TypeMeta dtype() const { return TypeMeta{scalar_type()}; }
    Device device() const;
    TensorOptions options() const;
    Layout layout() const { return Layout::Strided; }
    bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    bool is_cpu() const { return device().is_cpu(); }
    bool is_cuda() const { return false; }
    bool is_privateuseone() const { return device().is_privateuseone(); }
    bool is_floating_point() const { return isFloatingType(scalar_type()); }
    bool requires_grad() const { return false; }
    void* data_ptr() const;
    template <class T> T* data_ptr() const {
        constexpr ScalarType wanted = scalar_type_of<std::remove_const_t<T>>();
        if (wanted != ScalarType::Undefined && wanted != scalar_type())
            throw Error(std::string("expected scalar type ") + toString(wanted) + " but found " + toString(scalar_type()));
        return static_cast<T*>(data_ptr());
    }
    void* mutable_data_ptr() const { return data_ptr(); }
    const void* const_data_ptr() const { return data_ptr(); }
    template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
    template <class T> const T* const_data_ptr() const { return data_ptr<T>(); }
    Scalar item() const;
    template <class T> T item() const { return item().template to<T>(); }
    Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    Tensor clone() const;
    Tensor detach() const { return *this; }
    Tensor cpu() const { return *this; }
    Tensor npu() const { return *this; }
    Tensor view(IntArrayRef shape) const;
    Tensor view(ScalarType type) const;
    Tensor reshape(IntArrayRef shape) const;
    Tensor expand(IntArrayRef shape, bool implicit = false) const;
    Tensor permute(IntArrayRef order) const;
    Tensor transpose(int64_t a, int64_t b) const;
    Tensor t() const { return transpose(0, 1); }
    Tensor squeeze() const;
    Tensor squeeze(int64_t dim) const;
    Tensor unsqueeze(int64_t dim) const;
    Tensor flatten(int64_t from = 0, int64_t to = -1) const;
    Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
    Tensor select(int64_t dim, int64_t index) const;
    Tensor slice(int64_t dim = 0, std::optional<int64_t> start = std::nullopt, std::optional<int64_t> end = std::nullopt, int64_t step = 1) const;
    Tensor operator[](int64_t index) const { return select(0, index); }
    Tensor to(ScalarType type, bool non_blocking = false, bool copy = false) const;
    Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
    Tensor to(Device device, ScalarType type, bool non_blocking = false, bool copy = false) const;
    Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
    Tensor toType(ScalarType type) const { return to(type); }
    Tensor& copy_(const Tensor& source, bool non_blocking = false);
    Tensor& zero_();
    Tensor& fill_(const Scalar& value);
    Tensor& resize_(IntArrayRef shape);
    Tensor new_empty(IntArrayRef shape, const TensorOptions& options = {}) const;
    Tensor new_zeros(IntArrayRef shape, const TensorOptions& options = {}) const;
    Tensor new_ones(IntArrayRef shape, const TensorOptions& options = {}) const;
    Tensor new_full(IntArrayRef shape, const Scalar& value, const TensorOptions& options = {}) const;
    bool is_same(const Tensor& other) const { return facts_ == other.facts_; }
    // Its torch.Tensor; raises Error where it is undefined. Needs the GIL.
    ::opmend_sim::Reference python() const;

private:
    const TensorFacts& facts() const;
    std::shared_ptr<TensorFacts> facts_;
};
using TensorList = ArrayRef<Tensor>;

Tensor empty(IntArrayRef shape, const TensorOptions& options = {});
Tensor zeros(IntArrayRef shape, const TensorOptions& options = {});
Tensor ones(IntArrayRef shape, const TensorOptions& options = {});
Tensor full(IntArrayRef shape, const Scalar& value, const TensorOptions& options = {});
Tensor empty_strided(IntArrayRef shape, IntArrayRef strides, const TensorOptions& options = {});
Tensor empty_like(const Tensor& like, const TensorOptions& options = {});
Tensor empty_like(const Tensor& like, const TensorOptions& options, std::optional<MemoryFormat> format);
Tensor zeros_like(const Tensor& like, const TensorOptions& options = {});
Tensor ones_like(const Tensor& like, const TensorOptions& options = {});
Tensor full_like(const Tensor& like, const Scalar& value, const TensorOptions& options = {});
Tensor tensor_of(const std::vector<double>& values, const TensorOptions& options, ScalarType inferred);
Tensor from_blob(void* data, IntArrayRef shape, const TensorOptions& options = {});
template <class T> Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
    return tensor_of(std::vector<double>(values.begin(), values.end()), options, scalar_type_of<T>());
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
    return tensor(std::vector<T>(values), options);
}
std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b);

template <class... A> std::string joined(const A&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

// Between Python and torch's types: whether `source` is one, and a new reference to one (null: the Python error that is set).
bool load_python(PyObject* source, Tensor& out);
bool load_python(PyObject* source, ScalarType& out);
bool load_python(PyObject* source, Scalar& out);
bool load_python(PyObject* source, Device& out);
PyObject* python_of(const Tensor& tensor);
PyObject* python_of(ScalarType type);
PyObject* python_of(const Scalar& scalar);
PyObject* python_of(const Device& device);

[[noreturn]] void failed_check(const char* condition, const std::string& message, const char* file, int line);
}  // namespace at

namespace c10 {
using namespace at;
template <class... A> std::string str(const A&... parts) { return at::joined(parts...); }
}  // namespace c10
namespace torch {
using namespace at;
struct NoGradGuard {};
}  // namespace torch

#define TORCH_CHECK(condition, ...)                                                                               \
    do {                                                                                                          \
        if (!(condition)) ::at::failed_check(#condition, ::at::joined(__VA_ARGS__), __FILE__, __LINE__);           \
    } while (0)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ERROR(...) ::at::failed_check("", ::at::joined(__VA_ARGS__), __FILE__, __LINE__)
#define TORCH_WARN(...) ((void)0)

#pragma GCC visibility pop

#include "torch/casters.h"
#include "torch/dispatch.h"
