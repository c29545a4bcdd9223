// AscendQuant, AscendDequant, AscendAntiQuant on int8 data. API pages of the same names.
#pragma once
#include "opmend_sim/rows.h"

namespace AscendC {
enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };
struct DequantParams {
    uint32_t m = 0, n = 0, calCount = 0;
};
struct AntiQuantShapeInfo {
    uint32_t offsetHeight = 0, offsetWidth = 0, scaleHeight = 0, scaleWidth = 0;
};
}  // namespace AscendC

namespace opmend_sim {
struct QuantizeCall {
    Lanes dst, src, scales, offsets;
    size_t count = 0, channels = 0;  // channels: lanes of a row without transposition, lanes a channel with it
    float scale = 1, offset = 0;
    bool transposed = false;
};
void quantize(const QuantizeCall& call);
void antiquantize(const QuantizeCall& call);
struct DequantizeCall {
    Lanes dst, src, scales;
    uint32_t rows = 1, width = 0, used = 0, out_width = 0, scale_step = 1;
    float scale = 1;
};
void dequantize(const DequantizeCall& call);
}  // namespace opmend_sim

namespace AscendC {
#define OPMEND_TMP const LocalTensor<uint8_t>&

template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const float scale, const float offset, const uint32_t count,
                 OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "AscendQuant takes half, float on dav-2201");
    ::opmend_sim::QuantizeCall call;
    call.dst = ::opmend_sim::written(dst, count, "AscendQuant", "dst", where);
    call.src = ::opmend_sim::read(src, count, "AscendQuant", "src", where);
    call.count = count, call.scale = scale, call.offset = offset;
    ::opmend_sim::quantize(call);
}
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const float scale, const float offset, OPMEND_WHERE) {
    AscendQuant<T>(dst, src, scale, offset, src.GetSize(), where);
}
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, OPMEND_TMP, const float scale, const float offset, const uint32_t count,
                 OPMEND_WHERE) {
    AscendQuant<T>(dst, src, scale, offset, count, where);
}
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, OPMEND_TMP, const float scale, const float offset, OPMEND_WHERE) {
    AscendQuant<T>(dst, src, scale, offset, src.GetSize(), where);
}
// A scale (and an offset) for each of scaleCount channels, row by row.
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const LocalTensor<T>& scale, const ::opmend_sim::Same<T> offset,
                 const uint32_t scaleCount, const uint32_t count, OPMEND_WHERE) {
    ::opmend_sim::QuantizeCall call;
    call.dst = ::opmend_sim::written(dst, count, "AscendQuant", "dst", where);
    call.src = ::opmend_sim::read(src, count, "AscendQuant", "src", where);
    call.scales = ::opmend_sim::read(scale, scaleCount, "AscendQuant", "scale", where);
    call.count = count, call.channels = scaleCount, call.offset = static_cast<float>(offset);
    ::opmend_sim::quantize(call);
}
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, OPMEND_TMP, const LocalTensor<T>& scale,
                 const ::opmend_sim::Same<T> offset, const uint32_t scaleCount, const uint32_t count, OPMEND_WHERE) {
    AscendQuant<T>(dst, src, scale, offset, scaleCount, count, where);
}
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const LocalTensor<T>& scale, const LocalTensor<T>& offset,
                 const uint32_t scaleCount, const uint32_t offsetCount, const uint32_t count, OPMEND_WHERE) {
    ::opmend_sim::QuantizeCall call;
    call.dst = ::opmend_sim::written(dst, count, "AscendQuant", "dst", where);
    call.src = ::opmend_sim::read(src, count, "AscendQuant", "src", where);
    call.scales = ::opmend_sim::read(scale, scaleCount, "AscendQuant", "scale", where);
    call.offsets = ::opmend_sim::read(offset, offsetCount, "AscendQuant", "offset", where);
    call.count = count, call.channels = scaleCount;
    ::opmend_sim::quantize(call);
}
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, OPMEND_TMP, const LocalTensor<T>& scale, const LocalTensor<T>& offset,
                 const uint32_t scaleCount, const uint32_t offsetCount, const uint32_t count, OPMEND_WHERE) {
    AscendQuant<T>(dst, src, scale, offset, scaleCount, offsetCount, count, where);
}
// Rows of n lanes, calCount of them in use; a row of the result starts at a multiple of 32 bytes. uint64_t scales hold a float in their low half.
template <class D, class S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, const LocalTensor<S>& deqScale, DequantParams params, OPMEND_WHERE) {
    if (!params.m || !params.n || params.calCount > params.n)
        ::opmend_sim::fail("quant-shape", "AscendDequant: m and n are not 0 and calCount is at most n", where);
    ::opmend_sim::DequantizeCall call;
    call.rows = params.m, call.width = params.n, call.used = params.calCount ? params.calCount : params.n;
    call.out_width = ::opmend_sim::aligned(params.n, sizeof(D));
    call.dst = ::opmend_sim::written(dst, static_cast<uint64_t>(call.rows - 1) * call.out_width + call.used, "AscendDequant", "dst", where);
    call.src = ::opmend_sim::read(src, static_cast<uint64_t>(call.rows) * call.width, "AscendDequant", "src", where);
    if constexpr (sizeof(S) == 8) {
        call.scales =
            ::opmend_sim::read(deqScale.template ReinterpretCast<float>(), static_cast<uint64_t>(call.used) * 2, "AscendDequant", "deqScale", where);
        call.scale_step = 2;
    } else {
        call.scales = ::opmend_sim::read(deqScale, call.used, "AscendDequant", "deqScale", where);
    }
    ::opmend_sim::dequantize(call);
}
template <class D, class S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, const LocalTensor<S>& deqScale, OPMEND_TMP, DequantParams params,
                   OPMEND_WHERE) {
    AscendDequant<D, S, mode>(dst, src, deqScale, params, where);
}
template <class D, class S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW,
          std::enable_if_t<std::is_arithmetic_v<S> || ::opmend_sim::is_narrow<S>, int> = 0>
void AscendDequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, const S deqScale, DequantParams params, OPMEND_WHERE) {
    ::opmend_sim::DequantizeCall call;
    call.rows = params.m, call.width = params.n, call.used = params.calCount ? params.calCount : params.n;
    call.out_width = ::opmend_sim::aligned(params.n, sizeof(D));
    call.dst = ::opmend_sim::written(dst, static_cast<uint64_t>(call.rows - 1) * call.out_width + call.used, "AscendDequant", "dst", where);
    call.src = ::opmend_sim::read(src, static_cast<uint64_t>(call.rows) * call.width, "AscendDequant", "src", where);
    call.scale = static_cast<float>(deqScale);
    ::opmend_sim::dequantize(call);
}
template <class D, class S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW,
          std::enable_if_t<std::is_arithmetic_v<S> || ::opmend_sim::is_narrow<S>, int> = 0>
void AscendDequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, const S deqScale, OPMEND_TMP, DequantParams params, OPMEND_WHERE) {
    AscendDequant<D, S, mode>(dst, src, deqScale, params, where);
}
// (src + offset) * scale, by channel: src is [K, N] with N channels, or with isTranspose [N, K].
template <class I, class O, bool isTranspose>
void AscendAntiQuant(const LocalTensor<O>& dst, const LocalTensor<I>& src, const LocalTensor<O>& offset, const LocalTensor<O>& scale,
                     const uint32_t K, const AntiQuantShapeInfo& = {}, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<I, int8_t> && ::opmend_sim::one_of<O, half, bfloat16_t>,
                  "unsupported by the simulator: AscendAntiQuant of this type pair");
    const uint32_t count = src.GetSize();
    if (!K || count % K) ::opmend_sim::fail("quant-shape", "AscendAntiQuant: the source is no multiple of K", where);
    ::opmend_sim::QuantizeCall call;
    call.dst = ::opmend_sim::written(dst, count, "AscendAntiQuant", "dst", where);
    call.src = ::opmend_sim::read(src, count, "AscendAntiQuant", "src", where);
    call.scales = ::opmend_sim::read(scale, count / K, "AscendAntiQuant", "scale", where);
    if (offset.raw()) call.offsets = ::opmend_sim::read(offset, count / K, "AscendAntiQuant", "offset", where);
    call.count = count, call.transposed = isTranspose, call.channels = isTranspose ? K : count / K;
    ::opmend_sim::antiquantize(call);
}
template <class I, class O, bool isTranspose>
void AscendAntiQuant(const LocalTensor<O>& dst, const LocalTensor<I>& src, const LocalTensor<O>& offset, const LocalTensor<O>& scale, OPMEND_TMP,
                     const uint32_t K, const AntiQuantShapeInfo& info = {}, OPMEND_WHERE) {
    AscendAntiQuant<I, O, isTranspose>(dst, src, offset, scale, K, info, where);
}
template <class I, class O, bool isTranspose>
void AscendAntiQuant(const LocalTensor<O>& dst, const LocalTensor<I>& src, const LocalTensor<O>& scale, OPMEND_TMP, const uint32_t K,
                     const AntiQuantShapeInfo& info = {}, OPMEND_WHERE) {
    AscendAntiQuant<I, O, isTranspose>(dst, src, LocalTensor<O>(), scale, K, info, where);
}
template <class I, class O, bool isTranspose>
void AscendAntiQuant(const LocalTensor<O>& dst, const LocalTensor<I>& src, const O offset, const O scale, const uint32_t K,
                     const AntiQuantShapeInfo& = {}, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<I, int8_t> && ::opmend_sim::one_of<O, half, bfloat16_t>,
                  "unsupported by the simulator: AscendAntiQuant of this type pair");
    ::opmend_sim::QuantizeCall call;
    call.count = src.GetSize();
    call.dst = ::opmend_sim::written(dst, call.count, "AscendAntiQuant", "dst", where);
    call.src = ::opmend_sim::read(src, call.count, "AscendAntiQuant", "src", where);
    call.scale = static_cast<float>(scale), call.offset = static_cast<float>(offset);
    ::opmend_sim::antiquantize(call);
}
template <class I, class O, bool isTranspose>
void AscendAntiQuant(const LocalTensor<O>& dst, const LocalTensor<I>& src, const O offset, const O scale, OPMEND_TMP, const uint32_t K,
                     const AntiQuantShapeInfo& info = {}, OPMEND_WHERE) {
    AscendAntiQuant<I, O, isTranspose>(dst, src, offset, scale, K, info, where);
}
}  // namespace AscendC
