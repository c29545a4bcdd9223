// Calls that pick lanes by offsets or bits: Gather, Gatherb, Scatter, GatherMask (CANN 8.5 API pages of the calls).
#pragma once
#include "opmend_sim/vector.h"

namespace opmend_sim {
// An element at a byte offset from a tensor's base: inside the unified buffer (else an error) and inside the tensor (else a violation).
void check_offset(const void* at, uint64_t size, uint64_t reach, uint64_t own_bytes, uint64_t lane, const char* call, const Buffer* buffer,
                  Where where);
void offset_unaligned(uint64_t offset, uint64_t size, const char* call, Where where);
template <class T> const uint8_t* element_at(const AscendC::LocalTensor<T>& tensor, uint64_t offset, uint64_t size, uint64_t lane, const char* call,
                                             Where where) {
    const auto* at = reinterpret_cast<const uint8_t*>(tensor.raw()) + offset;
    if (__builtin_expect(!core().memory(Space::UB).holds(at, size) || offset + size > tensor.GetLength(), 0))
        check_offset(at, size, offset + size, tensor.GetLength(), lane, call, tensor.buffer(), where);
    if (__builtin_expect(offset % sizeof(T) != 0, 0)) offset_unaligned(offset, sizeof(T), call, where);
    return at;
}
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_GATHERABLE static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather takes int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float on dav-2201")
namespace opmend_detail {
template <class T>
void gather_lane(T* to, const LocalTensor<T>& src, const uint32_t* offset, uint64_t base, uint64_t lane, ::opmend_sim::Where where) {
    const uint8_t* at = ::opmend_sim::element_at(src, base + *offset, sizeof(T), lane, "Gather", where);
    ::opmend_sim::join(to, at, sizeof(T));
    std::memcpy(to, at, sizeof(T));
}
template <class T>
void gather_run(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, uint32_t base,
                const ::opmend_sim::Mask& mask,
                ::opmend_sim::Repeat repeat, uint16_t stride, ::opmend_sim::Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const auto repeats = static_cast<uint32_t>(::opmend_sim::repeats_for(mask, most, ::opmend_sim::repeats_of(repeat, "Gather", where)));
    const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(1, stride), plan = ::opmend_sim::walk<uint32_t>(1, most * 4 / 32);
    T* to = ::opmend_sim::reached_target_of_lanes(dst, mask, most, repeats, way, "Gather", "dst", where);
    const uint32_t* list = ::opmend_sim::reached_source(offsets, mask, most, repeats, plan, "Gather", "srcOffset", where);
    ::opmend_sim::observe_reached(offsets, mask, most, repeats, plan, "Gather", "srcOffset", where);
    ::opmend_sim::source(src, 0, "Gather", "src", where);
    const ::opmend_sim::Walk ways[2] = {way, plan};
    ::opmend_sim::each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) {
        for (uint64_t i = 0; i < n; ++i) gather_lane(::opmend_sim::moved(to, o[0]) + i, src, ::opmend_sim::moved(list, o[1]) + i, base, i, where);
    });
}
}  // namespace opmend_detail
// Offsets and base in bytes.
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
            const uint32_t count, OPMEND_WHERE) {
    OPMEND_GATHERABLE;
    T* to = ::opmend_sim::target_of_lanes(dst, count, "Gather", "dst", where);
    const uint32_t* offsets = ::opmend_sim::source(srcOffset, count, "Gather", "srcOffset", where);
    ::opmend_sim::observe(offsets, count * 4ull, "Gather", "srcOffset", where, srcOffset.buffer());
    ::opmend_sim::source(src, 0, "Gather", "src", where);
    for (uint32_t i = 0; i < count; ++i) opmend_detail::gather_lane(to + i, src, offsets + i, srcBaseAddr, i, where);
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
            const uint64_t mask,
            ::opmend_sim::Repeat repeat, const uint16_t dstRepStride, OPMEND_WHERE) {
    OPMEND_GATHERABLE;
    opmend_detail::gather_run(dst, src, srcOffset, srcBaseAddr, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), true, "Gather", where), repeat,
                              dstRepStride, where);
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
            const uint64_t mask[],
            ::opmend_sim::Repeat repeat, const uint16_t dstRepStride, OPMEND_WHERE) {
    OPMEND_GATHERABLE;
    opmend_detail::gather_run(dst, src, srcOffset, srcBaseAddr, ::opmend_sim::mask_of_bits(mask, true), repeat, dstRepStride, where);
}
#undef OPMEND_GATHERABLE

