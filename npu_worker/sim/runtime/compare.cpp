// Comparisons to bits, and selection by bits.
#include "opmend_sim/compare.h"

namespace opmend_sim {
namespace {

using AscendC::CMPMODE;

template <class W, class F> void bits_of(uint8_t* bits, const W* a, const W* b, size_t b_step, size_t n, F holds) {
    const size_t whole = n / 8;
    for (size_t byte = 0; byte < whole; ++byte) {
        unsigned value = 0;
        if (b_step)
            for (size_t i = 0; i < 8; ++i) value |= static_cast<unsigned>(holds(a[byte * 8 + i], b[byte * 8 + i])) << i;
        else
            for (size_t i = 0; i < 8; ++i) value |= static_cast<unsigned>(holds(a[byte * 8 + i], b[0])) << i;
        bits[byte] = static_cast<uint8_t>(value);
    }
    const size_t rest = n - whole * 8;
    if (rest == 0) return;
    unsigned value = 0;
    for (size_t i = 0; i < rest; ++i) value |= static_cast<unsigned>(holds(a[whole * 8 + i], b[(whole * 8 + i) * b_step])) << i;
    bits[whole] = static_cast<uint8_t>((bits[whole] & ~((1u << rest) - 1)) | value);
}

template <class W> void by_mode(uint8_t* bits, const W* a, const W* b, size_t b_step, CMPMODE mode, size_t n) {
    switch (mode) {
        case CMPMODE::LT: return bits_of(bits, a, b, b_step, n, [](W x, W y) { return x < y; });
        case CMPMODE::GT: return bits_of(bits, a, b, b_step, n, [](W x, W y) { return x > y; });
        case CMPMODE::EQ: return bits_of(bits, a, b, b_step, n, [](W x, W y) { return x == y; });
        case CMPMODE::LE: return bits_of(bits, a, b, b_step, n, [](W x, W y) { return x <= y; });
        case CMPMODE::GE: return bits_of(bits, a, b, b_step, n, [](W x, W y) { return x >= y; });
        case CMPMODE::NE: return bits_of(bits, a, b, b_step, n, [](W x, W y) { return x != y; });
    }
}

}  // namespace

template <class T> void compare_lanes(uint8_t* bits, const T* a, const T* b, size_t b_step, CMPMODE mode, size_t n) {
    if constexpr (!is_narrow<T>) by_mode(bits, a, b, b_step, mode, n);
    else {
        constexpr size_t chunk = 256;
        float x[chunk], y[chunk];
        for (size_t start = 0; start < n; start += chunk) {
            const size_t m = n - start < chunk ? n - start : chunk;
            for (size_t i = 0; i < m; ++i) x[i] = static_cast<float>(a[start + i]);
            if (b_step)
                for (size_t i = 0; i < m; ++i) y[i] = static_cast<float>(b[start + i]);
            else y[0] = static_cast<float>(b[0]);
            by_mode(bits + start / 8, x, y, b_step, mode, m);
        }
    }
}

template <class T> void compare_marked(uint8_t* bits, const T* a, const T* b, size_t b_step, CMPMODE mode, size_t n) {
    const size_t bytes = (n + 7) / 8;
    mark_written(bits, bytes);
    if (__builtin_expect(unwritten(a, n * sizeof(T)) || (b_step && unwritten(b, n * sizeof(T))), 0))
        for (size_t byte = 0; byte < bytes; ++byte) {
            bool all = true;
            for (size_t i = byte * 8; i < n && i < byte * 8 + 8; ++i) all = all && (unwritten(a + i, sizeof(T)) || (b_step && unwritten(b + i,
                                                                                                                                        sizeof(T))));
            if (all) mark_unwritten(bits + byte, 1);
        }
    compare_lanes(bits, a, b, b_step, mode, n);
}

template <class T> void select_lanes(T* dst, const uint8_t* bits, uint64_t first, const T* yes, const T* no, size_t no_step, size_t n) {
    const bool clean = !unwritten(yes, n * sizeof(T)) && (no_step == 0 || !unwritten(no, n * sizeof(T))) &&
                       !unwritten(bits + first / 8, (first + n + 7) / 8 - first / 8);
    if (__builtin_expect(clean, 1)) mark_written(dst, n * sizeof(T));
    for (size_t i = 0; i < n; ++i) {
        const bool chosen = bit(bits, first + i);
        if (__builtin_expect(!clean, 0)) {
            const T* taken = chosen ? yes + i : no + i * no_step;
            if (unwritten(taken, sizeof(T)) || unwritten(bits + (first + i) / 8, 1)) mark_unwritten(dst + i, sizeof(T));
            else mark_written(dst + i, sizeof(T));
        }
        dst[i] = chosen ? yes[i] : no[i * no_step];
    }
}

void check_compare(CMPMODE mode, bool integers, uint64_t bytes, const char* call, Where where) {
    if (__builtin_expect(bytes % 256 != 0, 0))
        note("compare-unaligned", "violation", std::string(call) + " of " + text(bytes) + " bytes: not a multiple of 256", where);
    if (__builtin_expect(integers && mode != CMPMODE::EQ, 0))
        note("compare-mode", "violation", std::string(call) + " of int32_t: dav-2201 compares it for EQ alone", where);
}

const uint8_t* compare_mask_address(Where where) {
    const Core& now = core();
    const Memory& memory = now.memory(Space::UB);
    uint64_t word;
    std::memcpy(&word, now.compare_mask, 8);
    const auto base = reinterpret_cast<uint64_t>(memory.base);
    const uint8_t* tries[] = {reinterpret_cast<const uint8_t*>(word),
                              reinterpret_cast<const uint8_t*>((base & ~0xffffffffull) | (word & 0xffffffffull))};
    for (const uint8_t* at : tries)
        if (memory.holds(at, 16)) return at;
    fail("ub-out-of-range", "Select in mode 2: SetCmpMask was not given the address of a tensor", where);
}

#define OPMEND_COMPARE_OF(T)                                                                                    \
    template void compare_lanes<T>(uint8_t*, const T*, const T*, size_t, AscendC::CMPMODE, size_t);             \
    template void compare_marked<T>(uint8_t*, const T*, const T*, size_t, AscendC::CMPMODE, size_t);
OPMEND_COMPARE_OF(half)
OPMEND_COMPARE_OF(float)
OPMEND_COMPARE_OF(int32_t)
template void select_lanes<half>(half*, const uint8_t*, uint64_t, const half*, const half*, size_t, size_t);
template void select_lanes<float>(float*, const uint8_t*, uint64_t, const float*, const float*, size_t, size_t);

}  // namespace opmend_sim
