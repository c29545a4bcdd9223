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
// The rounding modes that the Cast page lists for a pair on dav-2201, one bit a mode.
template <class D, class S> constexpr unsigned cast_modes() {
    constexpr unsigned none = 1, five = 0b111110, odd = 1u << 6;  // CAST_NONE; RINT, FLOOR, CEIL, ROUND, TRUNC; ODD
    if constexpr (std::is_same_v<S, int32_t> && std::is_same_v<D, half>) return none | five | odd;  // the mode has no effect
    else if constexpr (std::is_same_v<S, float> && std::is_same_v<D, half>) return none | five | odd;
    else if constexpr (std::is_same_v<S, float>) return five;
    else if constexpr (std::is_same_v<D, float>) return std::is_same_v<S, int32_t> ? none | five : std::is_same_v<S, int64_t> ? five : none;
    else if constexpr (std::is_same_v<S, half>) return sizeof(D) == 1 ? none | five : five;
    else if constexpr (std::is_same_v<S, bfloat16_t>) return five;
    else if constexpr (std::is_same_v<S, int16_t>) return none | five;
    else return none;
}
void note_cast_mode(AscendC::RoundMode mode, unsigned allowed, Where where);
inline void check_cast_mode(AscendC::RoundMode mode, unsigned allowed, Where where) {
    if (__builtin_expect(!(allowed >> static_cast<unsigned>(mode) & 1), 0)) note_cast_mode(mode, allowed, where);
}
// int32_t to half times the scale of SetDeqScale, rounded once.
void convert_deq(half* dst, const int32_t* src, size_t n, Where where);
template <class D, class S> void convert_marked(D* dst, const S* src, AscendC::RoundMode mode, size_t n, Where where) {
    join_lanes(dst, sizeof(D), src, sizeof(S), n);
    if constexpr (std::is_same_v<S, int32_t> && std::is_same_v<D, half>) convert_deq(dst, src, n, where);  // the only pair that SetDeqScale governs
    else convert(dst, src, mode, n);
}
#define OPMEND_CASTABLE                                                                                                                      \
    static_assert(::opmend_sim::castable<D, S>(),                                                                                            \
                  "Cast on dav-2201: from half to float, int32_t, int16_t, int8_t, uint8_t; from float to float, half, bfloat16_t, "          \
                  "int64_t, int32_t, int16_t; from bfloat16_t to float, int32_t; from int8_t, uint8_t to half; from int16_t to half, "        \
                  "float; from int32_t to float, half, int16_t, int64_t; from int64_t to int32_t, float")
}  // namespace opmend_sim

namespace AscendC {

template <class D, class S> void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint32_t count,
                                      OPMEND_WHERE) {
    OPMEND_CASTABLE;
    ::opmend_sim::check_cast_mode(mode, ::opmend_sim::cast_modes<D, S>(), where);
    D* to = ::opmend_sim::target_of_lanes(dst, count, "Cast", "dst", where);
    const S* from = ::opmend_sim::source(src, count, "Cast", "src", where);
    if (sizeof(D) != sizeof(S) || static_cast<const void*>(to) != from) ::opmend_sim::check_overlap(to, from, count, "Cast", "src", where);
    ::opmend_sim::convert_marked(to, from, mode, count, where);
}
namespace opmend_detail {
template <class D, class S>
void cast_run(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, const ::opmend_sim::Mask& mask, ::opmend_sim::Repeat repeat,
              const UnaryRepeatParams& p, ::opmend_sim::Where where) {
    OPMEND_CASTABLE;
    constexpr uint32_t most = 256 / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));
    ::opmend_sim::check_cast_mode(mode, ::opmend_sim::cast_modes<D, S>(), where);
    ::opmend_sim::check_strides(p, "Cast", where);
    const uint32_t repeats = ::opmend_sim::repeats_of(repeat, "Cast", where);
    const ::opmend_sim::Walk ways[2] = {::opmend_sim::walk<D>(p.dstBlkStride, p.dstRepStride), ::opmend_sim::walk<S>(p.srcBlkStride, p.srcRepStride)};
    D* to = ::opmend_sim::reached_target_of_lanes(dst, mask, most, repeats, ways[0], "Cast", "dst", where);
    const S* from = ::opmend_sim::reached_source(src, mask, most, repeats, ways[1], "Cast", "src", where);
    ::opmend_sim::check_meeting(to, ways[0], from, ways[1], mask, most, repeats, ::opmend_sim::Meet::No, "Cast", "src", where);
    ::opmend_sim::each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) {
        ::opmend_sim::convert_marked(::opmend_sim::moved(to, o[0]), ::opmend_sim::moved(from, o[1]), mode, n, where);
    });
}
}  // namespace opmend_detail
template <class D, class S, bool isSetMask = true>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint64_t mask, ::opmend_sim::Repeat repeat,
          const UnaryRepeatParams& params, OPMEND_WHERE) {
    constexpr uint32_t most = 256 / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));
    opmend_detail::cast_run(dst, src, mode, ::opmend_sim::mask_of_length(mask, most, isSetMask, "Cast", where), repeat, params, where);
}
template <class D, class S, bool isSetMask = true>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint64_t mask[], ::opmend_sim::Repeat repeat,
          const UnaryRepeatParams& params, OPMEND_WHERE) {
    opmend_detail::cast_run(dst, src, mode, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params, where);
}
#undef OPMEND_CASTABLE
inline void SetDeqScale(half scale) {
    ::opmend_sim::core().deq_scale = static_cast<float>(scale);
    ::opmend_sim::core().deq_set = true;
}

