// Calls that change a layout: Transpose, TransDataTo5HD (CANN 8.5 API pages of the calls). Loops in runtime/formats.cpp.
#pragma once
#include "opmend_sim/vector.h"

namespace opmend_sim {
// 16 source and 16 destination blocks an iteration, `size` bytes an element; a block is 32 bytes. The shadow travels with the bytes.
void transpose_blocks(uint8_t* const dst[16], const uint8_t* const src[16], uint32_t size, bool dst_high, bool src_high);
// dst[axes] = src, of `outer` planes of rows x columns elements: each plane transposed.
void transpose_planes(void* dst, const void* src, uint64_t outer, uint64_t rows, uint64_t columns, uint32_t size);
void check_transdata_address(const void* at, const char* operand, Where where);

struct Blocks {
    uint8_t* at[16];
};
inline void transdata(const Blocks& dst, const Blocks& src, const AscendC::TransDataTo5HDParams& p, uint32_t size) {
    for (uint32_t r = 0; r < p.repeatTimes; ++r) {
        // With one repeat the strides move the start (TransDataTo5HD page, repeatTimes).
        const uint64_t step = p.repeatTimes == 1 ? 1 : r;
        uint8_t* to[16];
        const uint8_t* from[16];
        for (int i = 0; i < 16; ++i) {
            to[i] = dst.at[i] + step * p.dstRepStride * 32;
            from[i] = src.at[i] + step * p.srcRepStride * 32;
        }
        transpose_blocks(to, from, size, p.dstHighHalf, p.srcHighHalf);
    }
}
// Bytes from an operand's start to behind its last block.
inline uint64_t transdata_reach(const AscendC::TransDataTo5HDParams& p, uint64_t stride) {
    if (p.repeatTimes == 0) return 0;
    return (p.repeatTimes == 1 ? 1u : p.repeatTimes - 1u) * stride * 32 + 32;
}
}  // namespace opmend_sim

namespace AscendC {

// A 16 x 16 matrix of 2-byte elements. dst may be src.
template <class T> void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, int16_t, uint16_t, half>, "Transpose takes int16_t, uint16_t, half on dav-2201");
    const T* from = ::opmend_sim::source(src, 256, "Transpose", "src", where);
    T* to = ::opmend_sim::target_of_lanes(dst, 256, "Transpose", "dst", where);
    ::opmend_sim::transpose_planes(to, from, 1, 16, 16, sizeof(T));
}
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const TransposeParamsExt& p,
               OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, int8_t, uint8_t, int16_t, uint16_t, half, int32_t, uint32_t, float>,
                  "Transpose does not take this element type on dav-2201");
    if (p.transposeType == TransposeType::TRANSPOSE_TYPE_NONE) return;
    if (p.transposeType == TransposeType::TRANSPOSE_ND2ND_B16) {
        if constexpr (sizeof(T) == 2) Transpose(dst.template ReinterpretCast<uint16_t>(), src.template ReinterpretCast<uint16_t>(), where);
        else ::opmend_sim::fail("transpose-type", "Transpose: TRANSPOSE_ND2ND_B16 takes 2-byte elements", where);
        return;
    }
    const bool forth = p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
    if (!forth && p.transposeType != TransposeType::TRANSPOSE_NHWC2NCHW) ::opmend_sim::unsupported("this Transpose type", where);
    const uint64_t plane = static_cast<uint64_t>(p.hSize) * p.wSize, n = plane * p.cSize * p.nSize;
    if (plane * sizeof(T) % 32 != 0 || plane > 4095)
        ::opmend_sim::note("transpose-shape", "violation", "Transpose: hSize * wSize is at most 4095, and a multiple of 32 bytes", where);
    const uint64_t h0 = sizeof(T) == 1 ? 32 : 16, w0 = 32 / sizeof(T);
    ::opmend_sim::target(sharedTmpBuffer, (forth ? p.cSize + 2ull : p.cSize * 2ull + 1) * h0 * w0 * sizeof(T), "Transpose", "sharedTmpBuffer", where);
    const T* from = ::opmend_sim::source(src, n, "Transpose", "src", where);
    T* to = ::opmend_sim::target_of_lanes(dst, n, "Transpose", "dst", where);
    if (reinterpret_cast<uintptr_t>(to) < reinterpret_cast<uintptr_t>(from + n) &&
        reinterpret_cast<uintptr_t>(from) < reinterpret_cast<uintptr_t>(to + n))
        ::opmend_sim::note("operand-overlap", "violation", "Transpose: dst and src must not overlap", where);
    ::opmend_sim::transpose_planes(to, from, p.nSize, forth ? p.cSize : plane, forth ? plane : p.cSize, sizeof(T));
}

#define OPMEND_5HD static_assert(sizeof(T) <= 4, "TransDataTo5HD takes 1-, 2- and 4-byte elements on dav-2201")
template <class T>
void TransDataTo5HD(const LocalTensor<T> (&dstList)[16], const LocalTensor<T> (&srcList)[16], const TransDataTo5HDParams& params, OPMEND_WHERE) {
    OPMEND_5HD;
    ::opmend_sim::Blocks to, from;
    const uint64_t source_elements = ::opmend_sim::transdata_reach(params, params.srcRepStride) / sizeof(T);
    const uint64_t target_elements = ::opmend_sim::transdata_reach(params, params.dstRepStride) / sizeof(T);
    for (int i = 0; i < 16; ++i) {
        from.at[i] = reinterpret_cast<uint8_t*>(const_cast<T*>(::opmend_sim::source(srcList[i], source_elements, "TransDataTo5HD", "srcList",
                                                                                    where)));
        to.at[i] = reinterpret_cast<uint8_t*>(::opmend_sim::target_of_lanes(dstList[i], target_elements, "TransDataTo5HD", "dstList", where));
    }
    ::opmend_sim::transdata(to, from, params, sizeof(T));
}
// Addresses as GetPhyAddr gives them.
template <class T> void TransDataTo5HD(uint64_t dstList[16], uint64_t srcList[16], const TransDataTo5HDParams& params, OPMEND_WHERE) {
    OPMEND_5HD;
    ::opmend_sim::Blocks to, from;
    for (int i = 0; i < 16; ++i) {
        to.at[i] = reinterpret_cast<uint8_t*>(dstList[i]);
        from.at[i] = reinterpret_cast<uint8_t*>(srcList[i]);
        ::opmend_sim::check_transdata_address(to.at[i], "dstList", where);
        ::opmend_sim::check_transdata_address(from.at[i], "srcList", where);
        ::opmend_sim::check_transdata_address(to.at[i] + ::opmend_sim::transdata_reach(params, params.dstRepStride) - 32, "dstList", where);
        ::opmend_sim::check_transdata_address(from.at[i] + ::opmend_sim::transdata_reach(params, params.srcRepStride) - 32, "srcList", where);
    }
    ::opmend_sim::transdata(to, from, params, sizeof(T));
}
template <class T> void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src, const TransDataTo5HDParams& params,
                                       OPMEND_WHERE) {
    const uint64_t* to = ::opmend_sim::source(dst, 16, "TransDataTo5HD", "dst", where);
    const uint64_t* from = ::opmend_sim::source(src, 16, "TransDataTo5HD", "src", where);
    uint64_t targets[16], sources[16];
    std::memcpy(targets, to, sizeof targets);
    std::memcpy(sources, from, sizeof sources);
    TransDataTo5HD<T>(targets, sources, params, where);
}
#undef OPMEND_5HD

}  // namespace AscendC
