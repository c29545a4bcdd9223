// Blocked matrix multiplication with a fixed order of additions.
#include "opmend_sim/gemm.h"

#include <cmath>
#include <cstring>

namespace opmend_sim {
namespace {

constexpr uint32_t kLanes = 8;
constexpr uint32_t kDepth = 256;  // a panel of the right matrix stays in the first-level cache; sums between depths are stored exactly
template <class T> struct Lanes;
template <> struct Lanes<float> { typedef float type __attribute__((vector_size(32), aligned(4))); };
template <> struct Lanes<int32_t> { typedef int32_t type __attribute__((vector_size(32), aligned(4))); };
static_assert(kPanel == 2 * kLanes);

// `kRows` rows by one panel. -ffp-contract=off keeps multiplication and addition apart.
template <uint32_t kRows, class T>
inline void strip(T* result, uint64_t leading, const T* left, uint64_t left_leading, const T* right, uint32_t depth) {
    using V = typename Lanes<T>::type;
    V sum[kRows][2];
    for (uint32_t r = 0; r < kRows; ++r)
        for (uint32_t h = 0; h < 2; ++h) sum[r][h] = *reinterpret_cast<const V*>(result + r * leading + h * kLanes);
    for (uint32_t k = 0; k < depth; ++k) {
        const V b0 = *reinterpret_cast<const V*>(right + k * kPanel), b1 = *reinterpret_cast<const V*>(right + k * kPanel + kLanes);
        for (uint32_t r = 0; r < kRows; ++r) {
            const T a = left[r * left_leading + k];
            sum[r][0] += a * b0;
            sum[r][1] += a * b1;
        }
    }
    for (uint32_t r = 0; r < kRows; ++r)
        for (uint32_t h = 0; h < 2; ++h) *reinterpret_cast<V*>(result + r * leading + h * kLanes) = sum[r][h];
}

template <class T> void multiply(T* result, uint64_t leading, const T* left, const T* right, uint32_t m, uint32_t n, uint32_t k) {
    const uint32_t panels = (n + kPanel - 1) / kPanel;
    for (uint32_t from = 0; from < k; from += kDepth) {
        const uint32_t depth = k - from < kDepth ? k - from : kDepth;
        for (uint32_t panel = 0; panel < panels; ++panel) {
            const T* b = right + (static_cast<uint64_t>(panel) * k + from) * kPanel;
            T* c = result + static_cast<uint64_t>(panel) * kPanel;
            uint32_t row = 0;
            for (; row + 6 <= m; row += 6) strip<6>(c + row * leading, leading, left + static_cast<uint64_t>(row) * k + from, k, b, depth);
            for (; row + 2 <= m; row += 2) strip<2>(c + row * leading, leading, left + static_cast<uint64_t>(row) * k + from, k, b, depth);
            for (; row < m; ++row) strip<1>(c + row * leading, leading, left + static_cast<uint64_t>(row) * k + from, k, b, depth);
        }
    }
}

template <class To, class From> void convert(To* out, const void* in, uint64_t count) {
    const From* from = static_cast<const From*>(in);
    for (uint64_t i = 0; i < count; ++i) out[i] = static_cast<To>(from[i]);
}

float scale_at(Scale scale, uint64_t column) {
    if (!scale.values) return 1.0f;
    return bits_float(static_cast<uint32_t>(scale.values[scale.by_column ? column : 0]) & ~0x1fffu);  // the unit keeps 10 bits of fraction
}
int offset_at(Scale scale, uint64_t column) {
    if (!scale.values) return 0;
    const int bits = static_cast<int>(scale.values[scale.by_column ? column : 0] >> 37 & 0x1ff);
    return bits >= 256 ? bits - 512 : bits;
}
template <class T> T saturated(float value, int offset) {
    if (value != value) return 0;
    const double shifted = std::nearbyint(static_cast<double>(value)) + offset;
    const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    return static_cast<T>(shifted < low ? low : shifted > high ? high : shifted);
}

template <class From> void narrow_all(void* out, const From* in, uint64_t count, uint64_t first, Cell cell, Scale scale) {
    const auto value = [&](uint64_t i) { return scale.values ? static_cast<float>(in[i]) * scale_at(scale, first + i) : static_cast<float>(in[i]); };
    switch (cell) {
        case Cell::Half: {
            half* to = static_cast<half*>(out);
            for (uint64_t i = 0; i < count; ++i) to[i] = half(value(i));
            return;
        }
        case Cell::Bfloat: {
            bfloat16_t* to = static_cast<bfloat16_t*>(out);
            for (uint64_t i = 0; i < count; ++i) to[i] = bfloat16_t(value(i));
            return;
        }
        case Cell::Float: {
            float* to = static_cast<float*>(out);
            for (uint64_t i = 0; i < count; ++i) to[i] = value(i);
            return;
        }
        case Cell::Int8: {
            int8_t* to = static_cast<int8_t*>(out);
            for (uint64_t i = 0; i < count; ++i) to[i] = saturated<int8_t>(value(i), offset_at(scale, first + i));
            return;
        }
        case Cell::Uint8: {
            uint8_t* to = static_cast<uint8_t*>(out);
            for (uint64_t i = 0; i < count; ++i) to[i] = saturated<uint8_t>(value(i), offset_at(scale, first + i));
            return;
        }
        case Cell::Int32: {
            int32_t* to = static_cast<int32_t*>(out);
            for (uint64_t i = 0; i < count; ++i) to[i] = static_cast<int32_t>(in[i]);
            return;
        }
        default: fail("matmul-type", "the result of a matrix multiplication can't have this element type", Where{"", 0});
    }
}

}  // namespace

void multiply_add(float* result, uint64_t leading, const float* left, const float* right, uint32_t m, uint32_t n, uint32_t k) {
    multiply(result, leading, left, right, m, n, k);
}
void multiply_add(int32_t* result, uint64_t leading, const int32_t* left, const int32_t* right, uint32_t m, uint32_t n, uint32_t k) {
    multiply(result, leading, left, right, m, n, k);
}

void widen(float* out, const void* in, uint64_t count, Cell cell) {
    switch (cell) {
        case Cell::Half: {
            uint64_t i = 0;
            const uint16_t* from = static_cast<const uint16_t*>(in);
#if defined(__F16C__) && defined(__AVX__)
            for (; i + 8 <= count; i += 8)
                _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
            for (; i < count; ++i) out[i] = half_bits_to_float(from[i]);
            return;
        }
        case Cell::Bfloat: return convert<float, bfloat16_t>(out, in, count);
        case Cell::Float: std::memcpy(out, in, count * sizeof(float)); return;
        case Cell::Int32: return convert<float, int32_t>(out, in, count);
        default: fail("matmul-type", "a matrix multiplication in float can't take this element type", Where{"", 0});
    }
}
void widen(int32_t* out, const void* in, uint64_t count, Cell cell) {
    switch (cell) {
        case Cell::Int8: return convert<int32_t, int8_t>(out, in, count);
        case Cell::Uint8: return convert<int32_t, uint8_t>(out, in, count);
        case Cell::Int32: std::memcpy(out, in, count * sizeof(int32_t)); return;
        default: fail("matmul-type", "a matrix multiplication in int32 can't take this element type", Where{"", 0});
    }
}

void round_to_hf32(float* values, uint64_t count, bool toward_zero) {
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t bits = float_bits(values[i]);
        if ((bits & 0x7f800000u) == 0x7f800000u) continue;  // infinities and NaN
        bits += 0x7ffu + (toward_zero ? 0u : (bits >> 12) & 1u);
        values[i] = bits_float(bits & ~0xfffu);
    }
}

void narrow(void* out, const float* in, uint64_t count, uint64_t first, Cell cell, Scale scale) {
    narrow_all(out, in, count, first, cell, scale);
}
void narrow(void* out, const int32_t* in, uint64_t count, uint64_t first, Cell cell, Scale scale) {
    narrow_all(out, in, count, first, cell, scale);
}

}  // namespace opmend_sim
