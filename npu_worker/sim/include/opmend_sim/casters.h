// C++ values from Python objects and back. Which objects an argument takes follows pybind11: no float for an int, an int that its type
// holds, and with `convert` (the second round over overloads) whatever Python itself turns into a number.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "opmend_sim/objects.h"

#pragma GCC visibility push(hidden)
namespace opmend_sim::binding {

// runtime/casters.cpp. Each load clears the Python error that it meets.
bool load_signed(PyObject* source, bool convert, size_t bytes, long long& out);
bool load_unsigned(PyObject* source, bool convert, size_t bytes, unsigned long long& out);
bool load_real(PyObject* source, bool convert, double& out);
bool load_bool(PyObject* source, bool convert, bool& out);
bool load_text(PyObject* source, std::string_view& out);
// The items of a sequence as a list or tuple; none for what a container does not take.
Reference items_of(PyObject* source, bool convert);
// The pairs of a mapping as a list of (key, value).
Reference pairs_of(PyObject* source, bool convert);
// The items of a sequence of this size (text is one too), got one by one, as a tuple; none for all else.
Reference items_of_size(PyObject* source, size_t size);
// A tuple of `items`, whose references it takes; a null among them is the error that is set.
PyObject* tuple_from(PyObject** items, size_t count);
PyObject* none_object();
PyObject* new_list(size_t size);
bool set_in_list(PyObject* list, size_t at, PyObject* item);
bool set_in_dict(PyObject* dict, PyObject* key, PyObject* value);

#define OPMEND_NAMED(text) \
    static void name(std::string& out) { out += text; }

template <class T>
constexpr bool is_character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

template <class T> struct Caster<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !is_character<T>>> {
    T value = 0;
    OPMEND_NAMED("int")
    bool load(PyObject* source, bool convert) {
        if constexpr (std::is_signed_v<T>) {
            long long wide = 0;
            if (!load_signed(source, convert, sizeof(T), wide)) return false;
            value = static_cast<T>(wide);
        } else {
            unsigned long long wide = 0;
            if (!load_unsigned(source, convert, sizeof(T), wide)) return false;
            value = static_cast<T>(wide);
        }
        return true;
    }
    static PyObject* cast(T from) {
        if constexpr (std::is_signed_v<T>) return PyLong_FromLongLong(from);
        else return PyLong_FromUnsignedLongLong(from);
    }
};
template <class T> struct Caster<T, std::enable_if_t<std::is_same_v<T, float> || std::is_same_v<T, double>>> {
    T value = 0;
    OPMEND_NAMED("float")
    bool load(PyObject* source, bool convert) {
        double wide = 0;
        if (!load_real(source, convert, wide)) return false;
        value = static_cast<T>(wide);
        return true;
    }
    static PyObject* cast(T from) { return PyFloat_FromDouble(from); }
};
template <> struct Caster<bool> {
    bool value = false;
    OPMEND_NAMED("bool")
    bool load(PyObject* source, bool convert) { return load_bool(source, convert, value); }
    static PyObject* cast(bool from) { return PyBool_FromLong(from); }
};
template <> struct Caster<std::string> {
    std::string value;
    OPMEND_NAMED("str")
    bool load(PyObject* source, bool) {
        std::string_view view;
        if (!load_text(source, view)) return false;
        value = view;
        return true;
    }
    static PyObject* cast(const std::string& from) { return pybind11::text_object(from.data(), from.size()); }
};
// The text is the argument's own, which its caller keeps.
template <> struct Caster<std::string_view> {
    std::string_view value;
    OPMEND_NAMED("str")
    bool load(PyObject* source, bool) { return load_text(source, value); }
    static PyObject* cast(std::string_view from) { return pybind11::text_object(from.data(), from.size()); }
};
template <> struct Caster<const char*> {
    const char* value = nullptr;
    OPMEND_NAMED("str")
    bool load(PyObject* source, bool convert) {
        std::string_view view;
        if (source == Py_None) return convert;
        if (!load_text(source, view)) return false;
        value = view.data();
        return true;
    }
    static PyObject* cast(const char* from) { return from ? pybind11::text_object(from, std::string_view(from).size()) : none_object(); }
};
template <> struct Caster<std::nullptr_t> {
    static PyObject* cast(std::nullptr_t) { return none_object(); }
};
template <> struct Caster<std::nullopt_t> {
    static PyObject* cast(std::nullopt_t) { return none_object(); }
};
template <> struct Caster<void> {
    OPMEND_NAMED("None")
};

template <class T> struct Caster<std::optional<T>> {
    std::optional<T> value;
    Caster<T> inner;
    static void name(std::string& out) {
        Caster<T>::name(out);
        out += " | None";
    }
    bool load(PyObject* source, bool convert) {
        if (source == Py_None) return true;
        if (!inner.load(source, convert)) return false;
        value = std::move(inner.value);
        return true;
    }
    static PyObject* cast(const std::optional<T>& from) { return from ? Caster<T>::cast(*from) : none_object(); }
};
template <class T> struct Caster<std::vector<T>> {
    std::vector<T> value;
    static void name(std::string& out) {
        out += "list[";
        Caster<T>::name(out);
        out += "]";
    }
    bool load(PyObject* source, bool convert) {
        const Reference items = items_of(source, convert);
        if (!items) return false;
        const size_t count = static_cast<size_t>(PySequence_Fast_GET_SIZE(items.get()));
        value.clear();
        value.reserve(count);
        for (size_t i = 0; i < count; ++i) {
            Caster<T> inner;
            if (!inner.load(PySequence_Fast_ITEMS(items.get())[i], convert)) return false;
            value.push_back(std::move(inner.value));
        }
        return true;
    }
    static PyObject* cast(const std::vector<T>& from) {
        Reference list = Reference::owned(new_list(from.size()));
        size_t at = 0;
        for (const auto& one : from)
            if (!set_in_list(list.get(), at++, Caster<T>::cast(one))) return nullptr;
        return list.release();
    }
};
template <class T, size_t N> struct Caster<std::array<T, N>> {
    std::array<T, N> value;
    static void name(std::string& out) { Caster<std::vector<T>>::name(out); }
    bool load(PyObject* source, bool convert) {
        Caster<std::vector<T>> all;
        if (!all.load(source, convert) || all.value.size() != N) return false;
        for (size_t i = 0; i < N; ++i) value[i] = std::move(all.value[i]);
        return true;
    }
    static PyObject* cast(const std::array<T, N>& from) { return Caster<std::vector<T>>::cast(std::vector<T>(from.begin(), from.end())); }
};
template <class... T> struct Caster<std::tuple<T...>> {
    std::tuple<T...> value;
    static void name(std::string& out) {
        out += "tuple[";
        const char* between = "";
        ((out += between, Caster<std::decay_t<T>>::name(out), between = ", "), ...);
        out += "]";
    }
    bool load(PyObject* source, bool convert) { return loaded(source, convert, std::index_sequence_for<T...>()); }
    static PyObject* cast(const std::tuple<T...>& from) { return made(from, std::index_sequence_for<T...>()); }

private:
    template <size_t... I> bool loaded(PyObject* source, bool convert, std::index_sequence<I...>) {
        const Reference items = items_of_size(source, sizeof...(T));
        return items && (loaded_one(std::get<I>(value), PyTuple_GET_ITEM(items.get(), I), convert) && ...);
    }
    template <class One> static bool loaded_one(One& out, PyObject* source, bool convert) {
        Caster<One> inner;
        if (!inner.load(source, convert)) return false;
        out = std::move(inner.value);
        return true;
    }
    template <size_t... I> static PyObject* made(const std::tuple<T...>& from, std::index_sequence<I...>) {
        PyObject* items[sizeof...(T) + 1] = {Caster<std::decay_t<T>>::cast(std::get<I>(from))..., nullptr};
        return tuple_from(items, sizeof...(T));
    }
};
template <class A, class B> struct Caster<std::pair<A, B>> {
    std::pair<A, B> value;
    static void name(std::string& out) { Caster<std::tuple<A, B>>::name(out); }
    bool load(PyObject* source, bool convert) {
        Caster<std::tuple<A, B>> both;
        if (!both.load(source, convert)) return false;
        value = std::pair<A, B>(std::move(std::get<0>(both.value)), std::move(std::get<1>(both.value)));
        return true;
    }
    static PyObject* cast(const std::pair<A, B>& from) {
        PyObject* items[] = {Caster<std::decay_t<A>>::cast(from.first), Caster<std::decay_t<B>>::cast(from.second)};
        return tuple_from(items, 2);
    }
};
template <class Map, class Key, class Value> struct MapCaster {
    Map value;
    static void name(std::string& out) {
        out += "dict[";
        Caster<Key>::name(out);
        out += ", ";
        Caster<Value>::name(out);
        out += "]";
    }
    bool load(PyObject* source, bool convert) {
        const Reference pairs = pairs_of(source, convert);
        if (!pairs) return false;
        value.clear();
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs.get()); ++i) {
            Caster<std::pair<Key, Value>> one;
            if (!one.load(PyList_GET_ITEM(pairs.get(), i), convert)) return false;
            value.emplace(std::move(one.value));
        }
        return true;
    }
    static PyObject* cast(const Map& from) {
        Reference dict = Reference::owned(PyDict_New());
        for (const auto& [key, one] : from)
            if (!set_in_dict(dict.get(), Caster<Key>::cast(key), Caster<Value>::cast(one))) return nullptr;
        return dict.release();
    }
};
template <class Key, class Value> struct Caster<std::map<Key, Value>> : MapCaster<std::map<Key, Value>, Key, Value> {};
template <class Key, class Value>
struct Caster<std::unordered_map<Key, Value>> : MapCaster<std::unordered_map<Key, Value>, Key, Value> {};

