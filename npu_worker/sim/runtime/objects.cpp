// The binding layer's Python objects: what is worth compiling once.
#include "opmend_sim/binding.h"

namespace pybind11 {
inline namespace opmend_light {

object taken(PyObject* result) {
    if (!result) throw error_already_set();
    return reinterpret_steal<object>(result);
}
object called(handle function, PyObject** arguments, size_t count) {
    const object passed = taken(::opmend_sim::binding::tuple_from(arguments, count));
    return taken(PyObject_Call(function.ptr(), passed.ptr(), nullptr));
}
// Text that is no UTF-8 is a UnicodeDecodeError, as in pybind11.
PyObject* text_object(const char* data, size_t size) { return PyUnicode_DecodeUTF8(data, static_cast<ssize_t>(size), nullptr); }
void cannot_cast(handle from, const std::string& to) {
    throw cast_error("a Python object of type " + std::string(from ? Py_TYPE(from.ptr())->tp_name : "null") + " is no C++ value of type " + to);
}

object accessor::get() const {
    return taken(is_item_ ? PyObject_GetItem(base_.ptr(), key_.ptr()) : PyObject_GetAttr(base_.ptr(), key_.ptr()));
}
void accessor::set(const object& value) const {
    if (!is_item_) {
        if (PyObject_SetAttr(base_.ptr(), key_.ptr(), value.ptr()) != 0) throw error_already_set();
    } else if (PyTuple_Check(base_.ptr())) {  // one that is being filled
        const ssize_t at = PyLong_AsSsize_t(key_.ptr());
        if (at < 0 || at >= PyTuple_GET_SIZE(base_.ptr())) throw index_error("tuple index out of range");
        const object before = reinterpret_steal<object>(PyTuple_GET_ITEM(base_.ptr(), at));
        PyTuple_SET_ITEM(base_.ptr(), at, value.inc_ref().ptr());
    } else if (PyObject_SetItem(base_.ptr(), key_.ptr(), value.ptr()) != 0) {
        throw error_already_set();
    }
}
accessor handle::attr(const char* name) const { return accessor(*this, str(name), false); }
accessor handle::operator[](handle key) const { return accessor(*this, reinterpret_borrow<object>(key), true); }
accessor handle::operator[](const char* key) const { return accessor(*this, str(key), true); }
iterator handle::begin() const { return iterator(taken(PyObject_GetIter(object_))); }
iterator handle::end() const { return {}; }
iterator& iterator::operator++() {
    now_ = reinterpret_steal<object>(PyIter_Next(over_.ptr()));
    if (!now_ && PyErr_Occurred()) throw error_already_set();
    return *this;
}
str::operator std::string() const { return cast<std::string>(); }
void list::append_object(const object& value) const {
    if (PyList_Append(object_, value.ptr()) != 0) throw error_already_set();
}
bool dict::has_key(const object& key) const {
    const int found = PyDict_Contains(object_, key.ptr());
    if (found < 0) throw error_already_set();
    return found == 1;
}
size_t len(handle of) {
    const ssize_t size = PyObject_Size(of.ptr());
    if (size < 0) throw error_already_set();
    return static_cast<size_t>(size);
}

}  // namespace opmend_light
}  // namespace pybind11

namespace opmend_sim::binding {
namespace {
template <class T> bool held_in(T value, size_t bytes) {
    if (bytes == 1)
        return std::is_signed_v<T> ? value == static_cast<T>(static_cast<int8_t>(value)) : value == static_cast<T>(static_cast<uint8_t>(value));
    if (bytes == 2)
        return std::is_signed_v<T> ? value == static_cast<T>(static_cast<int16_t>(value)) : value == static_cast<T>(static_cast<uint16_t>(value));
    if (bytes == 4)
        return std::is_signed_v<T> ? value == static_cast<T>(static_cast<int32_t>(value)) : value == static_cast<T>(static_cast<uint32_t>(value));
    return true;
}
// Shared by both kinds of integer. An object that is only a number (a Decimal, a NumPy float) is converted once, and only with `convert`.
template <class T, class Read> bool load_integer(PyObject* source, bool convert, size_t bytes, T& out, Read read) {
    if (PyFloat_Check(source) || !(convert || PyLong_Check(source) || PyIndex_Check(source))) return false;
    const T value = read(source);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        if (!convert || !PyNumber_Check(source)) return false;
        const Reference number = Reference::owned(PyNumber_Long(source));
        PyErr_Clear();
        return number && load_integer(number.get(), false, bytes, out, read);
    }
    out = value;
    return held_in(value, bytes);
}
bool is_of(PyObject* source, const char* const* types, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (std::string_view(Py_TYPE(source)->tp_name) == types[i]) return true;
    return false;
}
PyObject* all_of(PyObject** items, size_t count, PyObject* container, void (*set)(PyObject*, Py_ssize_t, PyObject*)) {
    bool whole = container != nullptr;
    for (size_t i = 0; i < count; ++i) whole = whole && items[i];
    for (size_t i = 0; i < count; ++i) {
        if (whole) set(container, static_cast<Py_ssize_t>(i), items[i]);
        else Py_XDECREF(items[i]);
    }
    if (whole) return container;
    Py_XDECREF(container);
    return nullptr;
}
}  // namespace