// Eight blocks of 32 bytes a repeat, one an offset.
template <class T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& offset, ::opmend_sim::Repeat repeat,
             const GatherRepeatParams& params,
             OPMEND_WHERE) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gatherb takes uint16_t, uint32_t on dav-2201");
    const uint64_t repeats = ::opmend_sim::repeats_of(repeat, "Gatherb", where);
    constexpr uint64_t a_block = 32 / sizeof(T);
    const uint32_t* offsets = ::opmend_sim::source(offset, 8 * repeats, "Gatherb", "offset", where);
    ::opmend_sim::observe(offsets, 32 * repeats, "Gatherb", "offset", where, offset.buffer());
    ::opmend_sim::source(src0, 0, "Gatherb", "src0", where);
    const uint64_t blocks = repeats ? (repeats - 1) * params.dstRepStride + 7ull * params.dstBlkStride + 1 : 0;
    T* to = ::opmend_sim::target_of_lanes(dst, blocks * a_block, "Gatherb", "dst", where);
    for (uint64_t r = 0; r < repeats; ++r)
        for (uint64_t i = 0; i < 8; ++i) {
            const uint64_t from = offsets[8 * r + i];
            if (from % 32 != 0) ::opmend_sim::offset_unaligned(from, 32, "Gatherb", where);
            const uint8_t* at = ::opmend_sim::element_at(src0, from, 32, 8 * r + i, "Gatherb", where);
            T* place = to + (r * params.dstRepStride + i * params.dstBlkStride) * a_block;
            ::opmend_sim::join(place, at, 32);
            std::memmove(place, at, 32);
        }
}

namespace opmend_detail {
template <class T>
void scatter_run(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, uint32_t base,
                 const ::opmend_sim::Mask& mask, uint32_t repeats,
                 uint64_t stride, ::opmend_sim::Where where) {
    constexpr uint32_t allowed[] = {2002, 3002};
    ::opmend_sim::need_architecture(allowed, 2, "Scatter", "write the lanes one by one with SetValue, or gather the other way round", where);
    constexpr uint32_t most = 256 / sizeof(T);
    const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(1, stride), plan = ::opmend_sim::walk<uint32_t>(1, most * 4 / 32);
    const T* from = ::opmend_sim::reached_source(src, mask, most, repeats, way, "Scatter", "src", where);
    const uint32_t* list = ::opmend_sim::reached_source(offsets, mask, most, repeats, plan, "Scatter", "dstOffset", where);
    ::opmend_sim::observe_reached(offsets, mask, most, repeats, plan, "Scatter", "dstOffset", where);
    ::opmend_sim::target_of_lanes(dst, 0, "Scatter", "dst", where);
    const ::opmend_sim::Walk ways[2] = {way, plan};
    ::opmend_sim::each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) {
        for (uint64_t i = 0; i < n; ++i) {
            const uint64_t offset = base + static_cast<uint64_t>(::opmend_sim::moved(list, o[1])[i]);
            auto* at = const_cast<uint8_t*>(::opmend_sim::element_at(dst, offset, sizeof(T), i, "Scatter", where));
            ::opmend_sim::join(at, ::opmend_sim::moved(from, o[0]) + i, sizeof(T));
            std::memcpy(at, ::opmend_sim::moved(from, o[0]) + i, sizeof(T));
        }
    });
}
}  // namespace opmend_detail
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& dstOffset, const uint32_t dstBaseAddr,
             const uint32_t count, OPMEND_WHERE) {
    opmend_detail::scatter_run(dst, src, dstOffset, dstBaseAddr, ::opmend_sim::Mask{true, count, 0, 0}, 0, 8, where);
}
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& dstOffset, const uint32_t dstBaseAddr,
             const uint64_t mask,
             ::opmend_sim::Repeat repeat, const uint8_t srcRepStride, OPMEND_WHERE) {
    opmend_detail::scatter_run(dst, src, dstOffset, dstBaseAddr, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), true, "Scatter", where),
                               ::opmend_sim::repeats_of(repeat, "Scatter", where), srcRepStride, where);
}
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& dstOffset, const uint32_t dstBaseAddr,
             const uint64_t mask[],
             ::opmend_sim::Repeat repeat, const uint8_t srcRepStride, OPMEND_WHERE) {
    opmend_detail::scatter_run(dst, src, dstOffset, dstBaseAddr, ::opmend_sim::mask_of_bits(mask, true), ::opmend_sim::repeats_of(repeat, "Scatter",
        where), srcRepStride, where);
}

