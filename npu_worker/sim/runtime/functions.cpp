// Bound functions of the binding layer: which overload a call means, its defaults and keywords, what an error says, and the module itself.
#include <cstring>

#include "opmend_sim/binding.h"

namespace opmend_sim::binding {
namespace {

struct Entry {
    Overload call;
    Extras extras;
    std::string signature;
};
// What a Python function object stands for; a capsule owns it.
struct Function {
    std::string name;
    std::string doc;
    std::vector<Entry> entries;
    PyMethodDef method{};
    Function() = default;
    Function(const Function&) = delete;
    Function& operator=(const Function&) = delete;
    ~Function() {
        for (Entry& entry : entries) entry.call.drop(entry.call.function);
    }
};
constexpr char kCapsule[] = "opmend.function";

Function* function_in(PyObject* capsule) { return static_cast<Function*>(PyCapsule_GetPointer(capsule, kCapsule)); }
void drop_function(PyObject* capsule) { delete function_in(capsule); }

std::string type_name(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return type->tp_name;  // has its module in it
    const Reference module = Reference::owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
    const char* text = module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
    if (!text) PyErr_Clear();
    return text && std::strcmp(text, "builtins") != 0 ? std::string(text) + "." + type->tp_name : type->tp_name;
}
std::string shown(PyObject* object) {
    const Reference text = Reference::owned(PyObject_Repr(object));
    const char* data = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (!data) PyErr_Clear();
    std::string out = data ? data : "…";
    return out.size() <= 60 ? out : out.substr(0, 57) + "...";
}
// Numbers and text say more by their value, a tensor by its type.
std::string described(PyObject* object) {
    if (object == Py_None) return "None";
    const bool plain = PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object);
    return plain ? type_name(object) + " " + shown(object) : type_name(object);
}

std::string signature_of(const std::string& name, const Overload& call, const Extras& extras) {
    std::string out = name + "(";
    for (size_t i = 0; i < call.count; ++i) {
        if (i) out += ", ";
        const bool named = i < extras.parameters.size() && !extras.parameters[i].name.empty();
        out += (named ? extras.parameters[i].name : "arg" + std::to_string(i)) + ": ";
        call.names[i](out);
        if (i < extras.parameters.size() && extras.parameters[i].has_default) out += " = " + extras.parameters[i].shown;
    }
    out += ") -> ";
    call.names[call.count](out);
    return out;
}
std::string doc_of(const Function& function) {
    std::string out;
    for (const Entry& entry : function.entries) {
        out += (out.empty() ? "" : "\n\n") + entry.signature;
        if (!entry.extras.doc.empty()) out += "\n\n" + entry.extras.doc;
    }
    return out;
}

// A call as Python makes it: `positional` arguments, then one for each of `words`.
struct Call {
    PyObject* const* arguments;
    size_t positional;
    PyObject* words;  // a tuple of names, or null
    size_t worded() const { return words ? static_cast<size_t>(PyTuple_GET_SIZE(words)) : 0; }
    PyObject* worded(const std::string& name) const {
        for (size_t i = 0; i < worded(); ++i)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(words, static_cast<Py_ssize_t>(i)), name.c_str()) == 0)
                return arguments[positional + i];
        return nullptr;
    }
};
constexpr size_t kMost = 128;  // Bound functions with more parameters do not exist; C++ itself promises 256.

// The arguments of one overload; false where the call can't mean it.
bool filled(const Entry& entry, const Call& call, PyObject** out, bool* convert, bool may_convert) {
    const std::vector<Parameter>& parameters = entry.extras.parameters;
    if (call.positional > entry.call.count) return false;
    size_t words = 0;
    for (size_t i = 0; i < entry.call.count; ++i) {
        const Parameter* parameter = i < parameters.size() ? &parameters[i] : nullptr;
        PyObject* worded = parameter && !parameter->name.empty() ? call.worded(parameter->name) : nullptr;
        if (i < call.positional) {
            if (worded) return false;  // given twice
            out[i] = call.arguments[i];
        } else if (worded) {
            out[i] = worded;
            ++words;
        } else if (parameter && parameter->has_default) {
            out[i] = parameter->value.get();
        } else {
            return false;
        }
        if (parameter && !parameter->none && out[i] == Py_None) return false;
        convert[i] = may_convert && (!parameter || parameter->convert);
    }
    return words == call.worded();
}

PyObject* no_match(const Function& function, const Call& call) {
    std::string text = function.name + "(): incompatible function arguments. It takes:\n";
    for (const Entry& entry : function.entries) text += "    " + entry.signature + "\n";
    text += "It was given: (";
    for (size_t i = 0; i < call.positional + call.worded(); ++i) {
        if (i) text += ", ";
        if (i >= call.positional) {
            const char* word = PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.words, static_cast<Py_ssize_t>(i - call.positional)));
            if (!word) PyErr_Clear();
            text += std::string(word ? word : "…") + "=";
        }
        text += described(call.arguments[i]);
    }
    PyErr_SetString(PyExc_TypeError, (text + ")").c_str());
    return nullptr;
}

