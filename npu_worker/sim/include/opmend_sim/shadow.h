// The shadow of local memory: one bit a byte, set where nothing was written. As in a memory sanitizer, computing on unwritten data is no
// finding: the bits travel with the data (`join`), and a finding is made where they become visible (`observe`): in a copy to global memory,
// a scalar read, a reduction.
#pragma once
#include "opmend_sim/core.h"

namespace opmend_sim {

// Where an address lies in the running core's local memory. Addresses outside it (a loop's own scratch) have no shadow: they count as written.
inline uint64_t arena_offset(const void* data) { return static_cast<uint64_t>(static_cast<const uint8_t*>(data) - current_core->arena); }
bool unwritten_far(const void* data, uint64_t bytes);
void mark_written_far(void* data, uint64_t bytes);
inline bool unwritten(const void* data, uint64_t bytes) {
    if (__builtin_expect(current_core == nullptr, 0)) return false;
    const uint64_t at = arena_offset(data);
    if (bytes + at % 8 > 8 || at >= current_core->arena_bytes) return unwritten_far(data, bytes);
    return current_core->shadow[at / 8] >> (at % 8) & ((1u << bytes) - 1);
}
inline void mark_written(void* data, uint64_t bytes) {
    if (__builtin_expect(current_core == nullptr, 0)) return;
    const uint64_t at = arena_offset(data);
    if (bytes + at % 8 > 8 || at >= current_core->arena_bytes) return mark_written_far(data, bytes);
    current_core->shadow[at / 8] = static_cast<uint8_t>(current_core->shadow[at / 8] & ~(((1u << bytes) - 1) << (at % 8)));
}
void mark_unwritten(void* data, uint64_t bytes);
// dst's bytes are unwritten where a source's bytes are. All have `bytes` bytes.
void join(void* dst, const void* a, const void* b, uint64_t bytes);
inline void join(void* dst, const void* a, uint64_t bytes) { join(dst, a, a, bytes); }
// dst += f(sources): unwritten where dst itself was, too.
void join_into(void* dst, const void* a, const void* b, uint64_t bytes);
// As join for lanes of unlike size.
void join_lanes(void* dst, uint32_t dst_size, const void* src, uint32_t src_size, uint64_t lanes);
// Finding read-never-written if any of the bytes is unwritten. Returns whether one is.
bool observe(const void* data, uint64_t bytes, const char* call, const char* operand, Where where, const Buffer* buffer = nullptr);
bool report_unwritten(const void* data, uint64_t bytes, const char* call, const char* operand, Where where, const Buffer* buffer);

}  // namespace opmend_sim