namespace opmend_detail {
template <class T>
void duplicate_run(const LocalTensor<T>& dst, T scalar, const ::opmend_sim::Mask& mask, ::opmend_sim::Repeat repeat,
                   ::opmend_sim::Field<uint16_t> block,
                   ::opmend_sim::Field<uint8_t> stride, ::opmend_sim::Where where) {
    if (block.cut || stride.cut) ::opmend_sim::note_cut("Duplicate", "stride", 0, where);
    const uint32_t repeats = ::opmend_sim::repeats_of(repeat, "Duplicate", where);
    const ::opmend_sim::Walk ways[1] = {::opmend_sim::walk<T>(block, stride)};
    T* to = ::opmend_sim::reached_target(dst, mask, 256 / sizeof(T), repeats, ways[0], "Duplicate", "dst", where);
    ::opmend_sim::each_run<1>(mask, 256 / sizeof(T), repeats, ways,
                              [&](const uint64_t (&o)[1], uint64_t n) { ::opmend_sim::fill(::opmend_sim::moved(to, o[0]), scalar, n); });
}
template <class T, class U>
void axpy_run(const LocalTensor<T>& dst, const LocalTensor<U>& src, U scalar, const ::opmend_sim::Mask& mask, ::opmend_sim::Repeat repeat,
              const UnaryRepeatParams& p, ::opmend_sim::Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    ::opmend_sim::check_strides(p, "Axpy", where);
    const uint32_t repeats = ::opmend_sim::repeats_of(repeat, "Axpy", where);
    const ::opmend_sim::Walk ways[2] = {::opmend_sim::walk<T>(p.dstBlkStride, p.dstRepStride), ::opmend_sim::walk<U>(p.srcBlkStride, p.srcRepStride)};
    T* to = ::opmend_sim::reached_target_of_lanes(dst, mask, most, repeats, ways[0], "Axpy", "dst", where);
    const U* from = ::opmend_sim::reached_source(src, mask, most, repeats, ways[1], "Axpy", "src", where);
    ::opmend_sim::check_meeting(to, ways[0], from, ways[1], mask, most, repeats, ::opmend_sim::Meet::No, "Axpy", "src", where);
    ::opmend_sim::each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) {
        if constexpr (std::is_same_v<T, U>)
            ::opmend_sim::lanes<T>(::opmend_sim::Scalar::Axpy, ::opmend_sim::moved(to, o[0]), ::opmend_sim::moved(from, o[1]), scalar, n);
        else ::opmend_sim::axpy(::opmend_sim::moved(to, o[0]), ::opmend_sim::moved(from, o[1]), scalar, n);
    });
}
}  // namespace opmend_detail
#define OPMEND_DUPLICABLE                                                                                                                    \
    static_assert(::opmend_sim::one_of<T, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>,                                    \
                  "Duplicate takes int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float on dav-2201")
template <class T> void Duplicate(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& scalar, const int32_t& count, OPMEND_WHERE) {
    OPMEND_DUPLICABLE;
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    ::opmend_sim::fill(::opmend_sim::target(dst, n, "Duplicate", "dst", where), static_cast<T>(scalar), n);
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& scalar, uint64_t mask, ::opmend_sim::Repeat repeat,
               ::opmend_sim::Field<uint16_t> dstBlkStride, ::opmend_sim::Field<uint8_t> dstRepStride, OPMEND_WHERE) {
    OPMEND_DUPLICABLE;
    opmend_detail::duplicate_run(dst, static_cast<T>(scalar), ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Duplicate", where),
                                 repeat,
                                 dstBlkStride, dstRepStride, where);
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& scalar, const uint64_t mask[], ::opmend_sim::Repeat repeat,
               ::opmend_sim::Field<uint16_t> dstBlkStride, ::opmend_sim::Field<uint8_t> dstRepStride, OPMEND_WHERE) {
    OPMEND_DUPLICABLE;
    opmend_detail::duplicate_run(dst, static_cast<T>(scalar), ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, dstBlkStride, dstRepStride, where);
}
#undef OPMEND_DUPLICABLE

// dst += src * scalar, fused: one rounding.
#define OPMEND_AXPY                                                                                                                          \
    static_assert((std::is_same_v<T, U> && ::opmend_sim::one_of<T, half, float>) || (std::is_same_v<T, float> && std::is_same_v<U, half>),    \
                  "Axpy takes half, float, or float from half on dav-2201")
template <class T, class U> void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const ::opmend_sim::Same<U>& scalar, const int32_t count,
                                      OPMEND_WHERE) {
    OPMEND_AXPY;
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    T* to = ::opmend_sim::target_of_lanes(dst, n, "Axpy", "dst", where);
    const U* from = ::opmend_sim::source(src, n, "Axpy", "src", where);
    if (sizeof(T) != sizeof(U) || static_cast<const void*>(to) != from) ::opmend_sim::check_overlap(to, from, n, "Axpy", "src", where);
    if constexpr (std::is_same_v<T, U>) ::opmend_sim::lanes<T>(::opmend_sim::Scalar::Axpy, to, from, scalar, n);
    else ::opmend_sim::axpy(to, from, scalar, n);
}
template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const ::opmend_sim::Same<U>& scalar, uint64_t mask, ::opmend_sim::Repeat repeat,
          const UnaryRepeatParams& params, OPMEND_WHERE) {
    OPMEND_AXPY;
    opmend_detail::axpy_run(dst, src, static_cast<U>(scalar), ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Axpy", where), repeat,
                            params, where);
}
template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const ::opmend_sim::Same<U>& scalar, const uint64_t mask[],
          ::opmend_sim::Repeat repeat,
          const UnaryRepeatParams& params, OPMEND_WHERE) {
    OPMEND_AXPY;
    opmend_detail::axpy_run(dst, src, static_cast<U>(scalar), ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params, where);
}
#undef OPMEND_AXPY

}  // namespace AscendC
