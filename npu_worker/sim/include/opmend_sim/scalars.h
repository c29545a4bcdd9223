// Scalar functions and marks that kernels use beside the tensor calls: rounding of counts to blocks, ASSERT, likely.
// Names by the kernels that use them without defining them (published operator packages) and by the interface's pages; constants of that kind
// stand in toolchains/lookups.py, which declares those that a source names and does not define.
#pragma once
#include "opmend_sim/sync.h"
#include "opmend_sim/vector.h"

// As ASCENDC_ASSERT. A device built without debugging skips it; a kernel that relies on that is worth a word.
#ifndef ASSERT
#define ASSERT(...) ASCENDC_ASSERT((__VA_ARGS__))
#endif
#ifndef likely
#define likely(condition) (__builtin_expect(!!(condition), 1))
#endif
#ifndef unlikely
#define unlikely(condition) (__builtin_expect(!!(condition), 0))
#endif
#define __local_mem__
#define __ssbuf__
#define __biasbuf__

namespace opmend_sim {
template <class... Ts> inline constexpr bool all_integers = ((std::is_integral_v<Ts> || std::is_enum_v<Ts>) && ...);
// The parameter packs of the functions below are never filled: a kernel's own function of the same name then fits better than ours.
#define OPMEND_ROUNDING(Name, zero, value)                                                                                                 \
    template <class A, class B, class... None, std::enable_if_t<::opmend_sim::all_integers<A, B> && sizeof...(None) == 0, int> = 0>          \
    constexpr auto Name(A a, B b, None...)->std::common_type_t<A, B> {                                                                      \
        using C = std::common_type_t<A, B>;                                                                                                \
        const C number = static_cast<C>(a), unit = static_cast<C>(b);                                                                       \
        return unit == 0 ? static_cast<C>(zero) : static_cast<C>(value);                                                                    \
    }
}  // namespace opmend_sim

namespace AscendC {

OPMEND_ROUNDING(DivCeil, 0, (number + unit - 1) / unit)
OPMEND_ROUNDING(CeilDivision, 0, (number + unit - 1) / unit)
OPMEND_ROUNDING(CeilDiv, 0, (number + unit - 1) / unit)
OPMEND_ROUNDING(Ceil, 0, (number + unit - 1) / unit)
OPMEND_ROUNDING(AlignUp, 0, (number + unit - 1) / unit * unit)
OPMEND_ROUNDING(CeilAlign, 0, (number + unit - 1) / unit * unit)
OPMEND_ROUNDING(AlignDown, 0, number / unit * unit)
#undef OPMEND_ROUNDING

// Static functions that published kernels call on it.
class AscendCUtils {
public:
    static constexpr int32_t GetBitSize(int32_t bytes) { return bytes * 8; }
    static constexpr int32_t GetC0Size() { return 32; }
    static constexpr int32_t GetC0Count(int32_t bytes) { return bytes > 0 ? 32 / bytes : 0; }
    template <class T, bool isSetMask = true> static void SetMask(const uint64_t& high, const uint64_t& low) {
        if constexpr (isSetMask) SetVectorMask<T>(high, low);
    }
    template <class T, bool isSetMask = true> static void SetMask(int32_t length) {
        if constexpr (isSetMask) SetVectorMask<T>(length);
    }
    template <class T> static void SetMaskCount() { SetMaskCountOf(); }
    template <class T> static void SetMaskNorm() { SetMaskNormOf(); }
    static void ResetMask() { ResetMaskOf(); }
    static void SetOverflow(uint64_t) {}

private:
    static void SetMaskCountOf();
    static void SetMaskNormOf();
    static void ResetMaskOf();
};
inline void AscendCUtils::SetMaskCountOf() { ::AscendC::SetMaskCount(); }
inline void AscendCUtils::SetMaskNormOf() { ::AscendC::SetMaskNorm(); }
inline void AscendCUtils::ResetMaskOf() { ::AscendC::ResetMask(); }

// Masks are bytes, and published kernels combine them as such. The page of these calls names 16-bit types alone.
#define OPMEND_BYTES(Name, op)                                                                                                           \
    inline void Name(const LocalTensor<uint8_t>& dst, const LocalTensor<uint8_t>& src0, const LocalTensor<uint8_t>& src1, int32_t count,   \
                     OPMEND_WHERE) {                                                                                                      \
        const uint64_t n = count > 0 ? static_cast<uint64_t>(count) : 0;                                                                  \
        uint8_t* to = ::opmend_sim::target_of_lanes(dst, n, #Name, "dst", where);                                                         \
        const uint8_t* a = ::opmend_sim::source(src0, n, #Name, "src0", where);                                                           \
        const uint8_t* b = ::opmend_sim::source(src1, n, #Name, "src1", where);                                                           \
        ::opmend_sim::join(to, a, b, n);                                                                                                  \
        for (uint64_t i = 0; i < n; ++i) to[i] = static_cast<uint8_t>(a[i] op b[i]);                                                      \
    }
OPMEND_BYTES(And, &)
OPMEND_BYTES(Or, |)
#undef OPMEND_BYTES
inline void Not(const LocalTensor<uint8_t>& dst, const LocalTensor<uint8_t>& src, int32_t count, OPMEND_WHERE) {
    const uint64_t n = count > 0 ? static_cast<uint64_t>(count) : 0;
    uint8_t* to = ::opmend_sim::target_of_lanes(dst, n, "Not", "dst", where);
    const uint8_t* from = ::opmend_sim::source(src, n, "Not", "src", where);
    ::opmend_sim::join(to, from, n);
    for (uint64_t i = 0; i < n; ++i) to[i] = static_cast<uint8_t>(~from[i]);
}

}  // namespace AscendC

// The device compiler's bit functions of scalars.
inline uint64_t sbitset0(uint64_t value, int64_t bit) { return value & ~(1ull << (bit & 63)); }
inline uint64_t sbitset1(uint64_t value, int64_t bit) { return value | 1ull << (bit & 63); }
inline int64_t sff0(uint64_t value) { return AscendC::ScalarGetSFFValue<0>(value); }
inline int64_t sff1(uint64_t value) { return AscendC::ScalarGetSFFValue<1>(value); }
inline int64_t bcnt0(uint64_t value) { return 64 - __builtin_popcountll(value); }
inline int64_t bcnt1(uint64_t value) { return __builtin_popcountll(value); }
template <class T, class... None, std::enable_if_t<std::is_integral_v<T> && sizeof...(None) == 0, int> = 0> int64_t clz(T value, None...) {
    return AscendC::ScalarCountLeadingZero(static_cast<uint64_t>(value));
}
using float16_t = half;
namespace AscendC {
inline void ICachePreLoad(int64_t) {}
}  // namespace AscendC
