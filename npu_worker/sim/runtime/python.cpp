// Python errors on their way through C++, and C++ exceptions as Python errors.
#include <cxxabi.h>

#include <new>
#include <stdexcept>

#include "opmend_sim/objects.h"

namespace opmend_sim {

struct PythonError::State {
    Reference type, value, trace;
    std::string text;
    ~State() {
        if (!Py_IsInitialized()) {  // nothing to give back to
            type.release();
            value.release();
            trace.release();
            return;
        }
        const Held held;
        type = value = trace = Reference();
    }
};

PythonError::PythonError() : state_(std::make_shared<State>()) {
    const Held held;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    if (!type) {
        Py_INCREF(PyExc_SystemError);
        type = PyExc_SystemError;
        value = PyUnicode_FromString("a call of Python failed and set no error");
    }
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace && value) PyException_SetTraceback(value, trace);
    state_->type = Reference::owned(type);
    state_->value = Reference::owned(value);
    state_->trace = Reference::owned(trace);
    state_->text = reinterpret_cast<PyTypeObject*>(type)->tp_name;
    const Reference shown = Reference::owned(value ? PyObject_Str(value) : nullptr);
    if (const char* text = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr) state_->text += std::string(": ") + text;
    PyErr_Clear();
}
const char* PythonError::what() const noexcept { return state_->text.c_str(); }
void PythonError::restore() const {
    Py_XINCREF(state_->type.get());
    Py_XINCREF(state_->value.get());
    Py_XINCREF(state_->trace.get());
    PyErr_Restore(state_->type.get(), state_->value.get(), state_->trace.get());
}
bool PythonError::matches(PyObject* type) const { return PyErr_GivenExceptionMatches(state_->type.get(), type) != 0; }
PyObject* PythonError::type() const { return state_->type.get(); }
PyObject* PythonError::value() const { return state_->value.get(); }

Reference checked(PyObject* result) {
    if (!result) throw PythonError();
    return Reference::owned(result);
}

void set_error_from_exception() {
    try {
        throw;
    } catch (const PythonError& error) {
        error.restore();
    } catch (const pybind11::builtin_exception& error) {
        PyErr_SetString(error.type, error.what());
    } catch (const std::bad_alloc& error) {
        PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const std::out_of_range& error) {
        PyErr_SetString(PyExc_IndexError, error.what());
    } catch (const std::overflow_error& error) {
        PyErr_SetString(PyExc_OverflowError, error.what());
    } catch (const std::range_error& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::domain_error& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::invalid_argument& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::length_error& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    } catch (abi::__forced_unwind&) {  // a thread that is being cancelled must not be kept
        throw;
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "an exception of C++ that is no std::exception");
    }
}

}  // namespace opmend_sim
