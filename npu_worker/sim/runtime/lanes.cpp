// The loops of the vector unit, one instantiation a type. half and bfloat16 go through float in chunks.
#include "opmend_sim/vector.h"

namespace opmend_sim {
namespace {

constexpr size_t kChunk = 256;

template <class T> void widen(const T* from, Wide<T>* to, size_t n) {
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, half>) {
        size_t i = 0;
        for (; i + 8 <= n; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
        for (; i < n; ++i) to[i] = half_bits_to_float(from[i].bits);
        return;
    }
#endif
    if constexpr (is_narrow<T>) for (size_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
    else std::memcpy(to, from, n * sizeof(T));
}
template <class T> void narrow(const Wide<T>* from, T* to, size_t n) {
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, half>) {
        size_t i = 0;
        for (; i + 8 <= n; i += 8)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
        for (; i < n; ++i) to[i].bits = float_to_half_bits(from[i]);
        return;
    }
#endif
    if constexpr (is_narrow<T>) for (size_t i = 0; i < n; ++i) to[i] = T(from[i]);
    else std::memcpy(to, from, n * sizeof(T));
}

bool apart(const void* a, const void* b, size_t bytes) {
    const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
    return x == y || x + bytes <= y || y + bytes <= x;
}

// d[i] = f(d[i], a[i], b[i]) in the wide type, one rounding. Overlap that is not exact goes chunk by chunk, as repeats do.
template <class T, class F> void map3(T* d, const T* a, const T* b, size_t n, F f) {
    using W = Wide<T>;
    if constexpr (!is_narrow<T>) {
        if (apart(d, a, n * sizeof(T)) && apart(d, b, n * sizeof(T))) {
#pragma GCC ivdep
            for (size_t i = 0; i < n; ++i) d[i] = f(d[i], a[i], b[i]);
            return;
        }
    }
    constexpr size_t step = is_narrow<T> ? kChunk : 256 / sizeof(T);
    const size_t chunk = apart(d, a, n * sizeof(T)) && apart(d, b, n * sizeof(T)) ? step : 256 / sizeof(T);
    W x[kChunk], y[kChunk], z[kChunk];
    for (size_t start = 0; start < n; start += chunk) {
        const size_t m = n - start < chunk ? n - start : chunk;
        widen(a + start, x, m);
        widen(b + start, y, m);
        widen(d + start, z, m);
        for (size_t i = 0; i < m; ++i) z[i] = f(z[i], x[i], y[i]);
        narrow<T>(z, d + start, m);
    }
}
template <class T, class F> void map2(T* d, const T* a, size_t n, F f) {
    using W = Wide<T>;
    if constexpr (!is_narrow<T>) {
        if (apart(d, a, n * sizeof(T))) {
#pragma GCC ivdep
            for (size_t i = 0; i < n; ++i) d[i] = f(a[i]);
            return;
        }
    }
    const size_t chunk = is_narrow<T> && apart(d, a, n * sizeof(T)) ? kChunk : 256 / sizeof(T);
    W x[kChunk];
    for (size_t start = 0; start < n; start += chunk) {
        const size_t m = n - start < chunk ? n - start : chunk;
        widen(a + start, x, m);
        for (size_t i = 0; i < m; ++i) x[i] = f(x[i]);
        narrow<T>(x, d + start, m);
    }
}

float relu(float x) { return x > 0 || x != x ? x : 0.0f; }
float pick_max(float a, float b) { return a != a || b != b ? std::numeric_limits<float>::quiet_NaN() : (a > b ? a : b); }
float pick_min(float a, float b) { return a != a || b != b ? std::numeric_limits<float>::quiet_NaN() : (a < b ? a : b); }
template <class T> T pick_max(T a, T b) { return a > b ? a : b; }
template <class T> T pick_min(T a, T b) { return a < b ? a : b; }
float sigmoid(float x) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x)))); }

// x * y + z with one rounding to T at the end: for half the float that `narrow` rounds must be rounded to odd.
template <class T> Wide<T> fused(Wide<T> x, Wide<T> y, Wide<T> z) {
    if constexpr (is_narrow<T>) return T::round_odd(static_cast<double>(x) * static_cast<double>(y) + static_cast<double>(z));
    else return std::fma(x, y, z);
}

template <class T> [[noreturn]] void no_lane() { unsupported("this vector call for this element type", Where{"", 0}); }

}  // namespace

