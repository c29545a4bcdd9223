// Compare, CompareScalar, Select: lanes against bits. Forms and limits by the CANN 8.5 API pages of the calls; loops in runtime/compare.cpp.
#pragma once
#include "opmend_sim/vector.h"

namespace opmend_sim {
inline bool bit(const uint8_t* bits, uint64_t at) { return bits[at / 8] >> (at % 8) & 1; }
// Writes n bits, one lane each, low bit first. The second source steps by b_step lanes (0: a scalar). Half goes through float.
template <class T> void compare_lanes(uint8_t* bits, const T* a, const T* b, size_t b_step, AscendC::CMPMODE mode, size_t n);
// dst[i] = bit i of `bits` (the first is `first`) ? yes[i] : no[i * no_step].
template <class T> void select_lanes(T* dst, const uint8_t* bits, uint64_t first, const T* yes, const T* no, size_t no_step, size_t n);
// compare_lanes, and the shadow: a byte of dst counts as unwritten where all of its lanes are (in a byte that holds the end of the data and the
// start of the padding, the padding's bits are thrown away later).
template <class T> void compare_marked(uint8_t* bits, const T* a, const T* b, size_t b_step, AscendC::CMPMODE mode, size_t n);
void check_compare(AscendC::CMPMODE mode, bool integers, uint64_t bytes, const char* call, Where where);

// The count form.
template <class T, class U>
void compare_count(const AscendC::LocalTensor<U>& dst, const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>* b, T scalar,
                   AscendC::CMPMODE mode,
                   uint32_t count, const char* call, Where where) {
    check_compare(mode, std::is_integral_v<T>, static_cast<uint64_t>(count) * sizeof(T), call, where);
    const T* left = source(a, count, call, b ? "src0" : "src", where);
    const T* right = b ? source(*b, count, call, "src1", where) : &scalar;
    auto* bits = reinterpret_cast<uint8_t*>(target_of_lanes(dst, (count / 8 + (count % 8 != 0) + sizeof(U) - 1) / sizeof(U), call, "dst", where));
    compare_marked(bits, left, right, b ? 1 : 0, mode, count);
}
// The repeat forms: dav-2201 ignores their mask. The bits of all repeats lie side by side.
template <class T, class U>
void compare_repeats(const AscendC::LocalTensor<U>& dst, const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>* b, T scalar,
                     AscendC::CMPMODE mode,
                     Repeat repeat, const Walk& way_a, const Walk& way_b, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const uint32_t repeats = repeats_of(repeat, call, where);
    const Mask whole = {false, 0, ~0ull, ~0ull};
    check_compare(mode, std::is_integral_v<T>, 0, call, where);
    const T* left = reached_source(a, whole, most, repeats, way_a, call, b ? "src0" : "src", where);
    const T* right = b ? reached_source(*b, whole, most, repeats, way_b, call, "src1", where) : nullptr;
    auto* bits = reinterpret_cast<uint8_t*>(target_of_lanes(dst, (static_cast<uint64_t>(repeats) * most / 8 + sizeof(U) - 1) / sizeof(U), call,
                                                            "dst", where));
    constexpr uint32_t a_block = 32 / sizeof(T);
    for (uint32_t r = 0; r < repeats; ++r)
        for (uint32_t lane = 0; lane < most; lane += a_block)
            compare_marked(bits + (static_cast<uint64_t>(r) * most + lane) / 8, moved(left, way_a.at(r, lane)),
                           right ? moved(right, way_b.at(r, lane)) : &scalar, right ? 1 : 0, mode, a_block);
}
// One repeat into the core's compare mask. Bits of lanes that the mask turns off stay as they were.
template <class T>
void compare_register(const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b, AscendC::CMPMODE mode, const Mask& mask,
                      const AscendC::BinaryRepeatParams& p, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk left = walk<T>(p.src0BlkStride, p.src0RepStride), right = walk<T>(p.src1BlkStride, p.src1RepStride);
    const Mask one = mask.counter ? Mask{true, mask.count < most ? mask.count : most, 0, 0} : mask;
    const T* x = reached_source(a, one, most, 1, left, call, "src0", where);
    const T* y = reached_source(b, one, most, 1, right, call, "src1", where);
    observe_reached(a, one, most, 1, left, call, "src0", where);
    observe_reached(b, one, most, 1, right, call, "src1", where);
    for (uint32_t lane = 0; lane < most; ++lane) {
        if (!(one.counter ? lane < one.count : (lane < 64 ? one.low >> lane & 1 : one.high >> (lane - 64) & 1))) continue;
        uint8_t result = 0;
        compare_lanes(&result, moved(x, left.at(0, lane)), moved(y, right.at(0, lane)), 1, mode, 1);
        uint8_t& byte = core().compare_mask[lane / 8];
        byte = static_cast<uint8_t>((byte & ~(1u << (lane % 8))) | (result & 1u) << (lane % 8));
    }
}
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_COMPARABLE(Name) static_assert(::opmend_sim::one_of<T, half, float, int32_t>, #Name " takes half, float, int32_t (EQ only) on dav-2201")
template <class T, class U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, uint32_t count, OPMEND_WHERE) {
    OPMEND_COMPARABLE(Compare);
    ::opmend_sim::compare_count(dst, src0, &src1, T(), mode, count, "Compare", where);
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t,
             ::opmend_sim::Repeat repeat,
             const BinaryRepeatParams& p, OPMEND_WHERE) {
    OPMEND_COMPARABLE(Compare);
    ::opmend_sim::check_strides(p, "Compare", where);
    ::opmend_sim::compare_repeats(dst, src0, &src1, T(), mode, repeat, ::opmend_sim::walk<T>(p.src0BlkStride, p.src0RepStride),
                                  ::opmend_sim::walk<T>(p.src1BlkStride, p.src1RepStride), "Compare", where);
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t[],
             ::opmend_sim::Repeat repeat,
             const BinaryRepeatParams& p, OPMEND_WHERE) {
    Compare<T, U>(dst, src0, src1, mode, static_cast<uint64_t>(0), repeat, p, where);
}
// The forms without dst: one repeat, into the compare mask (GetCmpMask).
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask, const BinaryRepeatParams& p, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Compare into the mask register takes half, float on dav-2201");
    ::opmend_sim::compare_register(src0, src1, mode, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Compare", where), p, "Compare",
                                   where);
}
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask[], const BinaryRepeatParams& p, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Compare into the mask register takes half, float on dav-2201");
    ::opmend_sim::compare_register(src0, src1, mode, ::opmend_sim::mask_of_bits(mask, isSetMask), p, "Compare", where);
}
#define OPMEND_COMPARE_SCALAR(Name)                                                                                                          \
    template <class T, class U>                                                                                                              \
    void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src, const ::opmend_sim::Same<T> scalar, CMPMODE mode, uint32_t count,          \
              OPMEND_WHERE) {                                                                                                                 \
        OPMEND_COMPARABLE(Name);                                                                                                             \
        ::opmend_sim::compare_count<T, U>(dst, src, nullptr, static_cast<T>(scalar), mode, count, #Name, where);                              \
    }                                                                                                                                        \
    template <class T, class U, bool isSetMask = true>                                                                                       \
    void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src, const ::opmend_sim::Same<T> scalar, CMPMODE mode, const uint64_t,          \
              ::opmend_sim::Repeat repeat, const UnaryRepeatParams& p, OPMEND_WHERE) {                                                        \
        OPMEND_COMPARABLE(Name);                                                                                                             \
        ::opmend_sim::check_strides(p, #Name, where);                                                                                        \
        const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(p.srcBlkStride, p.srcRepStride);                                                 \
        ::opmend_sim::compare_repeats<T, U>(dst, src, nullptr, static_cast<T>(scalar), mode, repeat, way, way, #Name, where);                  \
    }                                                                                                                                        \
    template <class T, class U, bool isSetMask = true>                                                                                       \
    void Name(const LocalTensor<U>& dst, const LocalTensor<T>& src, const ::opmend_sim::Same<T> scalar, CMPMODE mode, const uint64_t[],        \
              ::opmend_sim::Repeat repeat, const UnaryRepeatParams& p, OPMEND_WHERE) {                                                        \
        Name<T, U>(dst, src, scalar, mode, static_cast<uint64_t>(0), repeat, p, where);                                                       \
    }
OPMEND_COMPARE_SCALAR(CompareScalar)
OPMEND_COMPARE_SCALAR(Compares)  // a newer name
#undef OPMEND_COMPARE_SCALAR
#undef OPMEND_COMPARABLE

// The compare mask: 16 bytes, at a multiple of 16.
template <class T> void GetCmpMask(const LocalTensor<T>& dst, OPMEND_WHERE) {
    std::memcpy(::opmend_sim::target_aligned(dst, 16 / sizeof(T), 16, "GetCmpMask", "dst", where), ::opmend_sim::core().compare_mask, 16);
}
template <class T> void SetCmpMask(const LocalTensor<T>& src, OPMEND_WHERE) {
    const T* from = ::opmend_sim::source_aligned(src, 16 / sizeof(T), 16, "SetCmpMask", "src", where);
    std::memcpy(::opmend_sim::core().compare_mask, from, 16);
}

namespace opmend_detail {
template <class T>
void select(const LocalTensor<T>& dst, const uint8_t* bits, const LocalTensor<T>& src0, const LocalTensor<T>* src1, T scalar, bool same_bits,
            const ::opmend_sim::Mask& mask, uint32_t repeat, const BinaryRepeatParams& p, ::opmend_sim::Where where) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Select takes half, float on dav-2201");
    constexpr uint32_t most = 256 / sizeof(T);
    ::opmend_sim::check_strides(p, "Select", where);
    const ::opmend_sim::Walk ways[3] = {::opmend_sim::walk<T>(p.dstBlkStride, p.dstRepStride), ::opmend_sim::walk<T>(p.src0BlkStride,
                                                                                                                     p.src0RepStride),
                                        ::opmend_sim::walk<T>(p.src1BlkStride, p.src1RepStride)};
    const uint64_t repeats = ::opmend_sim::repeats_for(mask, most, repeat);
    T* to = ::opmend_sim::reached_target_of_lanes(dst, mask, most, repeat, ways[0], "Select", "dst", where);
    const T* yes = ::opmend_sim::reached_source(src0, mask, most, repeat, ways[1], "Select", "src0", where);
    const T* no = src1 ? ::opmend_sim::reached_source(*src1, mask, most, repeat, ways[2], "Select", "src1", where) : nullptr;
    ::opmend_sim::check_meeting(to, ways[0], yes, ways[1], mask, most, repeat, ::opmend_sim::Meet::No, "Select", "src0", where);
    if (no) ::opmend_sim::check_meeting(to, ways[0], no, ways[2], mask, most, repeat, ::opmend_sim::Meet::No, "Select", "src1", where);
    for (uint64_t r = 0; r < repeats; ++r)
        for (uint32_t lane = 0; lane < most;) {
            auto on = [&](uint32_t i) {
                return mask.counter ? r * most + i < mask.count : (i < 64 ? mask.low >> i & 1 : mask.high >> (i - 64) & 1) != 0;
            };
            if (!on(lane)) {
                ++lane;
                continue;
            }
            constexpr uint32_t a_block = 32 / sizeof(T);
            uint32_t end = lane + 1;
            while (end < most && end % a_block != 0 && on(end)) ++end;
            const uint64_t first = (same_bits ? 0 : r * most) + lane;
            ::opmend_sim::select_lanes(::opmend_sim::moved(to, ways[0].at(r, lane)), bits, first, ::opmend_sim::moved(yes, ways[1].at(r, lane)),
                                       no ? ::opmend_sim::moved(no, ways[2].at(r, lane)) : &scalar, no ? 1 : 0, end - lane);
            lane = end;
        }
}
// The bits of a mask tensor: mode 0 uses those of one repeat for all repeats, the others go on from repeat to repeat.
template <class T, class U>
const uint8_t* select_bits(const LocalTensor<U>& bits, bool same_bits, const ::opmend_sim::Mask& mask, uint32_t repeat, ::opmend_sim::Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const uint64_t lanes = mask.counter ? mask.count : static_cast<uint64_t>(repeat) * most;
    const uint64_t bytes = ((same_bits && lanes > most ? most : lanes) + 7) / 8;
    const U* from = ::opmend_sim::source(bits, (bytes + sizeof(U) - 1) / sizeof(U), "Select", "selMask", where);
    return reinterpret_cast<const uint8_t*>(from);
}
inline bool same_bits(SELMODE mode) { return mode == SELMODE::VSEL_CMPMASK_SPR; }
}  // namespace opmend_detail
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode,
            uint32_t count, OPMEND_WHERE) {
    const ::opmend_sim::Mask lanes = {true, count, 0, 0};
    const bool same = opmend_detail::same_bits(mode);
    opmend_detail::select(dst, opmend_detail::select_bits<T>(selMask, same, lanes, 0, where), src0, &src1, T(0), same, lanes, 0,
                          BinaryRepeatParams(), where);
}
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, ::opmend_sim::Same<T> src1, SELMODE mode,
            uint32_t count, OPMEND_WHERE) {
    const ::opmend_sim::Mask lanes = {true, count, 0, 0};
    const bool same = opmend_detail::same_bits(mode);
    opmend_detail::select<T>(dst, opmend_detail::select_bits<T>(selMask, same, lanes, 0, where), src0, nullptr, src1, same, lanes, 0,
                             BinaryRepeatParams(), where);
}
#define OPMEND_SELECT(MaskType, made)                                                                                                        \
    template <class T, class U, bool isSetMask = true>                                                                                       \
    void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, \
                MaskType, ::opmend_sim::Repeat repeat, const BinaryRepeatParams& params, OPMEND_WHERE) {                                       \
        const ::opmend_sim::Mask lanes = made;                                                                                               \
        const bool same = opmend_detail::same_bits(mode);                                                                                    \
        const uint32_t repeats = ::opmend_sim::repeats_of(repeat, "Select", where);                                                          \
        opmend_detail::select(dst, opmend_detail::select_bits<T>(selMask, same, lanes, repeats, where), src0, &src1, T(0), same, lanes, repeats, \
                              params, where);                                                                                                \
    }                                                                                                                                        \
    template <class T, class U, bool isSetMask = true>                                                                                       \
    void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, ::opmend_sim::Same<T> src1, SELMODE mode, \
                MaskType, ::opmend_sim::Repeat repeat, const BinaryRepeatParams& params, OPMEND_WHERE) {                                       \
        const ::opmend_sim::Mask lanes = made;                                                                                               \
        const bool same = opmend_detail::same_bits(mode);                                                                                    \
        const uint32_t repeats = ::opmend_sim::repeats_of(repeat, "Select", where);                                                          \
        opmend_detail::select<T>(dst, opmend_detail::select_bits<T>(selMask, same, lanes, repeats, where), src0, nullptr, src1, same, lanes,    \
                                 repeats, params, where);                                                                                    \
    }
