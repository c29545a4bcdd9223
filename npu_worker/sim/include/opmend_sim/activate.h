// Elementwise calls of the high-level library: each with and without a scratch buffer and a count.
#pragma once
#include "opmend_sim/vector.h"

namespace AscendC {

#define OPMEND_CURVE(Name, Operation)                                                                                                       \
    template <class T, bool first = false, bool second = false>                                                                             \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, OPMEND_WHERE) {                                     \
        static_assert(::opmend_sim::one_of<T, half, float>, #Name " takes half, float on dav-2201");                                         \
        ::opmend_sim::lanes<T>(::opmend_sim::Unary::Operation, ::opmend_sim::target_of_lanes(dst, count, #Name, "dst", where),                       \
                               ::opmend_sim::source(src, count, #Name, "src", where), count);                                                  \
    }                                                                                                                                       \
    template <class T, bool first = false, bool second = false>                                                                             \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_WHERE) {                                                          \
        Name<T, first, second>(dst, src, src.GetSize(), where);                                                                             \
    }                                                                                                                                       \
    template <class T, bool first = false, bool second = false>                                                                             \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&, const uint32_t count, OPMEND_WHERE) {        \
        Name<T, first, second>(dst, src, count, where);                                                                                     \
    }                                                                                                                                       \
    template <class T, bool first = false, bool second = false>                                                                             \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&, OPMEND_WHERE) {                             \
        Name<T, first, second>(dst, src, src.GetSize(), where);                                                                             \
    }
OPMEND_CURVE(Tanh, Tanh)
OPMEND_CURVE(Sigmoid, Sigmoid)
OPMEND_CURVE(Gelu, Gelu)
OPMEND_CURVE(FasterGelu, FasterGelu)
OPMEND_CURVE(Silu, Silu)
OPMEND_CURVE(Erf, Erf)
OPMEND_CURVE(Erfc, Erfc)
OPMEND_CURVE(Sin, Sin)
OPMEND_CURVE(Cos, Cos)
OPMEND_CURVE(Tan, Tan)
OPMEND_CURVE(Asin, Asin)
OPMEND_CURVE(Acos, Acos)
OPMEND_CURVE(Atan, Atan)
OPMEND_CURVE(Sinh, Sinh)
OPMEND_CURVE(Cosh, Cosh)
OPMEND_CURVE(Asinh, Asinh)
OPMEND_CURVE(Acosh, Acosh)
OPMEND_CURVE(Atanh, Atanh)
OPMEND_CURVE(Log, Ln)
OPMEND_CURVE(Log2, Log2)
OPMEND_CURVE(Log10, Log10)
OPMEND_CURVE(Sign, Sign)
OPMEND_CURVE(Floor, Floor)
OPMEND_CURVE(Ceil, Ceil)
OPMEND_CURVE(Round, Rint)
OPMEND_CURVE(Trunc, Trunc)
OPMEND_CURVE(Frac, Frac)
#undef OPMEND_CURVE

// The sign of beta is the page's: with -1.702 it prints x * sigmoid(1.702 x).
template <class T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, const ::opmend_sim::Same<T> scalar, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Swish takes half, float on dav-2201");
    T* to = ::opmend_sim::target_of_lanes(dst, count, "Swish", "dst", where);
    const T* from = ::opmend_sim::source(src, count, "Swish", "src", where);
    ::opmend_sim::join(to, from, count * sizeof(T));
    const double beta = static_cast<float>(scalar);
    for (uint32_t i = 0; i < count; ++i)
        to[i] = T(static_cast<float>(from[i] / (1.0 + std::exp(beta * static_cast<double>(static_cast<float>(from[i]))))));
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const ::opmend_sim::Same<T>& src1, uint32_t count, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Power takes half, float, here");
    ::opmend_sim::lanes<T>(::opmend_sim::Scalar::Power, ::opmend_sim::target_of_lanes(dst, count, "Power", "dst", where),
                           ::opmend_sim::source(src0, count, "Power", "src0", where), src1, count);
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint32_t count, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Power takes half, float, here");
    T* to = ::opmend_sim::target_of_lanes(dst, count, "Power", "dst", where);
    const T* base = ::opmend_sim::source(src0, count, "Power", "src0", where);
    const T* exponent = ::opmend_sim::source(src1, count, "Power", "src1", where);
    ::opmend_sim::join(to, base, exponent, count * sizeof(T));
    for (uint32_t i = 0; i < count; ++i) to[i] = T(std::pow(static_cast<float>(base[i]), static_cast<float>(exponent[i])));
}
template <class T, bool isReuseSource = false>
void ClampMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&, const ::opmend_sim::Same<T> scalar,
              const uint32_t count, OPMEND_WHERE) {
    ::opmend_sim::lanes<T>(::opmend_sim::Scalar::Mins, ::opmend_sim::target_of_lanes(dst, count, "ClampMax", "dst", where),
                           ::opmend_sim::source(src, count, "ClampMax", "src", where), scalar, count);
}
template <class T, bool isReuseSource = false>
void ClampMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&, const ::opmend_sim::Same<T> scalar,
              const uint32_t count, OPMEND_WHERE) {
    ::opmend_sim::lanes<T>(::opmend_sim::Scalar::Maxs, ::opmend_sim::target_of_lanes(dst, count, "ClampMin", "dst", where),
                           ::opmend_sim::source(src, count, "ClampMin", "src", where), scalar, count);
}

}  // namespace AscendC
