// Arithmetic with a conversion behind it.
#include "opmend_sim/fused.h"

namespace opmend_sim {
namespace {
template <class S> float wide(S value) { return static_cast<float>(value); }
int8_t narrowed(int32_t value) { return static_cast<int8_t>(value > 127 ? 127 : value < -128 ? -128 : value); }
}  // namespace

template <class D, class S> void fused_lanes(Fused op, D* dst, const S* a, const S* b, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const bool lost = unwritten(a + i, sizeof(S)) || unwritten(b + i, sizeof(S));
        D result;
        if constexpr (std::is_same_v<S, int32_t>) {
            const double sum = static_cast<double>(a[i]) + static_cast<double>(b[i]);
            const half scaled = half(sum * static_cast<double>(core().deq_scale));
            result = static_cast<float>(scaled) > 0 || scaled != scaled ? scaled : half(0.0f);
        } else if constexpr (std::is_same_v<S, int16_t>) {
            const int32_t sum = op == Fused::AddReluCast ? a[i] + b[i] : a[i] - b[i];
            result = narrowed(sum > 0 ? sum : 0);
        } else {
            // The arithmetic rounds to S first, then the result is converted.
            S value = op == Fused::MulCast       ? static_cast<S>(wide(a[i]) * wide(b[i]))
                      : op == Fused::AddReluCast ? static_cast<S>(wide(a[i]) + wide(b[i]))
                                                 : static_cast<S>(wide(a[i]) - wide(b[i]));
            if (op != Fused::MulCast && !(wide(value) > 0) && wide(value) == wide(value)) value = static_cast<S>(0.0f);
            convert(&result, &value, AscendC::RoundMode::CAST_NONE, 1);
        }
        dst[i] = result;
        if (__builtin_expect(lost, 0)) mark_unwritten(dst + i, sizeof(D));
        else mark_written(dst + i, sizeof(D));
    }
}

void deq_lanes(void* dst, const int16_t* src, uint64_t lane, size_t n, bool by_vector) {
    const Core& now = core();
    for (size_t i = 0; i < n; ++i) {
        float scale = now.deq_scale;
        int32_t offset = now.deq_offset;
        bool sign = now.deq_signed;
        if (by_vector && now.deq_vector) {
            const uint64_t word = now.deq_vector[(lane + i) % 16];
            scale = bits_float(static_cast<uint32_t>(word));
            offset = static_cast<int32_t>(word >> 37 & 0x1ff);
            if (offset & 0x100) offset -= 0x200;
            sign = word >> 46 & 1;
        }
        const double value = std::nearbyint(static_cast<double>(src[i]) * static_cast<double>(scale)) + offset;
        if (sign) static_cast<int8_t*>(dst)[i] = static_cast<int8_t>(value > 127 ? 127 : value < -128 ? -128 : value == value ? value : 0);
        else static_cast<uint8_t*>(dst)[i] = static_cast<uint8_t>(value > 255 ? 255 : value > 0 ? value : 0);
    }
}

template void fused_lanes<half, float>(Fused, half*, const float*, const float*, size_t);
template void fused_lanes<int8_t, half>(Fused, int8_t*, const half*, const half*, size_t);
template void fused_lanes<uint8_t, half>(Fused, uint8_t*, const half*, const half*, size_t);
template void fused_lanes<int8_t, int16_t>(Fused, int8_t*, const int16_t*, const int16_t*, size_t);
template void fused_lanes<half, int32_t>(Fused, half*, const int32_t*, const int32_t*, size_t);

}  // namespace opmend_sim
