// Calls that move or make lanes: Brcb, Copy, indices, BroadCast.
#pragma once
#include "opmend_sim/vector.h"

namespace AscendC {

// Each of 8 elements a repeat fills one 32-byte block.
template <class T> void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Repeat repeat, const BrcbRepeatParams& params,
                             OPMEND_WHERE) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb takes int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float on dav-2201");
    constexpr uint32_t a_block = 32 / sizeof(T);
    const uint64_t repeats = ::opmend_sim::repeats_of(repeat, "Brcb", where), block = params.dstBlkStride ? params.dstBlkStride : 1;
    const T* from = ::opmend_sim::source(src, 8ull * repeats, "Brcb", "src", where);
    const uint64_t blocks = repeats ? (repeats - 1) * params.dstRepStride + 7 * block + 1 : 0;
    T* to = ::opmend_sim::target_of_lanes(dst, blocks * a_block, "Brcb", "dst", where);
    for (uint64_t r = 0; r < repeats; ++r)
        for (uint64_t i = 0; i < 8; ++i) {
            T* place = to + (r * params.dstRepStride + i * block) * a_block;
            if (__builtin_expect(::opmend_sim::unwritten(from + r * 8 + i, sizeof(T)), 0)) ::opmend_sim::mark_unwritten(place, 32);
            else ::opmend_sim::mark_written(place, 32);
            ::opmend_sim::fill(place, from[r * 8 + i], a_block);
        }
}

namespace opmend_detail {
// In Counter mode Copy differs from other calls: the mask is the number of elements a repeat, and the repeats count.
template <class T>
void copy_run(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Mask mask, ::opmend_sim::Repeat repeat, const CopyRepeatParams& p,
              ::opmend_sim::Where where) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Copy takes int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float on dav-2201");
    const uint32_t repeats = ::opmend_sim::repeats_of(repeat, "Copy", where);
    constexpr uint32_t lanes = 256 / sizeof(T);
    const uint32_t most = mask.counter ? static_cast<uint32_t>(mask.count) : lanes;
    if (most == 0) return;
    const ::opmend_sim::Walk ways[2] = {::opmend_sim::walk<T>(p.dstStride, p.dstRepeatSize), ::opmend_sim::walk<T>(p.srcStride, p.srcRepeatSize)};
    if (mask.counter) mask = {true, static_cast<uint64_t>(most) * repeats, 0, 0};
    T* to = ::opmend_sim::reached_target_of_lanes(dst, mask, most, repeats, ways[0], "Copy", "dst", where);
    const T* from = ::opmend_sim::reached_source(src, mask, most, repeats, ways[1], "Copy", "src", where);
    ::opmend_sim::check_meeting(to, ways[0], from, ways[1], mask, most, repeats, ::opmend_sim::Meet::No, "Copy", "src", where);
    ::opmend_sim::each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) {
        ::opmend_sim::join(::opmend_sim::moved(to, o[0]), ::opmend_sim::moved(from, o[1]), n * sizeof(T));
        std::memmove(::opmend_sim::moved(to, o[0]), ::opmend_sim::moved(from, o[1]), n * sizeof(T));
    });
}
}  // namespace opmend_detail
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask, ::opmend_sim::Repeat repeat, const CopyRepeatParams& p,
          OPMEND_WHERE) {
    opmend_detail::copy_run(dst, src, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Copy", where), repeat, p, where);
}
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], ::opmend_sim::Repeat repeat, const CopyRepeatParams& p,
          OPMEND_WHERE) {
    opmend_detail::copy_run(dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, p, where);
}