enum class GatherMaskMode : uint8_t { DEFAULT };
inline constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::DEFAULT;
namespace opmend_detail {
// reduceMode: `mask` lanes a repeat instead of 256 bytes. The lanes that stay lie side by side in dst. Ends in Normal mask mode.
template <class T, class On>
void gather_mask(const LocalTensor<T>& dst, const LocalTensor<T>& src, bool reduceMode, uint32_t mask, const GatherMaskParams& p, uint64_t& rsvdCnt,
                 ::opmend_sim::Where where, On on) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "GatherMask takes int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float on dav-2201");
    const uint64_t count = reduceMode ? mask : 256 / sizeof(T);
    const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(p.src0BlockStride, p.src0RepeatStride);
    const uint64_t end = p.repeatTimes && count ? way.at(p.repeatTimes - 1u, static_cast<uint32_t>(count - 1)) / sizeof(T) + 1 : 0;
    const T* from = ::opmend_sim::source(src, end, "GatherMask", "src0", where);
    uint64_t kept = 0;
    for (uint32_t r = 0; r < p.repeatTimes; ++r)
        for (uint64_t i = 0; i < count; ++i) kept += on(r, i);
    T* to = ::opmend_sim::target_of_lanes(dst, kept, "GatherMask", "dst", where);
    uint64_t out = 0;
    for (uint32_t r = 0; r < p.repeatTimes; ++r)
        for (uint64_t i = 0; i < count; ++i) {
            if (!on(r, i)) continue;
            const T* lane = ::opmend_sim::moved(from, way.at(r, static_cast<uint32_t>(i)));
            ::opmend_sim::join(to + out, lane, sizeof(T));
            to[out++] = *lane;
        }
    rsvdCnt = kept;
    ::opmend_sim::core().mask_mode = ::opmend_sim::MaskMode::Normal;
}
}  // namespace opmend_detail
// Patterns: 1 even lanes, 2 odd lanes, 3 to 6 one of four, 7 all.
template <class T, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern, const bool reduceMode, const uint32_t mask,
                const GatherMaskParams& params, uint64_t& rsvdCnt, OPMEND_WHERE) {
    if (src1Pattern < 1 || src1Pattern > 7) ::opmend_sim::fail("gathermask-pattern",
        "GatherMask pattern " + ::opmend_sim::text(src1Pattern) + "; patterns are 1 to 7", where);
    opmend_detail::gather_mask(dst, src0, reduceMode, mask, params, rsvdCnt, where, [&](uint32_t, uint64_t i) {
        return src1Pattern == 7 || (src1Pattern <= 2 ? i % 2 == src1Pattern - 1u : i % 4 == src1Pattern - 3u);
    });
}
// A bit a lane, from the low bit of the first byte. The bits of a repeat lie side by side; repeats are src1RepeatStride blocks apart.
template <class T, class U, GatherMaskMode mode = defaultGatherMaskMode>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern, const bool reduceMode, const uint32_t mask,
                const GatherMaskParams& params, uint64_t& rsvdCnt, OPMEND_WHERE) {
    static_assert(sizeof(U) == sizeof(T), "GatherMask's pattern is uint16_t for 2-byte elements and uint32_t for 4-byte elements");
    const uint64_t count = reduceMode ? mask : 256 / sizeof(T), step = params.src1RepeatStride * 32ull;
    const uint64_t bytes = params.repeatTimes ? (params.repeatTimes - 1) * step + (count + 7) / 8 : 0;
    const U* pattern = ::opmend_sim::source(src1Pattern, (bytes + sizeof(U) - 1) / sizeof(U), "GatherMask", "src1Pattern", where);
    ::opmend_sim::observe(pattern, bytes, "GatherMask", "src1Pattern", where, src1Pattern.buffer());
    const auto* raw = reinterpret_cast<const uint8_t*>(pattern);
    opmend_detail::gather_mask(dst, src0, reduceMode, mask, params, rsvdCnt, where,
                               [&](uint32_t r, uint64_t i) { return (raw[r * step + i / 8] >> (i % 8) & 1) != 0; });
}

}  // namespace AscendC
