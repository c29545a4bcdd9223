// Cast between element types, and Duplicate.
#pragma once
#include "opmend_sim/vector.h"

namespace opmend_sim {
// dst[i] = src[i] in D, rounded as mode says; to integers it saturates, and NaN becomes 0. Overlap: src is read a chunk ahead.
template <class D, class S> void convert(D* dst, const S* src, AscendC::RoundMode mode, size_t n);
// The pairs of dav-2201.
template <class D, class S> constexpr bool castable() {
    if constexpr (std::is_same_v<S, half>) return one_of<D, float, int32_t, int16_t, int8_t, uint8_t>;
    else if constexpr (std::is_same_v<S, float>) return one_of<D, float, half, bfloat16_t, int64_t, int32_t, int16_t>;
    else if constexpr (std::is_same_v<S, bfloat16_t>) return one_of<D, float, int32_t>;
    else if constexpr (std::is_same_v<S, int8_t> || std::is_same_v<S, uint8_t>) return std::is_same_v<D, half>;
    else if constexpr (std::is_same_v<S, int16_t>) return one_of<D, half, float>;
    else if constexpr (std::is_same_v<S, int32_t>) return one_of<D, float, half, int16_t, int64_t>;
    else if constexpr (std::is_same_v<S, int64_t>) return one_of<D, int32_t, float>;
    else return false;
}
template <class D, class S>
void convert_scaled(D* dst, const S* src, AscendC::RoundMode mode, size_t n) {
    join_lanes(dst, sizeof(D), src, sizeof(S), n);
    convert(dst, src, mode, n);
    if constexpr (std::is_same_v<S, int32_t> && std::is_same_v<D, half>) {  // the only pair that SetDeqScale governs
        const float scale = core().deq_scale;
        if (scale != 1.0f)
            for (size_t i = 0; i < n; ++i) dst[i] = half(static_cast<float>(src[i]) * scale);
    }
}
}  // namespace opmend_sim

namespace AscendC {

template <class D, class S> void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint32_t count, OPMEND_WHERE) {
    static_assert(::opmend_sim::castable<D, S>(), "Cast: dav-2201 has no conversion between these types");
    D* to = ::opmend_sim::target_of_lanes(dst, count, "Cast", "dst", where);
    ::opmend_sim::convert_scaled(to, static_cast<const S*>(::opmend_sim::source(src, count, "Cast", "src", where)), mode, count);
}
namespace opmend_detail {
template <class D, class S>
void cast_run(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, const ::opmend_sim::Mask& mask, uint8_t repeat,
              const UnaryRepeatParams& p, ::opmend_sim::Where where) {
    static_assert(::opmend_sim::castable<D, S>(), "Cast: dav-2201 has no conversion between these types");
    constexpr uint32_t most = 256 / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));
    const ::opmend_sim::Walk ways[2] = {::opmend_sim::walk<D>(p.dstBlkStride, p.dstRepStride), ::opmend_sim::walk<S>(p.srcBlkStride, p.srcRepStride)};
    D* to = ::opmend_sim::reached_target_of_lanes(dst, mask, most, repeat, ways[0], "Cast", "dst", where);
    const S* from = ::opmend_sim::reached_source(src, mask, most, repeat, ways[1], "Cast", "src", where);
    ::opmend_sim::each_run<2>(mask, most, repeat, ways, [&](const uint64_t (&o)[2], uint64_t n) {
        ::opmend_sim::convert_scaled(::opmend_sim::moved(to, o[0]), ::opmend_sim::moved(from, o[1]), mode, n);
    });
}
}  // namespace opmend_detail
template <class D, class S, bool isSetMask = true>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint64_t mask, const uint8_t repeat,
          const UnaryRepeatParams& params, OPMEND_WHERE) {
    constexpr uint32_t most = 256 / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));
    opmend_detail::cast_run(dst, src, mode, ::opmend_sim::mask_of_length(mask, most, isSetMask, "Cast", where), repeat, params, where);
}
template <class D, class S, bool isSetMask = true>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint64_t mask[], const uint8_t repeat,
          const UnaryRepeatParams& params, OPMEND_WHERE) {
    opmend_detail::cast_run(dst, src, mode, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params, where);
}
inline void SetDeqScale(half scale) { ::opmend_sim::core().deq_scale = static_cast<float>(scale); }

#define OPMEND_DUPLICABLE static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Duplicate takes 2- and 4-byte elements on dav-2201")
template <class T> void Duplicate(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& scalar, const int32_t& count, OPMEND_WHERE) {
    OPMEND_DUPLICABLE;
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    ::opmend_sim::fill(::opmend_sim::target(dst, n, "Duplicate", "dst", where), static_cast<T>(scalar), n);
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& scalar, uint64_t mask, const uint8_t repeat, const uint16_t dstBlkStride,
               const uint8_t dstRepStride, OPMEND_WHERE) {
    OPMEND_DUPLICABLE;
    const ::opmend_sim::Mask lanes = ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Duplicate", where);
    const ::opmend_sim::Walk ways[1] = {::opmend_sim::walk<T>(dstBlkStride, dstRepStride)};
    T* to = ::opmend_sim::reached_target(dst, lanes, 256 / sizeof(T), repeat, ways[0], "Duplicate", "dst", where);
    ::opmend_sim::each_run<1>(lanes, 256 / sizeof(T), repeat, ways,
                              [&](const uint64_t (&o)[1], uint64_t n) { ::opmend_sim::fill(::opmend_sim::moved(to, o[0]), static_cast<T>(scalar), n); });
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& scalar, uint64_t mask[], const uint8_t repeat, const uint16_t dstBlkStride,
               const uint8_t dstRepStride, OPMEND_WHERE) {
    OPMEND_DUPLICABLE;
    const ::opmend_sim::Mask lanes = ::opmend_sim::mask_of_bits(mask, isSetMask);
    const ::opmend_sim::Walk ways[1] = {::opmend_sim::walk<T>(dstBlkStride, dstRepStride)};
    T* to = ::opmend_sim::reached_target(dst, lanes, 256 / sizeof(T), repeat, ways[0], "Duplicate", "dst", where);
    ::opmend_sim::each_run<1>(lanes, 256 / sizeof(T), repeat, ways,
                              [&](const uint64_t (&o)[1], uint64_t n) { ::opmend_sim::fill(::opmend_sim::moved(to, o[0]), static_cast<T>(scalar), n); });
}
#undef OPMEND_DUPLICABLE

// dst += src * scalar, fused: one rounding.
template <class T, class U> void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const ::opmend_sim::Same<U>& scalar, const int32_t count, OPMEND_WHERE) {
    static_assert((std::is_same_v<T, U> && ::opmend_sim::one_of<T, half, float>) || (std::is_same_v<T, float> && std::is_same_v<U, half>),
                  "Axpy takes half, float, or float from half on dav-2201");
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    T* to = ::opmend_sim::target_of_lanes(dst, n, "Axpy", "dst", where);
    const U* from = ::opmend_sim::source(src, n, "Axpy", "src", where);
    if constexpr (std::is_same_v<T, U>) ::opmend_sim::lanes<T>(::opmend_sim::Scalar::Axpy, to, from, scalar, n);
    else ::opmend_sim::axpy(to, from, scalar, n);
}

}  // namespace AscendC
