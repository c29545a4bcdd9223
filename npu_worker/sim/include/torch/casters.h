// torch's types in bindings: for the binding layer, or for pybind11 where a unit is compiled with it.
#pragma once
#include "torch/extension.h"

#pragma GCC visibility push(hidden)
#ifndef OPMEND_SIM_FULL_PYBIND11

namespace opmend_sim::binding {
template <class T> struct TorchCaster {
    T value;
    bool load(PyObject* source, bool) { return at::load_python(source, value); }
    static PyObject* cast(const T& from) { return at::python_of(from); }
};
template <> struct Caster<at::Tensor> : TorchCaster<at::Tensor> {
    OPMEND_NAMED("torch.Tensor")
};
template <> struct Caster<at::ScalarType> : TorchCaster<at::ScalarType> {
    OPMEND_NAMED("torch.dtype")
};
template <> struct Caster<at::Scalar> : TorchCaster<at::Scalar> {
    OPMEND_NAMED("number")
};
template <> struct Caster<at::Device> : TorchCaster<at::Device> {
    OPMEND_NAMED("torch.device")
};
// The reference's values live as long as the call.
template <class T> struct Caster<at::ArrayRef<T>> {
    at::ArrayRef<T> value;
    Caster<std::vector<T>> kept;
    static void name(std::string& out) { Caster<std::vector<T>>::name(out); }
    bool load(PyObject* source, bool convert) {
        if (!kept.load(source, convert)) return false;
        value = at::ArrayRef<T>(kept.value);
        return true;
    }
    static PyObject* cast(at::ArrayRef<T> from) { return Caster<std::vector<T>>::cast(from.vec()); }
};
}  // namespace opmend_sim::binding

#else

namespace opmend_sim {
// The runtime's Python errors keep their type on their way through pybind11's dispatcher.
inline const bool python_errors_pass = [] {
    const Held held;
    pybind11::register_local_exception_translator([](std::exception_ptr error) {
        try {
            if (error) std::rethrow_exception(error);
        } catch (const PythonError& raised) {
            raised.restore();
        }
    });
    return true;
}();
}  // namespace opmend_sim
namespace pybind11::detail {
#define OPMEND_TORCH_CASTER(Type, text)                                                                                        \
    template <> struct type_caster<Type> {                                                                                     \
        PYBIND11_TYPE_CASTER(Type, const_name(text));                                                                          \
        bool load(handle source, bool) { return source && at::load_python(source.ptr(), value); }                              \
        static handle cast(const Type& from, return_value_policy, handle) { return at::python_of(from); }                      \
    }
OPMEND_TORCH_CASTER(at::Tensor, "torch.Tensor");
OPMEND_TORCH_CASTER(at::ScalarType, "torch.dtype");
OPMEND_TORCH_CASTER(at::Scalar, "number");
OPMEND_TORCH_CASTER(at::Device, "torch.device");
#undef OPMEND_TORCH_CASTER
template <class T> struct type_caster<at::ArrayRef<T>> {
    using Kept = make_caster<std::vector<T>>;
    PYBIND11_TYPE_CASTER(at::ArrayRef<T>, Kept::name);
    bool load(handle source, bool convert) {
        Kept list;
        if (!list.load(source, convert)) return false;
        kept = cast_op<std::vector<T>&&>(std::move(list));
        value = at::ArrayRef<T>(kept);
        return true;
    }
    static handle cast(at::ArrayRef<T> from, return_value_policy policy, handle parent) { return Kept::cast(from.vec(), policy, parent); }
    std::vector<T> kept;
};
}  // namespace pybind11::detail

#endif
#pragma GCC visibility pop
