// Compare, CompareScalar, Select: lanes against bits.
#pragma once
#include "opmend_sim/vector.h"

namespace opmend_sim {
template <class T> bool holds(AscendC::CMPMODE mode, T a, T b) {
    switch (mode) {
        case AscendC::CMPMODE::LT: return a < b;
        case AscendC::CMPMODE::GT: return a > b;
        case AscendC::CMPMODE::EQ: return a == b;
        case AscendC::CMPMODE::LE: return a <= b;
        case AscendC::CMPMODE::GE: return a >= b;
        case AscendC::CMPMODE::NE: return a != b;
    }
    return false;
}
inline void put_bit(uint8_t* bits, uint64_t at, bool value) {
    const auto mask = static_cast<uint8_t>(1u << (at % 8));
    bits[at / 8] = static_cast<uint8_t>(value ? bits[at / 8] | mask : bits[at / 8] & ~mask);
}
inline bool bit(const uint8_t* bits, uint64_t at) { return bits[at / 8] >> (at % 8) & 1; }
// Writes n bits, one lane each. The second source steps by b_step lanes (0: a scalar).
template <class T> void compare_lanes(uint8_t* bits, const T* a, const T* b, size_t b_step, AscendC::CMPMODE mode, size_t n) {
    for (size_t start = 0; start < n; start += 8) {
        uint8_t byte = 0;
        const size_t m = n - start < 8 ? n - start : 8;
        for (size_t i = 0; i < m; ++i)
            byte = static_cast<uint8_t>(byte | (static_cast<uint8_t>(holds(mode, static_cast<Wide<T>>(a[start + i]), static_cast<Wide<T>>(b[(start + i) * b_step]))) << i));
        bits[start / 8] = m == 8 ? byte : static_cast<uint8_t>((bits[start / 8] & ~((1u << m) - 1)) | byte);
    }
}
template <class T, class U>
void compare_repeats(const AscendC::LocalTensor<U>& dst, const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>* b, T scalar, AscendC::CMPMODE mode,
                     const Mask& mask, uint8_t repeat, const Walk& way_a, const Walk& way_b, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const T* left = reached_source(a, mask, most, repeat, way_a, call, "src0", where);
    const T* right = b ? reached_source(*b, mask, most, repeat, way_b, call, "src1", where) : nullptr;
    auto* bits = reinterpret_cast<uint8_t*>(target(dst, (static_cast<uint64_t>(repeat) * most / 8 + sizeof(U) - 1) / sizeof(U), call, "dst", where));
    for (uint32_t r = 0; r < repeat; ++r)
        for (uint32_t lane = 0; lane < most; ++lane) {
            const bool on = mask.counter ? static_cast<uint64_t>(r) * most + lane < mask.count : (lane < 64 ? mask.low >> lane & 1 : mask.high >> (lane - 64) & 1);
            const bool result = on && holds(mode, *moved(left, way_a.at(r, lane)), right ? *moved(right, way_b.at(r, lane)) : scalar);
            put_bit(bits, static_cast<uint64_t>(r) * most + lane, result);
        }
}
template <class T> void check_compare_count(uint32_t count, const char* call, Where where) {
    if (static_cast<uint64_t>(count) * sizeof(T) % 256 != 0)
        note("compare-unaligned", "violation", std::string(call) + " of " + text(static_cast<uint64_t>(count) * sizeof(T)) + " bytes: not a multiple of 256", where);
}
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_COMPARABLE(Name) static_assert(::opmend_sim::one_of<T, half, float, int32_t>, #Name " takes half, float, int32_t on dav-2201")
template <class T, class U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, uint32_t count, OPMEND_WHERE) {
    OPMEND_COMPARABLE(Compare);
    ::opmend_sim::check_compare_count<T>(count, "Compare", where);
    auto* bits = reinterpret_cast<uint8_t*>(::opmend_sim::target(dst, ((count + 7) / 8 + sizeof(U) - 1) / sizeof(U), "Compare", "dst", where));
    ::opmend_sim::compare_lanes(bits, ::opmend_sim::source(src0, count, "Compare", "src0", where), ::opmend_sim::source(src1, count, "Compare", "src1", where), 1, mode, count);
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask, uint8_t repeat,
             const BinaryRepeatParams& p, OPMEND_WHERE) {
    OPMEND_COMPARABLE(Compare);
    ::opmend_sim::compare_repeats(dst, src0, &src1, T(), mode, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Compare", where), repeat,
                                  ::opmend_sim::walk<T>(p.src0BlkStride, p.src0RepStride), ::opmend_sim::walk<T>(p.src1BlkStride, p.src1RepStride), "Compare", where);
}
template <class T, class U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src, const ::opmend_sim::Same<T> scalar, CMPMODE mode, uint32_t count, OPMEND_WHERE) {
    OPMEND_COMPARABLE(CompareScalar);
    ::opmend_sim::check_compare_count<T>(count, "CompareScalar", where);
    auto* bits = reinterpret_cast<uint8_t*>(::opmend_sim::target(dst, ((count + 7) / 8 + sizeof(U) - 1) / sizeof(U), "CompareScalar", "dst", where));
    const T one = scalar;
    ::opmend_sim::compare_lanes(bits, static_cast<const T*>(::opmend_sim::source(src, count, "CompareScalar", "src", where)), &one, 0, mode, count);
}
template <class T, class U, bool isSetMask = true>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src, const ::opmend_sim::Same<T> scalar, CMPMODE mode, const uint64_t mask,
                   uint8_t repeat, const UnaryRepeatParams& p, OPMEND_WHERE) {
    OPMEND_COMPARABLE(CompareScalar);
    const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(p.srcBlkStride, p.srcRepStride);
    ::opmend_sim::compare_repeats<T, U>(dst, src, nullptr, scalar, mode, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "CompareScalar", where),
                                        repeat, way, way, "CompareScalar", where);
}
#undef OPMEND_COMPARABLE

