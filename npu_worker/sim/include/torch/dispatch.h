// AT_DISPATCH: a lambda for the element type that a tensor has at run time; in it `scalar_t` is the C++ type.
#pragma once
#include "torch/extension.h"

#pragma GCC visibility push(hidden)
namespace at {
template <ScalarType type> struct CppTypeOf;
#define OPMEND_CPP_TYPE(name, Type) template <> struct CppTypeOf<ScalarType::name> { using type = Type; }
OPMEND_CPP_TYPE(Byte, uint8_t);
OPMEND_CPP_TYPE(Char, int8_t);
OPMEND_CPP_TYPE(Short, int16_t);
OPMEND_CPP_TYPE(Int, int32_t);
OPMEND_CPP_TYPE(Long, int64_t);
OPMEND_CPP_TYPE(Half, Half);
OPMEND_CPP_TYPE(BFloat16, BFloat16);
OPMEND_CPP_TYPE(Float, float);
OPMEND_CPP_TYPE(Double, double);
OPMEND_CPP_TYPE(Bool, bool);
#undef OPMEND_CPP_TYPE
inline ScalarType dispatched_type(ScalarType type) { return type; }
inline ScalarType dispatched_type(TypeMeta meta) { return meta.type; }
}  // namespace at
#pragma GCC visibility pop

#define AT_DISPATCH_CASE(wanted, ...)                               \
    case wanted: {                                                  \
        using scalar_t [[maybe_unused]] = typename ::at::CppTypeOf<wanted>::type; \
        return __VA_ARGS__();                                       \
    }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                                                    \
    [&] {                                                                                                                      \
        const ::at::ScalarType opmend_type = ::at::dispatched_type(TYPE);                                                      \
        switch (opmend_type) {                                                                                                 \
            __VA_ARGS__                                                                                                        \
            default: throw ::at::Error(std::string("\"") + NAME + "\" not implemented for '" + ::at::toString(opmend_type) + "'"); \
        }                                                                                                                      \
    }()
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) \
    AT_DISPATCH_CASE(::at::ScalarType::Double, __VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                                                                                  \
    AT_DISPATCH_CASE(::at::ScalarType::Byte, __VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Char, __VA_ARGS__)                \
    AT_DISPATCH_CASE(::at::ScalarType::Int, __VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Long, __VA_ARGS__)                 \
    AT_DISPATCH_CASE(::at::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) AT_DISPATCH_FLOATING_TYPES_AND(::at::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...)                                                                   \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)                      \
                                       AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
