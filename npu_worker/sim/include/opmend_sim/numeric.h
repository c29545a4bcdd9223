// half and bfloat16_t: storage types whose every operation computes in float and rounds once, half to even.
// Float has more than 2p+2 bits for both, so +, -, *, / and sqrt are correctly rounded.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace opmend_sim {

constexpr uint32_t float_bits(float value) { return __builtin_bit_cast(uint32_t, value); }
constexpr float bits_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }

constexpr float half_bits_to_float_portable(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t exponent = (h >> 10) & 0x1fu;
    const uint32_t fraction = h & 0x3ffu;
    if (exponent == 0x1f) return bits_float(sign | 0x7f800000u | (fraction << 13) | (fraction ? 0x400000u : 0u));
    if (exponent) return bits_float(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-08f;  // 2^-24
    return bits_float(sign | float_bits(magnitude));
}
constexpr uint16_t float_to_half_bits_portable(float value) {
    const uint32_t bits = float_bits(value);
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {  // subnormal or zero: count units of 2^-24, half to even by the FPU
        const float shifted = bits_float(magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (float_bits(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}
constexpr float half_bits_to_float(uint16_t h) {
#if defined(__F16C__)
    if (!__builtin_is_constant_evaluated()) return _cvtsh_ss(h);
#endif
    return half_bits_to_float_portable(h);
}
constexpr uint16_t float_to_half_bits(float value) {
#if defined(__F16C__)
    if (!__builtin_is_constant_evaluated()) return static_cast<uint16_t>(_cvtss_sh(value, 0));
#endif
    return float_to_half_bits_portable(value);
}
constexpr float bfloat_bits_to_float(uint16_t b) { return bits_float(static_cast<uint32_t>(b) << 16); }
constexpr uint16_t float_to_bfloat_bits(float value) {
    const uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

struct HalfFormat {
    static constexpr float widen(uint16_t bits) { return half_bits_to_float(bits); }
    static constexpr uint16_t narrow(float value) { return float_to_half_bits(value); }
};
struct BfloatFormat {
    static constexpr float widen(uint16_t bits) { return bfloat_bits_to_float(bits); }
    static constexpr uint16_t narrow(float value) { return float_to_bfloat_bits(value); }
};

template <class Format>
struct Narrow {
    uint16_t bits;
    Narrow() = default;
    template <class A, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>
    constexpr Narrow(A value) : bits(Format::narrow(static_cast<float>(value))) {}
    constexpr Narrow(double value) : bits(Format::narrow(round_odd(value))) {}
    template <class Other, std::enable_if_t<!std::is_same_v<Other, Format>, int> = 0>
    explicit constexpr Narrow(Narrow<Other> value) : bits(Format::narrow(static_cast<float>(value))) {}
    constexpr operator float() const { return Format::widen(bits); }
    static constexpr Narrow from_bits(uint16_t raw) { return __builtin_bit_cast(Narrow, raw); }
    // A double goes through float rounded to odd, so that the two roundings act as one.
    static constexpr float round_odd(double value) {
        float near = static_cast<float>(value);
        if (static_cast<double>(near) == value || near != near || near - near != 0) return near;
        const bool above = (near < 0 ? -static_cast<double>(near) : static_cast<double>(near)) > (value < 0 ? -value : value);
        uint32_t raw = float_bits(near);
        if (above) raw -= 1;
        return bits_float(raw | 1u);
    }
    constexpr Narrow operator-() const { return from_bits(static_cast<uint16_t>(bits ^ 0x8000u)); }
    Narrow operator+() const { return *this; }
    template <class A> Narrow& operator+=(A other) { return *this = Narrow(static_cast<float>(*this) + static_cast<float>(other)); }
    template <class A> Narrow& operator-=(A other) { return *this = Narrow(static_cast<float>(*this) - static_cast<float>(other)); }
    template <class A> Narrow& operator*=(A other) { return *this = Narrow(static_cast<float>(*this) * static_cast<float>(other)); }
    template <class A> Narrow& operator/=(A other) { return *this = Narrow(static_cast<float>(*this) / static_cast<float>(other)); }
    Narrow& operator++() { return *this += 1.0f; }
    Narrow& operator--() { return *this -= 1.0f; }
};

#define OPMEND_NARROW_OPERATOR(op)                                                                                   \
    template <class F> constexpr Narrow<F> operator op(Narrow<F> a, Narrow<F> b) {                                              \
        return Narrow<F>(static_cast<float>(a) op static_cast<float>(b));                                             \
    }                                                                                                                 \
    template <class F, class A, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>                                   \
    constexpr auto operator op(Narrow<F> a, A b) {                                                                              \
        if constexpr (std::is_integral_v<A>) return Narrow<F>(static_cast<float>(a) op static_cast<float>(Narrow<F>(b))); \
        else return static_cast<A>(static_cast<float>(a)) op b;                                                       \
    }                                                                                                                 \
    template <class F, class A, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>                                   \
    constexpr auto operator op(A a, Narrow<F> b) {                                                                              \
        if constexpr (std::is_integral_v<A>) return Narrow<F>(static_cast<float>(Narrow<F>(a)) op static_cast<float>(b)); \
        else return a op static_cast<A>(static_cast<float>(b));                                                       \
    }
OPMEND_NARROW_OPERATOR(+)
OPMEND_NARROW_OPERATOR(-)
OPMEND_NARROW_OPERATOR(*)
OPMEND_NARROW_OPERATOR(/)
#undef OPMEND_NARROW_OPERATOR

#define OPMEND_NARROW_COMPARISON(op)                                                                                  \
    template <class F> constexpr bool operator op(Narrow<F> a, Narrow<F> b) { return static_cast<float>(a) op static_cast<float>(b); } \
    template <class F, class A, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>                                   \
    constexpr bool operator op(Narrow<F> a, A b) { return static_cast<double>(static_cast<float>(a)) op static_cast<double>(b); } \
    template <class F, class A, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>                                   \
    constexpr bool operator op(A a, Narrow<F> b) { return static_cast<double>(a) op static_cast<double>(static_cast<float>(b)); }
OPMEND_NARROW_COMPARISON(<)
OPMEND_NARROW_COMPARISON(>)
OPMEND_NARROW_COMPARISON(<=)
OPMEND_NARROW_COMPARISON(>=)
OPMEND_NARROW_COMPARISON(==)
OPMEND_NARROW_COMPARISON(!=)
#undef OPMEND_NARROW_COMPARISON

}  // namespace opmend_sim

using half = opmend_sim::Narrow<opmend_sim::HalfFormat>;
using bfloat16_t = opmend_sim::Narrow<opmend_sim::BfloatFormat>;
static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half> && std::is_trivial_v<half>);

namespace opmend_sim {
template <class T> inline constexpr bool is_narrow = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>;
// What a lane of T computes in.
template <class T> using Wide = std::conditional_t<is_narrow<T>, float, T>;
template <class T, class... Ts> inline constexpr bool one_of = (std::is_same_v<T, Ts> || ...);
}  // namespace opmend_sim

namespace std {
template <class F> struct numeric_limits<opmend_sim::Narrow<F>> {
    using N = opmend_sim::Narrow<F>;
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true, has_quiet_NaN = true;
    static constexpr bool is_half = is_same_v<F, opmend_sim::HalfFormat>;
    static constexpr N max() { return N::from_bits(is_half ? 0x7bff : 0x7f7f); }
    static constexpr N lowest() { return N::from_bits(is_half ? 0xfbff : 0xff7f); }
    static constexpr N min() { return N::from_bits(is_half ? 0x0400 : 0x0080); }
    static constexpr N epsilon() { return N::from_bits(is_half ? 0x1400 : 0x3c00); }
    static constexpr N infinity() { return N::from_bits(is_half ? 0x7c00 : 0x7f80); }
    static constexpr N quiet_NaN() { return N::from_bits(is_half ? 0x7e00 : 0x7fc0); }
};
}  // namespace std