OPMEND_SELECT(uint64_t mask, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Select", where))
OPMEND_SELECT(const uint64_t mask[], ::opmend_sim::mask_of_bits(mask, isSetMask))
#undef OPMEND_SELECT
}  // namespace AscendC

namespace opmend_sim {
// The tensor whose address SetCmpMask was given (mode 2): a device kernel writes the low 32 bits of it.
const uint8_t* compare_mask_address(Where where);
}  // namespace opmend_sim

namespace AscendC {
// Without a mask parameter: lanes by SetVectorMask, the other operand by SetCmpMask.
template <class T, SELMODE mode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, ::opmend_sim::Repeat repeat,
            const BinaryRepeatParams& params, OPMEND_WHERE) {
    const ::opmend_sim::Mask lanes = ::opmend_sim::mask_of_length(0, 256 / sizeof(T), false, "Select", where);
    const bool same = opmend_detail::same_bits(mode);
    const uint8_t* bits = same ? ::opmend_sim::core().compare_mask : ::opmend_sim::compare_mask_address(where);
    opmend_detail::select(dst, bits, src0, &src1, T(0), same, lanes, ::opmend_sim::repeats_of(repeat, "Select", where), params, where);
}
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, ::opmend_sim::Repeat repeat,
            const BinaryRepeatParams& params, OPMEND_WHERE) {
    const ::opmend_sim::Mask lanes = ::opmend_sim::mask_of_length(0, 256 / sizeof(T), false, "Select", where);
    const uint32_t repeats = ::opmend_sim::repeats_of(repeat, "Select", where);
    T scalar;
    std::memcpy(&scalar, ::opmend_sim::core().compare_mask, sizeof(T));
    opmend_detail::select<T>(dst, opmend_detail::select_bits<T>(selMask, false, lanes, repeats, where), src0, nullptr, scalar, false, lanes, repeats,
                             params, where);
}

