// Python objects as the runtime holds them. No name here belongs to pybind11, so that units with the binding layer and units with pybind11
// itself link with one runtime.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#pragma GCC visibility push(hidden)
namespace opmend_sim {

// One counted reference. Copies and ends only with the GIL held.
class Reference {
public:
    Reference() = default;
    Reference(const Reference& other) : object_(other.object_) { Py_XINCREF(object_); }
    Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Reference& operator=(Reference other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Reference() { Py_XDECREF(object_); }
    static Reference owned(PyObject* object) { return Reference(object); }
    static Reference borrowed(PyObject* object) {
        Py_XINCREF(object);
        return Reference(object);
    }
    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

private:
    explicit Reference(PyObject* object) : object_(object) {}
    PyObject* object_ = nullptr;
};

// The GIL for a scope, whether or not this thread had it: host code may allocate with the GIL released.
class Held {
public:
    Held() : state_(PyGILState_Ensure()) {}
    ~Held() { PyGILState_Release(state_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

private:
    PyGILState_STATE state_;
};

// A Python error on its way through C++. It takes the error that is set; `restore` sets it again. (runtime/python.cpp)
class PythonError : public std::exception {
public:
    PythonError();
    const char* what() const noexcept override;
    void restore() const;
    bool matches(PyObject* type) const;
    PyObject* type() const;
    PyObject* value() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

// The result of a call of Python's C interface as a reference. Raises PythonError for a null.
Reference checked(PyObject* result);
// Sets the Python error for the C++ exception in flight; to be called in a catch block.
void set_error_from_exception();

}  // namespace opmend_sim
#pragma GCC visibility pop
