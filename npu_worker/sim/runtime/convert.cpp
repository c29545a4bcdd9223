// Cast: every pair of types and every rounding mode, once.
#include "opmend_sim/convert.h"

namespace opmend_sim {
namespace {

using AscendC::RoundMode;

double to_integer(double x, RoundMode mode) {
    switch (mode) {
        case RoundMode::CAST_FLOOR: return std::floor(x);
        case RoundMode::CAST_CEIL: return std::ceil(x);
        case RoundMode::CAST_ROUND: return std::round(x);
        case RoundMode::CAST_TRUNC: return std::trunc(x);
        case RoundMode::CAST_ODD: {
            const double low = std::floor(x);
            return low == x ? x : (std::fmod(low, 2.0) != 0 ? low : low + 1);
        }
        default: return std::nearbyint(x);
    }
}

template <class D> D saturated(double x) {
    if (x != x) return 0;
    constexpr double low = static_cast<double>(std::numeric_limits<D>::min()), high = static_cast<double>(std::numeric_limits<D>::max());
    if (x <= low) return std::numeric_limits<D>::min();
    if (x >= high) return std::numeric_limits<D>::max();
    return static_cast<D>(x);
}

// A floating format seen as ordered integers, for the step to the neighbouring value.
template <class D> struct Bits {
    using Word = uint16_t;
    static Word get(D value) { return value.bits; }
    static D set(Word bits) { return D::from_bits(bits); }
};
template <> struct Bits<float> {
    using Word = uint32_t;
    static Word get(float value) { return float_bits(value); }
    static float set(Word bits) { return bits_float(bits); }
};
template <class D> D toward_zero(D value) { return Bits<D>::set(static_cast<typename Bits<D>::Word>(Bits<D>::get(value) - 1)); }
template <class D> D away_from_zero(D value) { return Bits<D>::set(static_cast<typename Bits<D>::Word>(Bits<D>::get(value) + 1)); }

// x, exact in double, in a narrower format. The nearest value first, then the neighbour that the mode wants.
template <class D> D rounded(double x, RoundMode mode) {
    const D near = D(x);
    const double got = static_cast<double>(static_cast<float>(near));
    if (x != x || got == x || mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT) return near;
    if (std::isinf(x)) return near;
    // the two neighbours: `inner` is nearer to zero, `outer` farther
    const bool outside = std::fabs(got) > std::fabs(x);
    D inner = outside ? toward_zero(near) : near, outer = outside ? near : away_from_zero(near);
    if (!outside && static_cast<float>(near) == 0.0f) {  // keep the sign of x in the step from zero
        inner = near;
        outer = Bits<D>::set(static_cast<typename Bits<D>::Word>(Bits<D>::get(near) | 1u));
    }
    switch (mode) {
        case RoundMode::CAST_FLOOR: return x < 0 ? outer : inner;
        case RoundMode::CAST_CEIL: return x < 0 ? inner : outer;
        case RoundMode::CAST_TRUNC: return inner;
        case RoundMode::CAST_ODD: return (Bits<D>::get(inner) & 1) ? inner : outer;
        case RoundMode::CAST_ROUND: {
            const double a = static_cast<double>(static_cast<float>(inner)), b = static_cast<double>(static_cast<float>(outer));
            return std::fabs(x - a) >= std::fabs(b - x) ? outer : inner;
        }
        default: return near;
    }
}
template <> float rounded<float>(double x, RoundMode mode) {
    const float near = static_cast<float>(x);
    const auto got = static_cast<double>(near);
    if (x != x || got == x || std::isinf(near)) return near;
    const bool outside = std::fabs(got) > std::fabs(x);
    const float inner = outside ? toward_zero(near) : near, outer = outside ? near : away_from_zero(near);
    switch (mode) {
        case RoundMode::CAST_FLOOR: return x < 0 ? outer : inner;
        case RoundMode::CAST_CEIL: return x < 0 ? inner : outer;
        case RoundMode::CAST_TRUNC: return inner;
        case RoundMode::CAST_ODD: return (float_bits(inner) & 1) ? inner : outer;
        case RoundMode::CAST_ROUND: return std::fabs(x - inner) >= std::fabs(static_cast<double>(outer) - x) ? outer : inner;
        default: return near;
    }
}

template <class S> double exact(S value) {
    if constexpr (is_narrow<S>) return static_cast<double>(static_cast<float>(value));
    else return static_cast<double>(value);
}

template <class D, class S> D one(S value, RoundMode mode) {
    if constexpr (std::is_same_v<S, float> && std::is_same_v<D, float>) return static_cast<float>(to_integer(value, mode));
    else if constexpr (std::is_integral_v<D> && std::is_integral_v<S>) {
        if constexpr (sizeof(D) >= sizeof(S)) return static_cast<D>(value);
        else if (value < std::numeric_limits<D>::min()) return std::numeric_limits<D>::min();
        else if (value > std::numeric_limits<D>::max()) return std::numeric_limits<D>::max();
        else return static_cast<D>(value);
    } else if constexpr (std::is_integral_v<D>) return saturated<D>(to_integer(exact(value), mode));
    else if constexpr (std::is_same_v<S, int64_t>) {
        // 64 bits do not fit a double: the sticky bit of what is cut off keeps the rounding right
        const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
        const uint64_t kept = (magnitude & ~0x7ffull) | ((magnitude & 0x7ff) != 0 && magnitude >> 53 ? 0x400ull : magnitude & 0x7ffull);
        const auto wide = static_cast<double>(magnitude >> 53 ? kept : magnitude);
        return rounded<D>(value < 0 ? -wide : wide, mode);
    } else return rounded<D>(exact(value), mode);
}

}  // namespace

namespace {
constexpr size_t kChunk = 256;

template <class S> void widen(const S* from, float* to, size_t n) {
    size_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<S, half>)
        for (; i + 8 <= n; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
    if constexpr (std::is_same_v<S, bfloat16_t>)
        for (; i < n; ++i) to[i] = bfloat_bits_to_float(from[i].bits);
    for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
// Whole numbers by the mode, in place. A float that has a fraction is below 2^23, so every step is exact.
void to_whole(float* x, size_t n, RoundMode mode) {
    switch (mode) {
        case RoundMode::CAST_FLOOR:
            for (size_t i = 0; i < n; ++i) x[i] = std::floor(x[i]);
            return;
        case RoundMode::CAST_CEIL:
            for (size_t i = 0; i < n; ++i) x[i] = std::ceil(x[i]);
            return;
        case RoundMode::CAST_TRUNC:
            for (size_t i = 0; i < n; ++i) x[i] = std::trunc(x[i]);
            return;
        case RoundMode::CAST_ROUND:
            for (size_t i = 0; i < n; ++i) {
                const float whole = std::trunc(x[i]);
                const float step = std::fabs(x[i] - whole) >= 0.5f ? 1.0f : 0.0f;
                x[i] = std::copysign(std::fabs(whole) + step, x[i]);
            }
            return;
        case RoundMode::CAST_ODD:
            for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(to_integer(x[i], mode));
            return;
        default:
            for (size_t i = 0; i < n; ++i) x[i] = std::nearbyint(x[i]);
            return;
    }
}
// x is whole: the nearest value of D, 0 for NaN. The bounds are floats below and above D's range, so the cast is defined.
template <class D> void store_whole(const float* x, D* out, size_t n) {
    constexpr float low = static_cast<float>(std::numeric_limits<D>::min());
    constexpr float top = static_cast<float>(std::numeric_limits<D>::max());  // int32_t: 2^31, one more than there is
    constexpr bool exact_top = sizeof(D) < 4;
    for (size_t i = 0; i < n; ++i) {
        float value = x[i];
        value = value == value ? value : 0.0f;
        value = value > low ? value : low;
        const bool over = exact_top ? value > top : value >= top;
        const float safe = over ? 0.0f : value;
        const D whole = static_cast<D>(static_cast<int32_t>(safe));
        out[i] = over ? std::numeric_limits<D>::max() : whole;
    }
}
}  // namespace

template <class D, class S> void convert(D* dst, const S* src, AscendC::RoundMode mode, size_t n) {
    const bool nearest = mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
    constexpr bool floating = is_narrow<S> || std::is_same_v<S, float>;
    // Widening in place: lanes from the end, so that none is written before it is read. The device would not do that (operand-overlap-repeats).
    for (size_t start = 0; start < n; start += kChunk) {
        const size_t m = n - start < kChunk ? n - start : kChunk;
        S in[kChunk];
        std::memcpy(in, src + start, m * sizeof(S));
        D* out = dst + start;
        if constexpr (floating && std::is_same_v<D, float> && !std::is_same_v<S, float>) {
            widen(in, out, m);
        } else if constexpr (floating && (std::is_same_v<D, float> || (std::is_integral_v<D> && sizeof(D) <= 4))) {
            float wide[kChunk];
            widen(in, wide, m);
            to_whole(wide, m, mode);
            if constexpr (std::is_same_v<D, float>) std::memcpy(out, wide, m * sizeof(float));
            else store_whole(wide, out, m);
        } else {
            size_t i = 0;
#if defined(__F16C__)
            if constexpr (std::is_same_v<S, float> && std::is_same_v<D, half>)
                if (nearest)
                    for (; i + 8 <= m; i += 8)
                        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
            if constexpr (std::is_same_v<S, float> && std::is_same_v<D, bfloat16_t>) {
                if (nearest)
                    for (; i < m; ++i) out[i].bits = float_to_bfloat_bits(in[i]);
            } else if constexpr (std::is_integral_v<S> && sizeof(S) <= 2 && (std::is_same_v<D, float> || is_narrow<D>)) {
                if (nearest)
                    for (; i < m; ++i) out[i] = D(static_cast<float>(in[i]));  // exact in float, so half rounds once
            } else if constexpr (std::is_same_v<S, int32_t> && std::is_same_v<D, float>) {
                if (nearest)
                    for (; i < m; ++i) out[i] = static_cast<float>(in[i]);
            }
            for (; i < m; ++i) out[i] = one<D, S>(in[i], mode);
        }
    }
}

void convert_deq(half* dst, const int32_t* src, size_t n, Where where) {
    const Core& now = core();
    if (__builtin_expect(!now.deq_set, 0))
        note("deq-scale-not-set", "warning", "Cast of int32_t to half multiplies by the scale of SetDeqScale, which the kernel never set", where);
    const double scale = now.deq_scale;
    for (size_t i = 0; i < n; ++i) dst[i] = half(static_cast<double>(src[i]) * scale);  // exact in double: one rounding
}

__attribute__((noinline, cold)) void note_cast_mode(AscendC::RoundMode mode, unsigned allowed, Where where) {
    constexpr const char* names[] = {"CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD", "CAST_HYBRID"};
    std::string list;
    for (unsigned i = 0; i < 7; ++i)
        if (allowed >> i & 1) list += std::string(list.empty() ? "" : ", ") + names[i];
    note("cast-mode", "violation",
         std::string("Cast: ") + names[static_cast<unsigned>(mode) & 7] + " is not a mode of this pair of types; it takes " + list, where);
}

#define OPMEND_CONVERT(D, S) template void convert<D, S>(D*, const S*, AscendC::RoundMode, size_t);
OPMEND_CONVERT(float, half)
OPMEND_CONVERT(int32_t, half)
OPMEND_CONVERT(int16_t, half)
OPMEND_CONVERT(int8_t, half)
OPMEND_CONVERT(uint8_t, half)
OPMEND_CONVERT(float, float)
OPMEND_CONVERT(half, float)
OPMEND_CONVERT(bfloat16_t, float)
OPMEND_CONVERT(int64_t, float)
OPMEND_CONVERT(int32_t, float)
OPMEND_CONVERT(int16_t, float)
OPMEND_CONVERT(float, bfloat16_t)
OPMEND_CONVERT(int32_t, bfloat16_t)
OPMEND_CONVERT(half, int8_t)
OPMEND_CONVERT(half, uint8_t)
OPMEND_CONVERT(half, int16_t)
OPMEND_CONVERT(float, int16_t)
OPMEND_CONVERT(float, int32_t)
OPMEND_CONVERT(half, int32_t)
OPMEND_CONVERT(int16_t, int32_t)
OPMEND_CONVERT(int64_t, int32_t)
OPMEND_CONVERT(int32_t, int64_t)
OPMEND_CONVERT(float, int64_t)

}  // namespace opmend_sim
