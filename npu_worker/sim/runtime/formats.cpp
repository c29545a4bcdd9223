// Transposes of blocks and planes.
#include "opmend_sim/formats.h"

#include <vector>

namespace opmend_sim {

void transpose_blocks(uint8_t* const dst[16], const uint8_t* const src[16], uint32_t size, bool dst_high, bool src_high) {
    // 512 bytes at most are read before one is written, so blocks may be transposed in place.
    uint8_t kept[16][32];
    bool lost[16][32] = {};
    bool some = false;
    for (int j = 0; j < 16; ++j) {
        std::memcpy(kept[j], src[j], 32);
        if (__builtin_expect(!unwritten(src[j], 32), 1)) continue;
        some = true;
        for (int i = 0; i < 32; ++i) lost[j][i] = unwritten(src[j] + i, 1);
    }
    const uint32_t lanes = size == 4 ? 8 : 16, from_half = size == 1 && src_high ? 16 : 0, to_half = size == 1 && dst_high ? 16 : 0;
    for (uint32_t i = 0; i < lanes; ++i)
        for (uint32_t j = 0; j < 16; ++j) {
            // 4-byte elements: 16 of a kind fill two destination blocks.
            uint8_t* to = size == 4 ? dst[2 * i + j / 8] + (j % 8) * 4 : dst[i] + to_half + j * size;
            std::memcpy(to, kept[j] + from_half + i * size, size);
            if (__builtin_expect(some && lost[j][from_half + i * size], 0)) mark_unwritten(to, size);
            else mark_written(to, size);
        }
}

void transpose_planes(void* dst, const void* src, uint64_t outer, uint64_t rows, uint64_t columns, uint32_t size) {
    const uint64_t bytes = rows * columns * size;
    std::vector<uint8_t> kept(bytes);
    for (uint64_t plane = 0; plane < outer; ++plane) {
        const auto* from = static_cast<const uint8_t*>(src) + plane * bytes;
        auto* to = static_cast<uint8_t*>(dst) + plane * bytes;
        std::memcpy(kept.data(), from, bytes);
        const bool some = unwritten(from, bytes);
        std::vector<bool> lost(some ? rows * columns : 0);
        for (uint64_t i = 0; some && i < rows * columns; ++i) lost[i] = unwritten(from + i * size, size);
        mark_written(to, bytes);
        for (uint64_t i = 0; i < rows; ++i)
            for (uint64_t k = 0; k < columns; ++k) {
                uint8_t* place = to + (k * rows + i) * size;
                std::memcpy(place, kept.data() + (i * columns + k) * size, size);
                if (some && lost[i * columns + k]) mark_unwritten(place, size);
            }
    }
}

void check_transdata_address(const void* at, const char* operand, Where where) {
    const Memory& memory = core().memory(Space::UB);
    const std::string who = std::string("TransDataTo5HD ") + operand;
    if (!memory.holds(at, 32)) fail("ub-out-of-range", who + ": an address is outside the unified buffer; take it from a tensor's GetPhyAddr", where);
    if (reinterpret_cast<uintptr_t>(at) % 32 != 0) fail("ub-unaligned", who + ": an address is not a multiple of 32 bytes", where);
}

}  // namespace opmend_sim