template <class T> void lanes(Binary op, T* d, const T* a, const T* b, size_t n) {
    using W = Wide<T>;
    if (op >= Binary::MulAddDst) join_into(d, a, b, n * sizeof(T));  // these read dst, too
    else join(d, a, b, n * sizeof(T));
    switch (op) {
        case Binary::Add: return map3(d, a, b, n, [](W, W x, W y) { return static_cast<W>(x + y); });
        case Binary::Sub: return map3(d, a, b, n, [](W, W x, W y) { return static_cast<W>(x - y); });
        case Binary::Mul: return map3(d, a, b, n, [](W, W x, W y) { return static_cast<W>(x * y); });
        case Binary::Max: return map3(d, a, b, n, [](W, W x, W y) { return pick_max(x, y); });
        case Binary::Min: return map3(d, a, b, n, [](W, W x, W y) { return pick_min(x, y); });
        default: break;
    }
    if constexpr (std::is_floating_point_v<W>) {
        switch (op) {
            case Binary::Div: return map3(d, a, b, n, [](W, W x, W y) { return x / y; });
            case Binary::AddRelu: return map3(d, a, b, n, [](W, W x, W y) { return relu(x + y); });
            case Binary::SubRelu: return map3(d, a, b, n, [](W, W x, W y) { return relu(x - y); });
            case Binary::MulAddDst: return map3(d, a, b, n, [](W z, W x, W y) { return fused<T>(x, y, z); });
            case Binary::FusedMulAdd: return map3(d, a, b, n, [](W z, W x, W y) { return fused<T>(x, z, y); });
            case Binary::FusedMulAddRelu:
            case Binary::MulAddRelu: return map3(d, a, b, n, [](W z, W x, W y) { return relu(fused<T>(x, z, y)); });
            default: break;
        }
    } else {
        switch (op) {
            case Binary::And: return map3(d, a, b, n, [](W, W x, W y) { return static_cast<W>(x & y); });
            case Binary::Or: return map3(d, a, b, n, [](W, W x, W y) { return static_cast<W>(x | y); });
            case Binary::AddRelu: return map3(d, a, b, n, [](W, W x, W y) { return static_cast<W>(static_cast<W>(x + y) > 0 ? x + y : 0); });
            case Binary::SubRelu: return map3(d, a, b, n, [](W, W x, W y) { return static_cast<W>(static_cast<W>(x - y) > 0 ? x - y : 0); });
            default: break;
        }
    }
    no_lane<T>();
}

template <class T> void lanes(Unary op, T* d, const T* a, size_t n) {
    using W = Wide<T>;
    join(d, a, n * sizeof(T));
    if constexpr (std::is_floating_point_v<W>) {
        switch (op) {
#define OPMEND_LANE(Name, expression) case Unary::Name: return map2(d, a, n, [](W x) { return static_cast<W>(expression); });
            OPMEND_LANE(Exp, std::exp(x))
            OPMEND_LANE(Ln, std::log(x))
            OPMEND_LANE(Abs, std::fabs(x))
            OPMEND_LANE(Sqrt, std::sqrt(x))
            OPMEND_LANE(Rsqrt, 1.0 / std::sqrt(static_cast<double>(x)))
            OPMEND_LANE(Reciprocal, 1.0f / x)
            OPMEND_LANE(Relu, relu(x))
            OPMEND_LANE(Tanh, std::tanh(x))
            OPMEND_LANE(Sigmoid, sigmoid(x))
            // The page's Gelu is the one by tanh, and so are the numbers that it prints.
            OPMEND_LANE(Gelu, x / (1.0 + std::exp(-1.5957691216057308 * (x + 0.044715 * static_cast<double>(x) * x * x))))
            OPMEND_LANE(FasterGelu, x / (1.0 + std::exp(-1.702 * static_cast<double>(x))))
            OPMEND_LANE(Silu, x * (1.0 / (1.0 + std::exp(-static_cast<double>(x)))))
            OPMEND_LANE(Erf, std::erf(x))
            OPMEND_LANE(Erfc, std::erfc(x))
            OPMEND_LANE(Sin, std::sin(x))
            OPMEND_LANE(Cos, std::cos(x))
            OPMEND_LANE(Tan, std::tan(x))
            OPMEND_LANE(Asin, std::asin(x))
            OPMEND_LANE(Acos, std::acos(x))
            OPMEND_LANE(Atan, std::atan(x))
            OPMEND_LANE(Sinh, std::sinh(x))
            OPMEND_LANE(Cosh, std::cosh(x))
            OPMEND_LANE(Asinh, std::asinh(x))
            OPMEND_LANE(Acosh, std::acosh(x))
            OPMEND_LANE(Atanh, std::atanh(x))
            OPMEND_LANE(Log2, std::log2(x))
            OPMEND_LANE(Log10, std::log10(x))
            OPMEND_LANE(Sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x)
            OPMEND_LANE(Floor, std::floor(x))
            OPMEND_LANE(Ceil, std::ceil(x))
            OPMEND_LANE(Round, std::round(x))
            OPMEND_LANE(Trunc, std::trunc(x))
            OPMEND_LANE(Rint, std::nearbyint(x))
            OPMEND_LANE(Frac, x - std::trunc(x))
            OPMEND_LANE(Neg, -x)
            OPMEND_LANE(Square, x * x)
#undef OPMEND_LANE
            default: break;
        }
    } else {
        if (op == Unary::Not) return map2(d, a, n, [](W x) { return static_cast<W>(~x); });
        if (op == Unary::Relu) return map2(d, a, n, [](W x) { return static_cast<W>(static_cast<int64_t>(x) > 0 ? x : 0); });
    }
    no_lane<T>();
}

