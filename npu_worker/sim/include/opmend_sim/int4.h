// Four-bit integers: two in a byte, the first in its low half. Offsets and counts of tensors are in elements; sizeof is one byte, so a DataCopy of
// n elements moves n bytes, as published kernels (ggml's) rely on. Cast to and from half, by the Cast page.
#pragma once
#include "opmend_sim/convert.h"

namespace opmend_sim {
inline void check_int4(uint64_t count, Where where) {
    if (count % 2 != 0) fail("int4-count", "Cast with int4b_t: " + text(count) + " elements are no whole number of bytes", where);
}
}  // namespace opmend_sim

namespace AscendC {

inline void Cast(const LocalTensor<half>& dst, const LocalTensor<int4b_t>& src, const RoundMode& mode, const uint32_t count, OPMEND_WHERE) {
    ::opmend_sim::check_int4(count, where);
    ::opmend_sim::check_cast_mode(mode, 1, where);
    half* to = ::opmend_sim::target_of_lanes(dst, count, "Cast", "dst", where);
    const int8_t* from = ::opmend_sim::source(src.ReinterpretCast<int8_t>(), count / 2, "Cast", "src", where);
    for (uint32_t i = count / 2; i-- > 0;) {
        const int8_t both = from[i];
        const bool unknown = ::opmend_sim::unwritten(from + i, 1);
        to[2 * i] = static_cast<half>((both & 7) - (both & 8));
        to[2 * i + 1] = static_cast<half>(both >> 4);
        if (unknown) ::opmend_sim::mark_unwritten(to + 2 * i, 4);
        else ::opmend_sim::mark_written(to + 2 * i, 4);
    }
}
inline void Cast(const LocalTensor<int4b_t>& dst, const LocalTensor<half>& src, const RoundMode& mode, const uint32_t count, OPMEND_WHERE) {
    ::opmend_sim::check_int4(count, where);
    ::opmend_sim::check_cast_mode(mode, 0b111111, where);
    int8_t* to = ::opmend_sim::target_of_lanes(dst.ReinterpretCast<int8_t>(), count / 2, "Cast", "dst", where);
    const half* from = ::opmend_sim::source(src, count, "Cast", "src", where);
    for (uint32_t i = 0; i < count / 2; ++i) {
        int8_t pair[2];
        ::opmend_sim::convert(pair, from + 2 * i, mode, 2);
        for (int8_t& one : pair) one = one < -8 ? -8 : one > 7 ? 7 : one;
        const bool unknown = ::opmend_sim::unwritten(from + 2 * i, 4);
        to[i] = static_cast<int8_t>((pair[0] & 15) | (pair[1] & 15) << 4);
        if (unknown) ::opmend_sim::mark_unwritten(to + i, 1);
        else ::opmend_sim::mark_written(to + i, 1);
    }
}

}  // namespace AscendC