// Python objects of a kind, as they are.
template <class T> bool is_kind(PyObject* source);
template <class T> struct KindName;
#define OPMEND_KIND(Type, test, text)                                          \
    template <> inline bool is_kind<pybind11::Type>([[maybe_unused]] PyObject* source) { return test; } \
    template <> struct KindName<pybind11::Type> { static constexpr const char* text_ = text; }
OPMEND_KIND(handle, true, "object");
OPMEND_KIND(object, true, "object");
OPMEND_KIND(none, source == Py_None, "None");
OPMEND_KIND(bool_, PyBool_Check(source), "bool");
OPMEND_KIND(int_, PyLong_Check(source), "int");
OPMEND_KIND(float_, PyFloat_Check(source), "float");
OPMEND_KIND(str, PyUnicode_Check(source), "str");
OPMEND_KIND(list, PyList_Check(source), "list");
OPMEND_KIND(tuple, PyTuple_Check(source), "tuple");
OPMEND_KIND(dict, PyDict_Check(source), "dict");
#undef OPMEND_KIND

template <class T> struct Caster<T, std::enable_if_t<std::is_base_of_v<pybind11::object, T>>> {
    T value = T(pybind11::handle(), pybind11::object::Stolen{});
    OPMEND_NAMED(KindName<T>::text_)
    bool load(PyObject* source, bool) {
        if constexpr (std::is_same_v<T, pybind11::float_>) {
            if (PyLong_Check(source)) value = pybind11::reinterpret_steal<T>(PyNumber_Float(source));
            if (PyErr_Occurred()) PyErr_Clear();
            if (value) return true;
        }
        if (!is_kind<T>(source)) return false;
        value = T(source, pybind11::object::Borrowed{});
        return true;
    }
    static PyObject* cast(const T& from) { return from.inc_ref().ptr(); }
};
template <> struct Caster<pybind11::handle> {
    pybind11::handle value;
    OPMEND_NAMED("object")
    bool load(PyObject* source, bool) {
        value = source;
        return true;
    }
    static PyObject* cast(pybind11::handle from) { return from.inc_ref().ptr(); }
};
template <> struct Caster<pybind11::accessor> {
    static PyObject* cast(const pybind11::accessor& from) { return from.get().release().ptr(); }
};

}  // namespace opmend_sim::binding

namespace pybind11 {
inline namespace opmend_light {
template <class T> T handle::cast() const {
    ::opmend_sim::binding::Caster<T> loaded;
    if (!object_ || !loaded.load(object_, true)) {
        std::string name;
        ::opmend_sim::binding::Caster<T>::name(name);
        cannot_cast(*this, name);
    }
    return std::move(loaded.value);
}
template <class T> object cast(T&& value) { return taken(::opmend_sim::binding::python_from(std::forward<T>(value))); }
template <class T> T cast(const handle& from) { return from.cast<T>(); }
template <class T> bool isinstance(handle from) { return from.ptr() && ::opmend_sim::binding::is_kind<T>(from.ptr()); }
inline bool isinstance(handle from, handle type) { return PyObject_IsInstance(from.ptr(), type.ptr()) == 1; }
template <class... A> tuple make_tuple(A&&... values) {
    PyObject* items[sizeof...(A) + 1] = {::opmend_sim::binding::python_from(std::forward<A>(values))..., nullptr};
    return reinterpret_steal<tuple>(taken(::opmend_sim::binding::tuple_from(items, sizeof...(A))).release());
}
}  // namespace opmend_light
}  // namespace pybind11
#pragma GCC visibility pop