namespace opmend_detail {
// The bit of a lane: mode 0 uses the first repeat's bits for all repeats, the others go on.
inline uint64_t select_bit(SELMODE mode, uint64_t lane, uint32_t most) { return mode == SELMODE::VSEL_CMPMASK_SPR ? lane % most : lane; }
template <class T, class U>
void select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, const LocalTensor<T>* src1, T scalar, SELMODE mode,
            const ::opmend_sim::Mask& mask, uint32_t repeat, const BinaryRepeatParams& p, ::opmend_sim::Where where) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Select takes half, float on dav-2201");
    constexpr uint32_t most = 256 / sizeof(T);
    const ::opmend_sim::Walk ways[3] = {::opmend_sim::walk<T>(p.dstBlkStride, p.dstRepStride), ::opmend_sim::walk<T>(p.src0BlkStride, p.src0RepStride),
                                        ::opmend_sim::walk<T>(p.src1BlkStride, p.src1RepStride)};
    const uint64_t repeats = mask.counter ? (mask.count + most - 1) / most : repeat;
    const uint64_t lanes = mask.counter ? mask.count : repeats * most;
    const uint64_t needed = mode == SELMODE::VSEL_CMPMASK_SPR && lanes > most ? most : lanes;
    const auto* raw = reinterpret_cast<const uint8_t*>(::opmend_sim::source(bits, ((needed + 7) / 8 + sizeof(U) - 1) / sizeof(U), "Select", "selMask", where));
    T* to = ::opmend_sim::reached_target(dst, mask, most, repeat, ways[0], "Select", "dst", where);
    const T* yes = ::opmend_sim::reached_source(src0, mask, most, repeat, ways[1], "Select", "src0", where);
    const T* no = src1 ? ::opmend_sim::reached_source(*src1, mask, most, repeat, ways[2], "Select", "src1", where) : nullptr;
    for (uint64_t r = 0; r < repeats; ++r)
        for (uint32_t lane = 0; lane < most; ++lane) {
            const uint64_t flat = r * most + lane;
            const bool on = mask.counter ? flat < mask.count : (lane < 64 ? mask.low >> lane & 1 : mask.high >> (lane - 64) & 1);
            if (!on) continue;
            const bool chosen = ::opmend_sim::bit(raw, select_bit(mode, flat, most));
            *::opmend_sim::moved(to, ways[0].at(r, lane)) =
                chosen ? *::opmend_sim::moved(yes, ways[1].at(r, lane)) : no ? *::opmend_sim::moved(no, ways[2].at(r, lane)) : scalar;
        }
}
}  // namespace opmend_detail
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, uint32_t count, OPMEND_WHERE) {
    opmend_detail::select(dst, selMask, src0, &src1, T(0), mode, ::opmend_sim::Mask{true, count, 0, 0}, 0, BinaryRepeatParams(), where);
}
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, ::opmend_sim::Same<T> src1, SELMODE mode, uint32_t count, OPMEND_WHERE) {
    opmend_detail::select<T, U>(dst, selMask, src0, nullptr, src1, mode, ::opmend_sim::Mask{true, count, 0, 0}, 0, BinaryRepeatParams(), where);
}
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, uint64_t mask,
            uint8_t repeat, const BinaryRepeatParams& params, OPMEND_WHERE) {
    opmend_detail::select(dst, selMask, src0, &src1, T(0), mode, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Select", where), repeat, params, where);
}
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, ::opmend_sim::Same<T> src1, SELMODE mode, uint64_t mask,
            uint8_t repeat, const BinaryRepeatParams& params, OPMEND_WHERE) {
    opmend_detail::select<T, U>(dst, selMask, src0, nullptr, src1, mode, ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "Select", where), repeat, params, where);
}

}  // namespace AscendC