// A byte (or more) a lane instead of a bit: 0 takes the first source, anything else the second. Rows of the mask may be longer than the data's
// (page SelectWithBytesMask).
struct SelectWithBytesMaskShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};
namespace opmend_detail {
template <class T, class U>
void SelectWithBytesMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, T scalar, bool scalar_where_set, const LocalTensor<U>& mask,
                  const SelectWithBytesMaskShapeInfo& info, ::opmend_sim::Where where) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Select takes half, float on dav-2201");
    if (info.maskLastAxis < info.srcLastAxis) ::opmend_sim::fail("select-shape", "Select: rows of the mask are shorter than the data's", where);
    const uint64_t all = static_cast<uint64_t>(info.firstAxis) * info.srcLastAxis;
    T* to = ::opmend_sim::target_of_lanes(dst, all, "Select", "dst", where);
    const T* from = ::opmend_sim::source(src, all, "Select", "src", where);
    const U* on = ::opmend_sim::source(mask, static_cast<uint64_t>(info.firstAxis) * info.maskLastAxis, "Select", "mask", where);
    ::opmend_sim::observe(on, static_cast<uint64_t>(info.firstAxis) * info.maskLastAxis * sizeof(U), "Select", "mask", where, mask.buffer());
    for (uint64_t r = 0; r < info.firstAxis; ++r)
        for (uint64_t i = 0; i < info.srcLastAxis; ++i) {
            const uint64_t at = r * info.srcLastAxis + i;
            const bool scalar_here = (on[r * info.maskLastAxis + i] != U(0)) == scalar_where_set;
            if (scalar_here) ::opmend_sim::mark_written(to + at, sizeof(T));
            else ::opmend_sim::join(to + at, from + at, sizeof(T));
            to[at] = scalar_here ? scalar : from[at];
        }
}
}  // namespace opmend_detail
template <class T, class U, bool isReuseMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, ::opmend_sim::Same<T> src1, const LocalTensor<U>& mask,
            const LocalTensor<uint8_t>&, const SelectWithBytesMaskShapeInfo& info, OPMEND_WHERE) {
    opmend_detail::SelectWithBytesMask<T>(dst, src0, src1, true, mask, info, where);
}
template <class T, class U, bool isReuseMask = true>
void Select(const LocalTensor<T>& dst, ::opmend_sim::Same<T> src0, const LocalTensor<T>& src1, const LocalTensor<U>& mask,
            const LocalTensor<uint8_t>&, const SelectWithBytesMaskShapeInfo& info, OPMEND_WHERE) {
    opmend_detail::SelectWithBytesMask<T>(dst, src1, src0, false, mask, info, where);
}

}  // namespace AscendC
