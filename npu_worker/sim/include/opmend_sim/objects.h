// The binding layer's Python objects: handle, object, attributes and items, and the types that host code builds results of.
// Names and meanings are pybind11's interface; what is not here makes a source be compiled with pybind11 itself.
#pragma once
#include <stdexcept>
#include <string>
#include <type_traits>

#include "opmend_sim/python.h"

#pragma GCC visibility push(hidden)
namespace opmend_sim::binding {
// Between a C++ type and Python: value, load(source, convert), cast(value), name(text). A type without one stops the compile on purpose.
template <class T, class = void> struct Caster;
template <class T> PyObject* python_from(T&& value) { return Caster<std::decay_t<T>>::cast(std::forward<T>(value)); }
}  // namespace opmend_sim::binding

// The inline namespace keeps these classes apart from pybind11's own in a unit that is linked with them.
namespace pybind11 {
inline namespace opmend_light {
using ssize_t = Py_ssize_t;
using size_t = std::size_t;
class object;
class accessor;
class iterator;
using error_already_set = ::opmend_sim::PythonError;

// A C++ exception that becomes the Python exception of its name.
struct builtin_exception : std::runtime_error {
    builtin_exception(PyObject* type, const char* text) : std::runtime_error(text), type(type) {}
    PyObject* type;
};
#define OPMEND_RAISED(name, kind)                                                     \
    struct name : builtin_exception {                                                 \
        explicit name(const char* text = "") : builtin_exception(kind, text) {}       \
        explicit name(const std::string& text) : builtin_exception(kind, text.c_str()) {} \
    }
OPMEND_RAISED(stop_iteration, PyExc_StopIteration);
OPMEND_RAISED(index_error, PyExc_IndexError);
OPMEND_RAISED(key_error, PyExc_KeyError);
OPMEND_RAISED(value_error, PyExc_ValueError);
OPMEND_RAISED(type_error, PyExc_TypeError);
OPMEND_RAISED(buffer_error, PyExc_BufferError);
OPMEND_RAISED(import_error, PyExc_ImportError);
OPMEND_RAISED(attribute_error, PyExc_AttributeError);
OPMEND_RAISED(cast_error, PyExc_RuntimeError);
#undef OPMEND_RAISED

class handle {
public:
    handle() = default;
    handle(PyObject* object) : object_(object) {}
    PyObject* ptr() const { return object_; }
    const handle& inc_ref() const {
        Py_XINCREF(object_);
        return *this;
    }
    const handle& dec_ref() const {
        Py_XDECREF(object_);
        return *this;
    }
    explicit operator bool() const { return object_ != nullptr; }
    bool is_none() const { return object_ == Py_None; }
    bool is(handle other) const { return object_ == other.object_; }
    accessor attr(const char* name) const;
    accessor operator[](handle key) const;
    accessor operator[](const char* key) const;
    template <class... A> object operator()(A&&... arguments) const;
    template <class T> T cast() const;
    iterator begin() const;
    iterator end() const;

protected:
    PyObject* object_ = nullptr;
};

class object : public handle {
public:
    object() = default;
    object(const object& other) : handle(other) { inc_ref(); }
    object(object&& other) noexcept : handle(std::exchange(other.object_, nullptr)) {}
    ~object() { dec_ref(); }
    object& operator=(object other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    handle release() { return std::exchange(object_, nullptr); }

    // How derived classes and the functions below take a pointer: with its reference, or with one more.
    struct Stolen {};
    struct Borrowed {};
    object(handle from, Stolen) : handle(from) {}
    object(handle from, Borrowed) : handle(from) { inc_ref(); }
};
template <class T> T reinterpret_steal(handle from) { return T(from, object::Stolen{}); }
template <class T> T reinterpret_borrow(handle from) { return T(from, object::Borrowed{}); }

// runtime/objects.cpp. Null results are raised as the Python error that is set.
object taken(PyObject* result);
object called(handle function, PyObject** arguments, size_t count);
PyObject* text_object(const char* data, size_t size);
[[noreturn]] void cannot_cast(handle from, const std::string& to);

// An attribute or an item, looked up when it is read.
class accessor {
public:
    accessor(handle base, object key, bool is_item) : base_(base, object::Borrowed{}), key_(std::move(key)), is_item_(is_item) {}
    accessor(const accessor&) = default;
    object get() const;
    void set(const object& value) const;
    operator object() const { return get(); }
    PyObject* ptr() const { return get().ptr(); }
    bool is_none() const { return get().is_none(); }
    template <class T> void operator=(T&& value) const { set(taken(::opmend_sim::binding::python_from(std::forward<T>(value)))); }
    void operator=(const accessor& other) const { set(other.get()); }
    template <class T> T cast() const { return get().template cast<T>(); }
    template <class... A> object operator()(A&&... arguments) const { return get()(std::forward<A>(arguments)...); }
    accessor attr(const char* name) const { return get().attr(name); }
    accessor operator[](const char* key) const { return get()[key]; }

private:
    object base_, key_;
    bool is_item_;
};

class iterator {
public:
    iterator() = default;
    explicit iterator(object over) : over_(std::move(over)) { ++*this; }
    handle operator*() const { return now_; }
    iterator& operator++();
    bool operator!=(const iterator& other) const { return now_.ptr() != other.now_.ptr(); }
    bool operator==(const iterator& other) const { return !(*this != other); }

private:
    object over_, now_;
};

template <class... A> object handle::operator()(A&&... arguments) const {
    PyObject* taken_arguments[sizeof...(A) + 1] = {::opmend_sim::binding::python_from(std::forward<A>(arguments))..., nullptr};
    return called(*this, taken_arguments, sizeof...(A));
}

class none : public object {
public:
    none() : object(Py_None, Borrowed{}) {}
    using object::object;
};
class bool_ : public object {
public:
    using object::object;
    bool_(bool value = false) : object(value ? Py_True : Py_False, Borrowed{}) {}
    operator bool() const { return object_ == Py_True; }
};
class int_ : public object {
public:
    using object::object;
    template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> int_(T value)
        : object(std::is_signed_v<T> ? PyLong_FromLongLong(static_cast<long long>(value)) : PyLong_FromUnsignedLongLong(value), Stolen{}) {}
};
class float_ : public object {
public:
    using object::object;
    float_(double value = 0) : object(PyFloat_FromDouble(value), Stolen{}) {}
};
class str : public object {
public:
    using object::object;
    str(const char* text = "") : str(std::string(text)) {}
    str(const std::string& text) : object(taken(text_object(text.data(), text.size()))) {}
    explicit str(handle from) : object(taken(PyObject_Str(from.ptr()))) {}
    operator std::string() const;
};
class tuple : public object {
public:
    using object::object;
    tuple() : object(taken(PyTuple_New(0))) {}
    template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> explicit tuple(T size)
        : object(taken(PyTuple_New(static_cast<ssize_t>(size)))) {}
    size_t size() const { return static_cast<size_t>(PyTuple_Size(object_)); }
    bool empty() const { return size() == 0; }
    accessor operator[](size_t at) const { return accessor(*this, int_(at), true); }
};
class list : public object {
public:
    using object::object;
    list() : object(taken(PyList_New(0))) {}
    template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> explicit list(T size)
        : object(taken(PyList_New(static_cast<ssize_t>(size)))) {}
    size_t size() const { return static_cast<size_t>(PyList_Size(object_)); }
    bool empty() const { return size() == 0; }
    accessor operator[](size_t at) const { return accessor(*this, int_(at), true); }
    template <class T> void append(T&& value) const { append_object(taken(::opmend_sim::binding::python_from(std::forward<T>(value)))); }

private:
    void append_object(const object& value) const;
};
class dict : public object {
public:
    using object::object;
    dict() : object(taken(PyDict_New())) {}
    size_t size() const { return static_cast<size_t>(PyDict_Size(object_)); }
    bool empty() const { return size() == 0; }
    template <class T> bool contains(T&& key) const { return has_key(taken(::opmend_sim::binding::python_from(std::forward<T>(key)))); }
    void begin() const = delete;  // pairs in pybind11, which a source then gets

private:
    bool has_key(const object& key) const;
};

size_t len(handle of);
}  // namespace opmend_light
}  // namespace pybind11
#pragma GCC visibility pop