template <class T> void lanes(Scalar op, T* d, const T* a, T scalar, size_t n) {
    using W = Wide<T>;
    const W s = static_cast<W>(scalar);
    if (op == Scalar::Axpy) join_into(d, a, a, n * sizeof(T));
    else join(d, a, n * sizeof(T));
    switch (op) {
        case Scalar::Adds: return map2(d, a, n, [s](W x) { return static_cast<W>(x + s); });
        case Scalar::Muls: return map2(d, a, n, [s](W x) { return static_cast<W>(x * s); });
        case Scalar::Maxs: return map2(d, a, n, [s](W x) { return pick_max(x, s); });
        case Scalar::Mins: return map2(d, a, n, [s](W x) { return pick_min(x, s); });
        case Scalar::Axpy: return map3(d, a, d, n, [s](W z, W x, W) {
            if constexpr (std::is_floating_point_v<W>) return fused<T>(x, s, z);
            else return static_cast<W>(z + x * s);
        });
        default: break;
    }
    if constexpr (std::is_floating_point_v<W>) {
        if (op == Scalar::LeakyRelu) return map2(d, a, n, [s](W x) { return x > 0 ? x : x * s; });
        if (op == Scalar::Subs) return map2(d, a, n, [s](W x) { return x - s; });
        if (op == Scalar::Divs) return map2(d, a, n, [s](W x) { return x / s; });
        if (op == Scalar::Power) return map2(d, a, n, [s](W x) { return std::pow(x, s); });
    } else {
        const unsigned shift = static_cast<unsigned>(s);
        constexpr unsigned width = 8 * sizeof(T);
        using U = std::make_unsigned_t<W>;
        if (op == Scalar::ShiftLeft) return map2(d, a, n,
                                                 [shift](W x) { return shift >= width ? W(0) : static_cast<W>(static_cast<U>(x) << shift); });
        if (op == Scalar::ShiftRight)
            return map2(d, a, n,
                [shift](W x) { return shift >= width && std::is_unsigned_v<W> ? W(0) : static_cast<W>(x >> (shift >= width ? width - 1 : shift)); });
        if (op == Scalar::ShiftRightRound)
            return map2(d, a, n, [shift](W x) {
                if (shift == 0) return x;
                if (shift > width) return W(0);
                const int64_t wide = static_cast<int64_t>(x);
                return static_cast<W>((wide + (int64_t(1) << (shift - 1))) >> shift);
            });
    }
    no_lane<T>();
}

void axpy(float* d, const half* a, half scalar, size_t n) {
    const float s = static_cast<float>(scalar);
    if (unwritten(a, n * sizeof(half)) || unwritten(d, n * sizeof(float)))
        for (size_t i = 0; i < n; ++i)
            if (unwritten(a + i, sizeof(half))) mark_unwritten(d + i, sizeof(float));
    for (size_t i = 0; i < n; ++i) d[i] = std::fma(static_cast<float>(a[i]), s, d[i]);
}

void mul_add(float* d, const half* a, const half* b, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (__builtin_expect(unwritten(a + i, sizeof(half)) || unwritten(b + i, sizeof(half)), 0)) mark_unwritten(d + i, sizeof(float));
        d[i] = std::fma(static_cast<float>(a[i]), static_cast<float>(b[i]), d[i]);
    }
}

__attribute__((noinline, cold)) void note_shift(int64_t by, const char* call, Where where) {
    note("shift-out-of-range", "violation", std::string(call) + " by " + std::to_string(by) + " bits: more than the element has, or fewer than 0",
         where);
}

#define OPMEND_LANES_OF(T)                                        \
    template void lanes<T>(Binary, T*, const T*, const T*, size_t); \
    template void lanes<T>(Unary, T*, const T*, size_t);            \
    template void lanes<T>(Scalar, T*, const T*, T, size_t);
OPMEND_LANES_OF(half)
OPMEND_LANES_OF(float)
OPMEND_LANES_OF(int16_t)
OPMEND_LANES_OF(uint16_t)
OPMEND_LANES_OF(int32_t)
OPMEND_LANES_OF(uint32_t)

}  // namespace opmend_sim
