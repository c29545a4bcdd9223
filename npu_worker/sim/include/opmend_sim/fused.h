// Arithmetic and a conversion in one call: AddReluCast, SubReluCast, MulCast, AddDeqRelu, CastDeq (CANN 8.5 API pages). Loops in runtime/fused.cpp.
#pragma once
#include "opmend_sim/convert.h"

namespace opmend_sim {
enum class Fused : uint8_t { AddReluCast, SubReluCast, MulCast, AddDeqRelu };
template <class D, class S> void fused_lanes(Fused op, D* dst, const S* a, const S* b, size_t n);
// scale * x + offset, rounded to the nearest, as int8_t or uint8_t. lane: of the first element, for the 16 scales of a tensor.
void deq_lanes(void* dst, const int16_t* src, uint64_t lane, size_t n, bool by_vector);

template <class D, class S>
void fused_count(Fused op, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& a, const AscendC::LocalTensor<S>& b, uint32_t count,
                 const char* call, Where where) {
    const S* left = source(a, count, call, "src0", where);
    const S* right = source(b, count, call, "src1", where);
    D* to = target_of_lanes(dst, count, call, "dst", where);
    check_overlap(to, left, count, call, "src0", where);
    check_overlap(to, right, count, call, "src1", where);
    fused_lanes(op, to, left, right, count);
}
template <class D, class S>
void fused_run(Fused op, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& a, const AscendC::LocalTensor<S>& b, const Mask& mask,
               Repeat repeat, const AscendC::BinaryRepeatParams& p, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(S);
    const uint32_t repeats = repeats_of(repeat, call, where);
    check_strides(p, call, where);
    const Walk ways[3] = {walk<D>(p.dstBlkStride, p.dstRepStride), walk<S>(p.src0BlkStride, p.src0RepStride), walk<S>(p.src1BlkStride,
                                                                                                                      p.src1RepStride)};
    D* to = reached_target_of_lanes(dst, mask, most, repeats, ways[0], call, "dst", where);
    const S* left = reached_source(a, mask, most, repeats, ways[1], call, "src0", where);
    const S* right = reached_source(b, mask, most, repeats, ways[2], call, "src1", where);
    check_meeting(to, ways[0], left, ways[1], mask, most, repeats, Meet::No, call, "src0", where);
    check_meeting(to, ways[0], right, ways[2], mask, most, repeats, Meet::No, call, "src1", where);
    each_run<3>(mask, most, repeats, ways, [&](const uint64_t (&o)[3], uint64_t n) { fused_lanes(op, moved(to, o[0]), moved(left, o[1]), moved(right,
        o[2]), n); });
}
// int16_t to 1 byte: 16 lanes fill half of a block of dst, and the other half stays as it was.
template <class D>
void deq_bytes(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<int16_t>& src, const Mask& mask, uint32_t repeats, const Walk& to_way,
               const Walk& from_way, bool by_vector, bool upper, Where where) {
    constexpr uint32_t most = 128;
    const uint64_t total = repeats_for(mask, most, repeats);
    const int16_t* from = reached_source(src, mask, most, repeats, from_way, "CastDeq", "src", where);
    const uint64_t far = total ? (total - 1) * to_way.repeat + (last_lane(mask, most) / 16) * to_way.block + 32 : 0;
    D* to = target_of_lanes(dst, far, "CastDeq", "dst", where);
    const Walk ways[2] = {Walk{2, to_way.block, to_way.repeat}, from_way};  // 2 bytes a lane: as many lanes a block as the source has
    each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) {
        for (uint64_t i = 0; i < n; ++i) {
            const uint64_t lane = o[0] % 32 / 2 + i;
            auto* place = reinterpret_cast<uint8_t*>(to) + o[0] / 32 * 32 + lane / 16 * 32 + (upper ? 16 : 0) + lane % 16;
            const int16_t* one = moved(from, o[1]) + i;
            join_lanes(place, 1, one, 2, 1);
            deq_lanes(place, one, lane % 16, 1, by_vector);
        }
    });
}
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_FUSED(Name, condition, text)                                                                                                  \
    template <class T, class U>                                                                                                              \
    void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint32_t count, OPMEND_WHERE) {         \
        static_assert(condition, #Name text);                                                                                                \
        ::opmend_sim::fused_count(::opmend_sim::Fused::Name, dst, src0, src1, count, #Name, where);                                           \
    }                                                                                                                                        \
    template <class T, class U, bool isSetMask = true>                                                                                       \
    void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask, ::opmend_sim::Repeat repeat,   \
              const BinaryRepeatParams& params, OPMEND_WHERE) {                                                                               \
        static_assert(condition, #Name text);                                                                                                \
        ::opmend_sim::fused_run(::opmend_sim::Fused::Name, dst, src0, src1,                                                                  \
                                ::opmend_sim::mask_of_length(mask, 256 / sizeof(U), isSetMask, #Name, where), repeat, params, #Name, where);  \
    }                                                                                                                                        \
    template <class T, class U, bool isSetMask = true>                                                                                       \
    void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint64_t mask[],                       \
              ::opmend_sim::Repeat repeat, const BinaryRepeatParams& params, OPMEND_WHERE) {                                                  \
        static_assert(condition, #Name text);                                                                                                \
        ::opmend_sim::fused_run(::opmend_sim::Fused::Name, dst, src0, src1, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params,      \
                                #Name, where);                                                                                               \
    }
#define OPMEND_RELU_CAST                                                                                                                     \
    ((std::is_same_v<U, float> && std::is_same_v<T, half>) || (std::is_same_v<U, half> && std::is_same_v<T, int8_t>) ||                       \
     (std::is_same_v<U, int16_t> && std::is_same_v<T, int8_t>))
OPMEND_FUSED(AddReluCast, OPMEND_RELU_CAST, " takes float to half, half to int8_t, int16_t to int8_t on dav-2201")
OPMEND_FUSED(SubReluCast, OPMEND_RELU_CAST, " takes float to half, half to int8_t, int16_t to int8_t on dav-2201")
#undef OPMEND_RELU_CAST
OPMEND_FUSED(MulCast, (std::is_same_v<U, half> && ::opmend_sim::one_of<T, int8_t, uint8_t>), " takes half to int8_t, uint8_t on dav-2201")
OPMEND_FUSED(AddDeqRelu, (std::is_same_v<U, int32_t> && std::is_same_v<T, half>), " takes int32_t to half")
#undef OPMEND_FUSED

inline void SetDeqScale(float scale, int16_t offset, bool signMode) {
    ::opmend_sim::Core& now = ::opmend_sim::core();
    now.deq_scale = scale;
    now.deq_offset = offset;
    now.deq_signed = signMode;
    now.deq_set = true;
}
// 16 scales in 128 bytes: the float's bits low, 9 bits of offset from bit 37, the sign mode in bit 46.
template <class T> void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& info, OPMEND_WHERE) {
    static_assert(sizeof(T) == 8, "SetDeqScale takes a tensor of uint64_t");
    T* to = ::opmend_sim::target(vdeq, 16, "SetDeqScale", "vdeq", where);
    for (int i = 0; i < 16; ++i)
        to[i] = static_cast<T>(::opmend_sim::float_bits(info.vdeqScale[i]) | (static_cast<uint64_t>(info.vdeqOffset[i]) & 0x1ff) << 37 |
                               static_cast<uint64_t>(info.vdeqSignMode[i]) << 46);
    ::opmend_sim::core().deq_vector = reinterpret_cast<const uint64_t*>(to);
    ::opmend_sim::core().deq_set = true;
}
namespace opmend_detail {
template <class T, class U, bool isVecDeq, bool halfBlock>
void cast_deq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const ::opmend_sim::Mask& mask, uint32_t repeats, const ::opmend_sim::Walk& to,
              const ::opmend_sim::Walk& from, ::opmend_sim::Where where) {
    static_assert((std::is_same_v<U, int16_t> && ::opmend_sim::one_of<T, int8_t, uint8_t>) || (std::is_same_v<U, int32_t> && std::is_same_v<T, half>),
                  "CastDeq takes int16_t to int8_t, uint8_t, and int32_t to half on dav-2201");
    if constexpr (std::is_same_v<U, int16_t>) ::opmend_sim::deq_bytes(dst, src, mask, repeats, to, from, isVecDeq, halfBlock, where);
    else {
        const ::opmend_sim::Walk ways[2] = {to, from};
        T* place = ::opmend_sim::reached_target_of_lanes(dst, mask, 64, repeats, to, "CastDeq", "dst", where);
        const U* data = ::opmend_sim::reached_source(src, mask, 64, repeats, from, "CastDeq", "src", where);
        ::opmend_sim::each_run<2>(mask, 64, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) {
            ::opmend_sim::convert_marked(::opmend_sim::moved(place, o[0]), ::opmend_sim::moved(data, o[1]), RoundMode::CAST_NONE, n, where);
        });
    }
}
}  // namespace opmend_detail
template <class T, class U, bool isVecDeq = true, bool halfBlock = true>
void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count, OPMEND_WHERE) {
    const ::opmend_sim::Walk to = sizeof(T) == 1 ? ::opmend_sim::walk<T>(1, 8) : ::opmend_sim::walk<T>(1, 4);
    opmend_detail::cast_deq<T, U, isVecDeq, halfBlock>(dst, src, ::opmend_sim::Mask{true, count, 0, 0}, 0, to, ::opmend_sim::walk<U>(1, 8), where);
}
template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, ::opmend_sim::Repeat repeat, const UnaryRepeatParams& p,
             OPMEND_WHERE) {
    opmend_detail::cast_deq<T, U, isVecDeq, halfBlock>(dst, src, ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(U),
                                                                                              isSetMask, "CastDeq", where),
                                                       ::opmend_sim::repeats_of(repeat, "CastDeq", where), ::opmend_sim::walk<T>(p.dstBlkStride,
                                                                                                                                 p.dstRepStride),
                                                       ::opmend_sim::walk<U>(p.srcBlkStride, p.srcRepStride), where);
}
template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], ::opmend_sim::Repeat repeat, const UnaryRepeatParams& p,
             OPMEND_WHERE) {
    opmend_detail::cast_deq<T, U, isVecDeq, halfBlock>(dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), ::opmend_sim::repeats_of(repeat,
        "CastDeq", where),
                                                       ::opmend_sim::walk<T>(p.dstBlkStride, p.dstRepStride), ::opmend_sim::walk<U>(p.srcBlkStride,
                                                           p.srcRepStride), where);
}

// Scalars.
template <class T, class U, RoundMode mode> U ScalarCast(T value) {
    static_assert((std::is_same_v<T, float> && ::opmend_sim::one_of<U, half, int32_t, bfloat16_t>) || ::opmend_sim::castable<U, T>(),
                  "ScalarCast does not take this pair of types");
    U result;
    ::opmend_sim::convert(&result, &value, mode, 1);
    return result;
}
// How many bits below the sign equal it, from the highest on (int64_t of CountBitsCntSameAsSignBit).
inline int64_t CountBitsCntSameAsSignBit(int64_t value) { return __builtin_clrsbll(value); }

}  // namespace AscendC
