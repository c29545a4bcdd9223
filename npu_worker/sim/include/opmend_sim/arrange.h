// Calls that move lanes: Brcb, Copy, Gather, indices, BroadCast, Transpose.
#pragma once
#include "opmend_sim/vector.h"

namespace AscendC {

// Each of 8 elements a repeat fills one 32-byte block.
template <class T> void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint8_t repeat, const BrcbRepeatParams& params, OPMEND_WHERE) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb takes 2- and 4-byte elements");
    constexpr uint32_t a_block = 32 / sizeof(T);
    const T* from = ::opmend_sim::source(src, 8ull * repeat, "Brcb", "src", where);
    const uint64_t blocks = repeat ? static_cast<uint64_t>(repeat - 1) * params.dstRepStride + 7ull * params.dstBlkStride + 1 : 0;
    T* to = ::opmend_sim::target(dst, blocks * a_block, "Brcb", "dst", where);
    for (uint64_t r = 0; r < repeat; ++r)
        for (uint64_t i = 0; i < 8; ++i) ::opmend_sim::fill(to + (r * params.dstRepStride + i * params.dstBlkStride) * a_block, from[r * 8 + i], a_block);
}

template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask, const uint8_t repeat, const CopyRepeatParams& p, OPMEND_WHERE) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Copy takes 2- and 4-byte elements");
    constexpr uint32_t most = 256 / sizeof(T);
    const ::opmend_sim::Mask lanes = ::opmend_sim::mask_of_length(mask, most, isSetMask, "Copy", where);
    const ::opmend_sim::Walk ways[2] = {::opmend_sim::walk<T>(p.dstStride, p.dstRepeatSize), ::opmend_sim::walk<T>(p.srcStride, p.srcRepeatSize)};
    T* to = ::opmend_sim::reached_target_of_lanes(dst, lanes, most, repeat, ways[0], "Copy", "dst", where);
    const T* from = ::opmend_sim::reached_source(src, lanes, most, repeat, ways[1], "Copy", "src", where);
    ::opmend_sim::each_run<2>(lanes, most, repeat, ways, [&](const uint64_t (&o)[2], uint64_t n) {
        ::opmend_sim::join(::opmend_sim::moved(to, o[0]), ::opmend_sim::moved(from, o[1]), n * sizeof(T));
        std::memmove(::opmend_sim::moved(to, o[0]), ::opmend_sim::moved(from, o[1]), n * sizeof(T));
    });
}

// Offsets and base in bytes.
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, const uint32_t count, OPMEND_WHERE) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather takes 2- and 4-byte elements");
    T* to = ::opmend_sim::target(dst, count, "Gather", "dst", where);
    const uint32_t* offsets = ::opmend_sim::source(srcOffset, count, "Gather", "srcOffset", where);
    ::opmend_sim::source(src, 0, "Gather", "src", where);
    const ::opmend_sim::Memory& memory = ::opmend_sim::core().memory(::opmend_sim::Space::UB);
    const auto* base = reinterpret_cast<const uint8_t*>(src.raw()) + srcBaseAddr;
    for (uint32_t i = 0; i < count; ++i) {
        const uint8_t* at = base + offsets[i];
        if (!memory.holds(at, sizeof(T)))
            ::opmend_sim::fail("ub-out-of-range", "Gather: offset " + ::opmend_sim::text(offsets[i]) + " of lane " + ::opmend_sim::text(i) + " leaves the unified buffer", where);
        if (static_cast<uint64_t>(srcBaseAddr) + offsets[i] + sizeof(T) > src.GetLength())
            ::opmend_sim::note("ub-buffer-overrun", "violation", "Gather reads past its source tensor", where);
        std::memcpy(to + i, at, sizeof(T));
    }
}

namespace opmend_detail {
template <class T> void progression(const LocalTensor<T>& dst, T first, T step, int32_t count, const char* call, ::opmend_sim::Where where) {
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    T* to = ::opmend_sim::target(dst, n, call, "dst", where);
    for (size_t i = 0; i < n; ++i)
        to[i] = static_cast<T>(static_cast<::opmend_sim::Wide<T>>(first) + static_cast<::opmend_sim::Wide<T>>(step) * static_cast<::opmend_sim::Wide<T>>(i));
}
}  // namespace opmend_detail
template <class T> void CreateVecIndex(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& firstValue, uint32_t count, OPMEND_WHERE) {
    opmend_detail::progression<T>(dst, firstValue, T(1), static_cast<int32_t>(count), "CreateVecIndex", where);
}
template <class T>
void ArithProgression(const LocalTensor<T>& dst, const ::opmend_sim::Same<T> firstValue, const ::opmend_sim::Same<T> diffValue, const int32_t count, OPMEND_WHERE) {
    opmend_detail::progression<T>(dst, firstValue, diffValue, count, "ArithProgression", where);
}
template <class T> void Arange(const LocalTensor<T>& dst, const ::opmend_sim::Same<T> firstValue, const ::opmend_sim::Same<T> diffValue, const int32_t count, OPMEND_WHERE) {
    opmend_detail::progression<T>(dst, firstValue, diffValue, count, "Arange", where);
}