PyObject* dispatched(PyObject* capsule, PyObject* const* arguments, Py_ssize_t count, PyObject* words) {
    const Function* function = function_in(capsule);
    if (!function) return nullptr;
    const Call call{arguments, static_cast<size_t>(count), words};
    PyObject* passed[kMost];
    bool convert[kMost];
    try {
        // Among overloads, one that takes the arguments as they are comes before one that has to convert them.
        for (int round = function->entries.size() > 1 ? 0 : 1; round < 2; ++round) {
            for (const Entry& entry : function->entries) {
                if (!filled(entry, call, passed, convert, round == 1)) continue;
                PyObject* result = entry.call.call(entry.call.function, passed, convert);
                if (result == unmatched()) continue;
                if (!result && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, (function->name + "(): its result is no Python object").c_str());
                return result;
            }
        }
        return no_match(*function, call);
    } catch (...) {
        set_error_from_exception();
        return nullptr;
    }
}

Function* bound_function(PyObject* object) {
    PyObject* self = object && PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : nullptr;
    return self && PyCapsule_IsValid(self, kCapsule) ? function_in(self) : nullptr;
}

}  // namespace

void add(Extras& extras, const char* doc) { extras.doc = doc; }
void add(Extras& extras, const pybind11::arg& parameter) {
    Parameter one;
    one.name = parameter.name ? parameter.name : "";
    one.convert = !parameter.no_convert;
    one.none = parameter.takes_none;
    extras.parameters.push_back(std::move(one));
}
void add(Extras& extras, const pybind11::arg_v& parameter) {
    if (!parameter.value) throw PythonError();
    add(extras, static_cast<const pybind11::arg&>(parameter));
    Parameter& one = extras.parameters.back();
    one.has_default = true;
    one.value = Reference::borrowed(parameter.value.ptr());
    one.shown = parameter.text ? parameter.text : shown(parameter.value.ptr());
}

pybind11::object bind(pybind11::handle scope, const char* name, Overload&& overload, Extras&& extras) {
    if (overload.count > kMost) throw std::length_error(std::string(name) + ": more than " + std::to_string(kMost) + " parameters");
    const Reference before = Reference::owned(scope ? PyObject_GetAttrString(scope.ptr(), name) : nullptr);
    if (!before) PyErr_Clear();
    Function* known = bound_function(before.get());
    auto made = std::unique_ptr<Function>(known ? nullptr : new Function());
    Function& function = known ? *known : *made;
    function.name = name;
    std::string signature = signature_of(name, overload, extras);
    function.entries.push_back(Entry{std::move(overload), std::move(extras), std::move(signature)});
    function.doc = doc_of(function);
    function.method.ml_doc = function.doc.c_str();
    if (known) return pybind11::reinterpret_borrow<pybind11::object>(before.get());
    function.method.ml_name = function.name.c_str();
    function.method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&dispatched));
    function.method.ml_flags = METH_FASTCALL | METH_KEYWORDS;
    const Reference capsule = checked(PyCapsule_New(&function, kCapsule, &drop_function));
    made.release();
    const Reference module = Reference::owned(scope ? PyObject_GetAttrString(scope.ptr(), "__name__") : nullptr);
    if (!module) PyErr_Clear();
    pybind11::object out = pybind11::taken(PyCFunction_NewEx(&function.method, capsule.get(), module.get()));
    if (scope && PyObject_SetAttrString(scope.ptr(), name, out.ptr()) != 0) throw PythonError();
    return out;
}

// In two phases, so that a file that is loaded again runs its bindings again.
PyObject* define_module(PyModuleDef& definition, PyModuleDef_Slot* slots, const char* name, int (*fill)(PyObject*)) {
    if (!definition.m_name) {
        definition = PyModuleDef{PyModuleDef_HEAD_INIT, name, nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
        slots[0] = PyModuleDef_Slot{Py_mod_exec, reinterpret_cast<void*>(fill)};
        slots[1] = PyModuleDef_Slot{0, nullptr};
    }
    return PyModuleDef_Init(&definition);
}
int fill_module(PyObject* module, void (*fill)(pybind11::module_&)) {
    try {
        auto filled = pybind11::reinterpret_borrow<pybind11::module_>(module);
        fill(filled);
        return 0;
    } catch (const std::exception&) {
        set_error_from_exception();
    }
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const Reference why = Reference::owned(value), kind = Reference::owned(type), place = Reference::owned(trace);
    const Reference text = Reference::owned(PyObject_Str(value));
    PyErr_SetObject(PyExc_ImportError, text.get());
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyException_SetCause(value, Reference(why).release());
    PyErr_Restore(type, value, trace);
    return -1;
}

}  // namespace opmend_sim::binding

namespace pybind11 {
inline namespace opmend_light {
module_ module_::def_submodule(const char* name, const char* doc) {
    const std::string whole = static_cast<std::string>(str(static_cast<object>(attr("__name__")))) + "." + name;
    auto made = reinterpret_borrow<module_>(PyImport_AddModule(whole.c_str()));
    if (!made) throw error_already_set();
    if (doc) made.attr("__doc__") = doc;
    attr(name) = made;
    return made;
}
module_ module_::import(const char* name) { return reinterpret_steal<module_>(taken(PyImport_ImportModule(name)).release()); }
}  // namespace opmend_light
}  // namespace pybind11