namespace opmend_detail {
template <class T> void progression(const LocalTensor<T>& dst, T first, T step, int32_t count, const char* call, ::opmend_sim::Where where) {
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    T* to = ::opmend_sim::target(dst, n, call, "dst", where);
    for (size_t i = 0; i < n; ++i)
        to[i] = static_cast<T>(static_cast<::opmend_sim::Wide<T>>(first) +
                               static_cast<::opmend_sim::Wide<T>>(step) * static_cast<::opmend_sim::Wide<T>>(i));
}
}  // namespace opmend_detail
template <class T> void CreateVecIndex(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& firstValue, uint32_t count, OPMEND_WHERE) {
    opmend_detail::progression<T>(dst, firstValue, T(1), static_cast<int32_t>(count), "CreateVecIndex", where);
}
namespace opmend_detail {
// Lane i of repeat r holds first + (r * lanes + i).
template <class T>
void index_run(const LocalTensor<T>& dst, T first, const ::opmend_sim::Mask& mask, ::opmend_sim::Repeat repeat, uint16_t block, uint8_t stride,
               ::opmend_sim::Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const auto repeats = static_cast<uint32_t>(::opmend_sim::repeats_for(mask, most, ::opmend_sim::repeats_of(repeat, "CreateVecIndex", where)));
    const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(block, stride);
    T* to = ::opmend_sim::reached_target(dst, mask, most, repeats, way, "CreateVecIndex", "dst", where);
    for (uint32_t r = 0; r < repeats; ++r)
        for (uint32_t lane = 0; lane < most; ++lane) {
            const bool on = mask.counter ? static_cast<uint64_t>(r) * most + lane < mask.count
                                         : (lane < 64 ? mask.low >> lane & 1 : mask.high >> (lane - 64) & 1);
            using W = ::opmend_sim::Wide<T>;
            if (on) *::opmend_sim::moved(to, way.at(r, lane)) = static_cast<T>(static_cast<W>(first) + static_cast<W>(r * most + lane));
        }
}
}  // namespace opmend_detail
#define OPMEND_INDEX static_assert(::opmend_sim::one_of<T, int16_t, half, int32_t, float>, "CreateVecIndex takes int16_t, half, int32_t, float on dav-2201")
template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& firstValue, uint64_t mask, ::opmend_sim::Repeat repeat,
                    uint16_t dstBlkStride,
                    uint8_t dstRepStride, OPMEND_WHERE) {
    OPMEND_INDEX;
    opmend_detail::index_run(dst, static_cast<T>(firstValue), ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), true, "CreateVecIndex", where),
                             repeat, dstBlkStride,
                             dstRepStride, where);
}
template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& firstValue, const uint64_t mask[], ::opmend_sim::Repeat repeat,
                    uint16_t dstBlkStride,
                    uint8_t dstRepStride, OPMEND_WHERE) {
    OPMEND_INDEX;
    opmend_detail::index_run(dst, static_cast<T>(firstValue), ::opmend_sim::mask_of_bits(mask, true), repeat, dstBlkStride, dstRepStride, where);
}
#undef OPMEND_INDEX
template <class T>
void ArithProgression(const LocalTensor<T>& dst, const ::opmend_sim::Same<T> firstValue, const ::opmend_sim::Same<T> diffValue, const int32_t count,
                      OPMEND_WHERE) {
    opmend_detail::progression<T>(dst, firstValue, diffValue, count, "ArithProgression", where);
}
template <class T> void Arange(const LocalTensor<T>& dst, const ::opmend_sim::Same<T> firstValue, const ::opmend_sim::Same<T> diffValue,
                               const int32_t count, OPMEND_WHERE) {
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
        for (uint64_t k = 0; k < columns; ++k)
            to[i * columns + k] = from[(source_rows == 1 ? 0 : i) * source_columns + (source_columns == 1 ? 0 : k)];
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim],
               const LocalTensor<uint8_t>&, OPMEND_WHERE) {
    BroadCast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, where);
}

// The newer name.
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim], OPMEND_WHERE) {
    BroadCast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, where);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim], const uint32_t srcShape[dim],
               const LocalTensor<uint8_t>&, OPMEND_WHERE) {
    BroadCast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, where);
}

}  // namespace AscendC
