// torch's operator library by way of Python's torch.library: operators are called as torch.ops.NAMESPACE.NAME. Device keys (PrivateUse1, CPU) are
// one here, since a CPU tensor stands in for one on the device.
#pragma once
#include <utility>

#include "torch/extension.h"

#define TORCH_FN(function) function

#pragma GCC visibility push(hidden)
namespace opmend_sim {
// The word of a schema for a C++ type; "" for one that schemas don't have.
template <class T> struct SchemaType { static std::string text() { return ""; } };
#define OPMEND_SCHEMA(Type, word) template <> struct SchemaType<Type> { static std::string text() { return word; } }
OPMEND_SCHEMA(at::Tensor, "Tensor");
OPMEND_SCHEMA(int64_t, "int");
OPMEND_SCHEMA(double, "float");
OPMEND_SCHEMA(bool, "bool");
OPMEND_SCHEMA(std::string, "str");
OPMEND_SCHEMA(at::Scalar, "Scalar");
OPMEND_SCHEMA(at::ScalarType, "ScalarType");
OPMEND_SCHEMA(at::IntArrayRef, "int[]");
OPMEND_SCHEMA(at::TensorList, "Tensor[]");
#undef OPMEND_SCHEMA
template <class T> struct SchemaType<std::optional<T>> { static std::string text() { return SchemaType<T>::text() + "?"; } };
template <class T> struct SchemaType<std::vector<T>> { static std::string text() { return SchemaType<T>::text() + "[]"; } };
template <class... T> std::string schema_list() {
    std::string out;
    int number = 0;
    ((out += (out.empty() ? "" : ", ") + SchemaType<std::decay_t<T>>::text() + " _" + std::to_string(number++)), ...);
    return out;
}
template <class R> struct SchemaResult { static std::string text() { return SchemaType<std::decay_t<R>>::text(); } };
template <> struct SchemaResult<void> { static std::string text() { return "()"; } };
template <class... T> struct SchemaResult<std::tuple<T...>> {
    static std::string text() {
        std::string out;
        ((out += (out.empty() ? "" : ", ") + SchemaType<std::decay_t<T>>::text()), ...);
        return "(" + out + ")";
    }
};
template <class R, class... A> std::string schema_of(const char* name, R (*)(A...)) {
    return std::string(name) + "(" + schema_list<A...>() + ") -> " + SchemaResult<R>::text();
}
// runtime/tensor.cpp
void library_define(const std::string& space, const std::string& schema);
void library_implement(const std::string& space, const std::string& name, const std::string& key, Reference function);
}  // namespace opmend_sim

namespace torch {
class Library {
public:
    Library(const char* space, const char* key) : space_(space), key_(key) {}
    Library& def(const char* schema) {
        ::opmend_sim::library_define(space_, schema);
        return *this;
    }
    // `name_or_schema` is a whole schema, or a name whose schema is the function's signature.
    template <class R, class... A> Library& def(const char* name_or_schema, R (*function)(A...)) {
        const std::string text = name_or_schema;
        ::opmend_sim::library_define(space_, text.find('(') == std::string::npos ? ::opmend_sim::schema_of(name_or_schema, function) : text);
        return impl(text.substr(0, text.find('(')).c_str(), function);
    }
    template <class F, class = decltype(+std::declval<F>())>
    Library& def(const char* name_or_schema, F function) {
        return def(name_or_schema, +function);
    }
    template <class R, class... A> Library& impl(const char* name, R (*function)(A...)) {
        ::opmend_sim::library_implement(space_, name, key_, ::opmend_sim::Reference::owned(py::cpp_function(function).release().ptr()));
        return *this;
    }
    template <class F, class = decltype(+std::declval<F>())> Library& impl(const char* name, F function) { return impl(name, +function); }

private:
    std::string space_, key_;
};
struct LibraryBlock {
    LibraryBlock(const char* space, const char* key, void (*fill)(Library&)) {
        const py::gil_scoped_acquire held;
        Library library(space, key);
        fill(library);
    }
};
}  // namespace torch
#pragma GCC visibility pop

#define OPMEND_JOINED_(a, b) a##b
#define OPMEND_JOINED(a, b) OPMEND_JOINED_(a, b)
#define OPMEND_LIBRARY(space, key, m)                                                                                                              \
    static void OPMEND_JOINED(opmend_library_, __LINE__)(torch::Library & m);                                                                      \
    [[maybe_unused]] static const torch::LibraryBlock OPMEND_JOINED(opmend_block_, __LINE__)(#space, key, &OPMEND_JOINED(opmend_library_, __LINE__)); \
    static void OPMEND_JOINED(opmend_library_, __LINE__)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY(space, m) OPMEND_LIBRARY(space, "CompositeExplicitAutograd", m)
#define TORCH_LIBRARY_FRAGMENT(space, m) OPMEND_LIBRARY(space, "CompositeExplicitAutograd", m)
#define TORCH_LIBRARY_IMPL(space, key, m) OPMEND_LIBRARY(space, #key, m)