// dst of shape dstShape from src of shape srcShape; axes of size 1 repeat.
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim], OPMEND_WHERE) {
    static_assert(dim == 1 || dim == 2, "BroadCast takes 1 or 2 dimensions");
    const uint64_t rows = dim == 2 ? dstShape[0] : 1, columns = dstShape[dim - 1];
    const uint64_t source_rows = dim == 2 ? srcShape[0] : 1, source_columns = srcShape[dim - 1];
    if ((source_rows != rows && source_rows != 1) || (source_columns != columns && source_columns != 1))
        ::opmend_sim::fail("broadcast-shape", "BroadCast: the source shape does not broadcast to the destination shape", where);
    T* to = ::opmend_sim::target(dst, rows * columns, "BroadCast", "dst", where);
    const T* from = ::opmend_sim::source(src, source_rows * source_columns, "BroadCast", "src", where);
    for (uint64_t i = 0; i < rows; ++i)
        for (uint64_t k = 0; k < columns; ++k) to[i * columns + k] = from[(source_rows == 1 ? 0 : i) * source_columns + (source_columns == 1 ? 0 : k)];
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim], LocalTensor<uint8_t>&, OPMEND_WHERE) {
    BroadCast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, where);
}

// A 16 x 16 matrix of 2-byte elements.
template <class T> void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_WHERE) {
    static_assert(sizeof(T) == 2, "Transpose takes 2-byte elements");
    T* to = ::opmend_sim::target(dst, 256, "Transpose", "dst", where);
    const T* from = ::opmend_sim::source(src, 256, "Transpose", "src", where);
    T kept[256];
    std::memcpy(kept, from, sizeof kept);
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 16; ++k) to[k * 16 + i] = kept[i * 16 + k];
}

// Keeps the lanes that a fixed pattern (1: even, 2: odd, 3..6: one of four, 7: all) or a bit tensor selects.
namespace opmend_detail {
template <class T, class On>
void gather_mask(const LocalTensor<T>& dst, const LocalTensor<T>& src, bool reduceMode, uint32_t mask, const GatherMaskParams& p, uint64_t& rsvdCnt, ::opmend_sim::Where where, On on) {
    constexpr uint32_t most = 256 / sizeof(T);
    const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(p.src0BlockStride, p.src0RepeatStride);
    const ::opmend_sim::Mask lanes = {true, reduceMode ? mask : most, 0, 0};
    T* to = dst.raw();
    ::opmend_sim::target(dst, 0, "GatherMask", "dst", where);
    uint64_t kept = 0;
    for (uint32_t r = 0; r < p.repeatTimes; ++r) {
        const uint64_t count = reduceMode ? lanes.count : most;
        for (uint64_t i = 0; i < count; ++i) {
            if (!on(r, static_cast<uint32_t>(i))) continue;
            const uint64_t offset = static_cast<uint64_t>(r) * way.repeat + (i * sizeof(T) / 32) * way.block + i * sizeof(T) % 32;
            if (offset + sizeof(T) > src.GetLength() || (kept + 1) * sizeof(T) > dst.GetLength())
                ::opmend_sim::fail("ub-buffer-overrun", "GatherMask leaves its source or destination tensor", where);
            to[kept++] = *::opmend_sim::moved(src.raw(), offset);
        }
    }
    ::opmend_sim::mark_written(to, kept * sizeof(T));
    rsvdCnt = kept;
}
}  // namespace opmend_detail
template <class T>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern, const bool reduceMode, const uint32_t mask,
                const GatherMaskParams& params, uint64_t& rsvdCnt, OPMEND_WHERE) {
    if (src1Pattern < 1 || src1Pattern > 7) ::opmend_sim::fail("gathermask-pattern", "GatherMask pattern " + ::opmend_sim::text(src1Pattern) + "; patterns are 1 to 7", where);
    opmend_detail::gather_mask(dst, src0, reduceMode, mask, params, rsvdCnt, where, [&](uint32_t, uint32_t i) {
        if (src1Pattern == 7) return true;
        return src1Pattern <= 2 ? i % 2 == src1Pattern - 1u : i % 4 == src1Pattern - 3u;
    });
}
template <class T, class U>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern, const bool reduceMode, const uint32_t mask,
                const GatherMaskParams& params, uint64_t& rsvdCnt, OPMEND_WHERE) {
    constexpr uint32_t most = 256 / sizeof(T);
    const uint64_t step = params.src1RepeatStride ? params.src1RepeatStride * 256ull : reduceMode ? 0 : 0;
    const uint64_t bits = (params.repeatTimes ? params.repeatTimes - 1 : 0) * step + (reduceMode ? mask : most);
    const auto* raw = reinterpret_cast<const uint8_t*>(::opmend_sim::source(src1Pattern, ((bits + 7) / 8 + sizeof(U) - 1) / sizeof(U), "GatherMask", "src1Pattern", where));
    opmend_detail::gather_mask(dst, src0, reduceMode, mask, params, rsvdCnt, where,
                               [&](uint32_t r, uint32_t i) { const uint64_t at = r * step + i; return (raw[at / 8] >> (at % 8) & 1) != 0; });
}

}  // namespace AscendC
