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

template <class D, class S> void convert(D* dst, const S* src, AscendC::RoundMode mode, size_t n) {
    constexpr size_t chunk = 256;
    const bool nearest = mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
    for (size_t start = 0; start < n; start += chunk) {
        const size_t m = n - start < chunk ? n - start : chunk;
        S in[chunk];
        std::memcpy(in, src + start, m * sizeof(S));
        D* out = dst + start;
        size_t i = 0;
#if defined(__F16C__)
        if constexpr (std::is_same_v<S, half> && std::is_same_v<D, float>)
            for (; i + 8 <= m; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
        if constexpr (std::is_same_v<S, float> && std::is_same_v<D, half>)
            if (nearest)
                for (; i + 8 <= m; i += 8)
                    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
        if constexpr (std::is_same_v<S, bfloat16_t> && std::is_same_v<D, float>) {
            for (; i < m; ++i) out[i] = bfloat_bits_to_float(in[i].bits);
        } else if constexpr (std::is_same_v<S, float> && std::is_same_v<D, bfloat16_t>) {
            if (nearest)
                for (; i < m; ++i) out[i].bits = float_to_bfloat_bits(in[i]);
        } else if constexpr (std::is_same_v<S, int32_t> && std::is_same_v<D, float>) {
            if (nearest)
                for (; i < m; ++i) out[i] = static_cast<float>(in[i]);
        } else if constexpr (std::is_same_v<S, float> && std::is_same_v<D, int32_t>) {
            if (mode == RoundMode::CAST_TRUNC)
                for (; i < m; ++i) out[i] = saturated<int32_t>(in[i]);
        }
        for (; i < m; ++i) out[i] = one<D, S>(in[i], mode);
    }
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