bool load_signed(PyObject* source, bool convert, size_t bytes, long long& out) {
    return load_integer(source, convert, bytes, out, [](PyObject* from) { return PyLong_AsLongLong(from); });
}
bool load_unsigned(PyObject* source, bool convert, size_t bytes, unsigned long long& out) {
    return load_integer(source, convert, bytes, out, [](PyObject* from) { return PyLong_AsUnsignedLongLong(from); });
}
bool load_real(PyObject* source, bool convert, double& out) {
    if (!convert && !PyFloat_Check(source) && !PyLong_Check(source)) return false;
    out = PyFloat_AsDouble(source);
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
    if (!convert || !PyNumber_Check(source)) return false;
    const Reference number = Reference::owned(PyNumber_Float(source));
    PyErr_Clear();
    return number && load_real(number.get(), false, out);
}
bool load_bool(PyObject* source, bool convert, bool& out) {
    static const char* const numpy[] = {"numpy.bool", "numpy.bool_"};
    if (source == Py_True || source == Py_False) {
        out = source == Py_True;
        return true;
    }
    if (!convert && !is_of(source, numpy, 2)) return false;
    if (source == Py_None) {
        out = false;
        return true;
    }
    const PyNumberMethods* number = Py_TYPE(source)->tp_as_number;
    const int truth = number && number->nb_bool ? number->nb_bool(source) : -1;
    if (truth != 0 && truth != 1) {
        PyErr_Clear();
        return false;
    }
    out = truth == 1;
    return true;
}
bool load_text(PyObject* source, std::string_view& out) {
    Py_ssize_t size = 0;
    if (PyUnicode_Check(source)) {
        const char* text = PyUnicode_AsUTF8AndSize(source, &size);
        if (!text) PyErr_Clear();
        else out = std::string_view(text, static_cast<size_t>(size));
        return text != nullptr;
    }
    if (PyBytes_Check(source)) {
        out = std::string_view(PyBytes_AS_STRING(source), static_cast<size_t>(PyBytes_GET_SIZE(source)));
        return true;
    }
    if (PyByteArray_Check(source)) {
        out = std::string_view(PyByteArray_AS_STRING(source), static_cast<size_t>(PyByteArray_GET_SIZE(source)));
        return true;
    }
    return false;
}
Reference items_of(PyObject* source, bool convert) {
    static const char* const iterables[] = {"dict_keys", "dict_values", "dict_items", "map", "zip"};
    if (PySequence_Check(source)) {
        if (PyUnicode_Check(source) || PyBytes_Check(source)) return {};
    } else if (!convert || !(PyGen_Check(source) || PyAnySet_Check(source) || is_of(source, iterables, 5))) {
        return {};
    }
    return checked(PySequence_Fast(source, "not iterable"));
}
Reference pairs_of(PyObject* source, bool) {
    if (PyDict_Check(source)) return checked(PyDict_Items(source));
    if (!PyMapping_Check(source) || PyObject_HasAttrString(source, "items") != 1) return {};
    return checked(PyMapping_Items(source));
}
Reference items_of_size(PyObject* source, size_t size) {
    if (!PySequence_Check(source)) return {};
    const Py_ssize_t actual = PySequence_Size(source);
    if (actual < 0) throw PythonError();
    if (actual != static_cast<Py_ssize_t>(size)) return {};
    Reference items = checked(PyTuple_New(actual));
    for (Py_ssize_t i = 0; i < actual; ++i) PyTuple_SET_ITEM(items.get(), i, checked(PySequence_GetItem(source, i)).release());
    return items;
}
PyObject* tuple_from(PyObject** items, size_t count) {
    return all_of(items, count, PyTuple_New(static_cast<Py_ssize_t>(count)),
                  [](PyObject* tuple, Py_ssize_t at, PyObject* item) { PyTuple_SET_ITEM(tuple, at, item); });
}
PyObject* none_object() {
    Py_INCREF(Py_None);
    return Py_None;
}
PyObject* new_list(size_t size) { return PyList_New(static_cast<Py_ssize_t>(size)); }
bool set_in_list(PyObject* list, size_t at, PyObject* item) {
    if (!list || !item) {
        Py_XDECREF(item);
        return false;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(at), item);
    return true;
}
bool set_in_dict(PyObject* dict, PyObject* key, PyObject* value) {
    const Reference kept_key = Reference::owned(key), kept_value = Reference::owned(value);
    return dict && key && value && PyDict_SetItem(dict, key, value) == 0;
}

}  // namespace opmend_sim::binding
