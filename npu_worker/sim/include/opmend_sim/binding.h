// The binding layer: PYBIND11_MODULE, module_::def with names, defaults and overloads, and the guards of the GIL. A function becomes a table
// entry with one erased call; the dispatch, the messages and the module are compiled once, in runtime/functions.cpp. pybind11's own core is
// compiled again in every source, which is most of a binding's time.
#pragma once
#include <tuple>

#include "opmend_sim/casters.h"

#pragma GCC visibility push(hidden)
namespace pybind11 {
inline namespace opmend_light {
enum class return_value_policy : uint8_t { automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal };

class gil_scoped_acquire {
public:
    gil_scoped_acquire() = default;

private:
    ::opmend_sim::Held held_;
};
class gil_scoped_release {
public:
    gil_scoped_release() : thread_(PyEval_SaveThread()) {}
    ~gil_scoped_release() { PyEval_RestoreThread(thread_); }
    gil_scoped_release(const gil_scoped_release&) = delete;
    gil_scoped_release& operator=(const gil_scoped_release&) = delete;

private:
    PyThreadState* thread_;
};
template <class... Guard> struct call_guard {
    using guards = std::tuple<Guard...>;
};

struct arg_v;
// The name of a parameter; with `= value`, its default.
struct arg {
    constexpr explicit arg(const char* name = nullptr) : name(name) {}
    template <class T> arg_v operator=(T&& value) const;
    arg& noconvert(bool flag = true) {
        no_convert = flag;
        return *this;
    }
    arg& none(bool flag = true) {
        takes_none = flag;
        return *this;
    }
    const char* name;
    bool no_convert = false, takes_none = true;
};
struct arg_v : arg {
    template <class T> arg_v(const char* name, T&& value, const char* text = nullptr) : arg_v(arg(name), std::forward<T>(value), text) {}
    template <class T> arg_v(const arg& base, T&& value, const char* text = nullptr)
        : arg(base), value(reinterpret_steal<object>(::opmend_sim::binding::python_from(std::forward<T>(value)))), text(text) {}
    arg_v& noconvert(bool flag = true) {
        arg::noconvert(flag);
        return *this;
    }
    arg_v& none(bool flag = true) {
        arg::none(flag);
        return *this;
    }
    object value;
    const char* text;
};
template <class T> arg_v arg::operator=(T&& value) const { return arg_v(*this, std::forward<T>(value)); }
inline namespace literals {
constexpr arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals
struct doc {
    explicit doc(const char* text) : text(text) {}
    const char* text;
};

template <class... A> struct overload_cast_of {
    template <class R> constexpr auto operator()(R (*function)(A...)) const { return function; }
};
template <class... A> inline constexpr overload_cast_of<A...> overload_cast{};
class module_;
}  // namespace opmend_light
}  // namespace pybind11

namespace opmend_sim::binding {
using NameOf = void (*)(std::string&);
// One bound C++ function without its type. `call` gives a new reference, null for the Python error that is set, or `unmatched`.
struct Overload {
    PyObject* (*call)(void* function, PyObject* const* arguments, const bool* convert) = nullptr;
    void* function = nullptr;
    void (*drop)(void*) = nullptr;
    const NameOf* names = nullptr;  // of the parameters, then of the result
    size_t count = 0;
};
struct Parameter {
    std::string name, shown;
    Reference value;
    bool has_default = false, convert = true, none = true;
};
struct Extras {
    std::string doc;
    std::vector<Parameter> parameters;
};
inline PyObject* unmatched() { return reinterpret_cast<PyObject*>(1); }
// runtime/functions.cpp
void add(Extras& extras, const char* doc);
inline void add(Extras& extras, const pybind11::doc& doc) { add(extras, doc.text); }
void add(Extras& extras, const pybind11::arg& parameter);
void add(Extras& extras, const pybind11::arg_v& parameter);
inline void add(Extras&, pybind11::return_value_policy) {}  // results are values, which are copied whatever the policy
template <class... G> void add(Extras&, const pybind11::call_guard<G...>&) {}
// Takes over the overload. With a scope it becomes its attribute, or one more overload of the function there.
pybind11::object bind(pybind11::handle scope, const char* name, Overload&& overload, Extras&& extras);
PyObject* define_module(PyModuleDef& definition, PyModuleDef_Slot* slots, const char* name, int (*fill)(PyObject*));
int fill_module(PyObject* module, void (*fill)(pybind11::module_&));

template <class T> using Bare = std::remove_cv_t<std::remove_reference_t<T>>;
template <size_t I, class A> struct Slot {
    Caster<Bare<A>> caster;
};
template <class Indices, class... A> struct Slots;
template <size_t... I, class... A> struct Slots<std::index_sequence<I...>, A...> : Slot<I, A>... {
    bool load([[maybe_unused]] PyObject* const* from, [[maybe_unused]] const bool* convert) {
        return (static_cast<Slot<I, A>&>(*this).caster.load(from[I], convert[I]) && ...);
    }
    template <class R, class Guards, class F> R call(F& function) {
        [[maybe_unused]] Guards guards;
        return function(static_cast<A&&>(static_cast<Slot<I, A>&>(*this).caster.value)...);
    }
};
template <class F, class R, class... A> struct Bound {
    static constexpr NameOf names[] = {&Caster<Bare<A>>::name..., &Caster<Bare<R>>::name};
    template <class Guards> static PyObject* call(void* function, PyObject* const* from, const bool* convert) {
        Slots<std::index_sequence_for<A...>, A...> slots;
        if (!slots.load(from, convert)) return unmatched();
        if constexpr (std::is_void_v<R>) {
            slots.template call<R, Guards>(*static_cast<F*>(function));
            return none_object();
        } else {
            return Caster<Bare<R>>::cast(slots.template call<R, Guards>(*static_cast<F*>(function)));
        }
    }
    static void drop(void* function) { delete static_cast<F*>(function); }
};

// The signature of a function or of an object with one call operator, as a type that BoundOf takes apart.
template <class M> struct MemberCall;
template <class C, class R, class... A> struct MemberCall<R (C::*)(A...)> { using type = R(A...); };
template <class C, class R, class... A> struct MemberCall<R (C::*)(A...) const> { using type = R(A...); };
template <class C, class R, class... A> struct MemberCall<R (C::*)(A...) noexcept> { using type = R(A...); };
template <class C, class R, class... A> struct MemberCall<R (C::*)(A...) const noexcept> { using type = R(A...); };
template <class F> struct SignatureOf : MemberCall<decltype(&F::operator())> {};
template <class R, class... A> struct SignatureOf<R (*)(A...)> { using type = R(A...); };
template <class R, class... A> struct SignatureOf<R (*)(A...) noexcept> { using type = R(A...); };
template <class F, class S> struct BoundOf;
template <class F, class R, class... A> struct BoundOf<F, R(A...)> { using type = Bound<F, R, A...>; };

template <class... E> struct GuardsOf { using type = std::tuple<>; };
template <class E, class... More> struct GuardsOf<E, More...> : GuardsOf<More...> {};
template <class... G, class... More> struct GuardsOf<pybind11::call_guard<G...>, More...> { using type = std::tuple<G...>; };

template <class F, class... E> pybind11::object bound(pybind11::handle scope, const char* name, F&& function, const E&... extra) {
    using Kept = std::decay_t<F>;
    using Entry = typename BoundOf<Kept, typename SignatureOf<Kept>::type>::type;
    constexpr size_t count = sizeof(Entry::names) / sizeof(NameOf) - 1;
    constexpr size_t named = (0 + ... + std::is_base_of_v<pybind11::arg, E>);
    static_assert(named == 0 || named == count, "py::arg for each parameter or for none");
    Extras extras;
    (add(extras, extra), ...);
    Overload overload;
    overload.call = &Entry::template call<typename GuardsOf<E...>::type>;
    overload.function = new Kept(std::forward<F>(function));
    overload.drop = &Entry::drop;
    overload.names = Entry::names;
    overload.count = count;
    return bind(scope, name, std::move(overload), std::move(extras));
}
}  // namespace opmend_sim::binding

namespace pybind11 {
inline namespace opmend_light {
class cpp_function : public object {
public:
    using object::object;
    template <class F, class... E, class = std::enable_if_t<!std::is_base_of_v<handle, std::decay_t<F>>>>
    cpp_function(F&& function, const E&... extra) : object(::opmend_sim::binding::bound(handle(), "", std::forward<F>(function), extra...)) {}
};

class module_ : public object {
public:
    using object::object;
    template <class F, class... E> module_& def(const char* name, F&& function, const E&... extra) {
        ::opmend_sim::binding::bound(*this, name, std::forward<F>(function), extra...);
        return *this;
    }
    accessor doc() const { return attr("__doc__"); }
    module_ def_submodule(const char* name, const char* doc = nullptr);
    static module_ import(const char* name);
};
using module = module_;
}  // namespace opmend_light
}  // namespace pybind11
#pragma GCC visibility pop

// What stands behind the variable (the GIL, subinterpreters) is for builds of Python that the simulator does not run in.
#define PYBIND11_MODULE(name, variable, ...) OPMEND_MODULE(name, variable)
#define OPMEND_MODULE(name, variable)                                                                                                          \
    static void opmend_fill_##name(::pybind11::module_&);                                                                                     \
    extern "C" __attribute__((visibility("default"))) PyObject* PyInit_##name();                                                              \
    PyObject* PyInit_##name() {                                                                                                               \
        static PyModuleDef definition;                                                                                                        \
        static PyModuleDef_Slot slots[2];                                                                                                     \
        return ::opmend_sim::binding::define_module(definition, slots, #name,                                                                  \
                                                    [](PyObject* module) { return ::opmend_sim::binding::fill_module(module, &opmend_fill_##name); }); \
    }                                                                                                                                         \
    void opmend_fill_##name([[maybe_unused]] ::pybind11::module_& variable)
