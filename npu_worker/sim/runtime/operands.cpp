// The rarer checks of vector operands.
#include "opmend_sim/gather.h"

#include <algorithm>
#include <vector>

namespace opmend_sim {

__attribute__((noinline, cold)) void not_aligned(uint32_t alignment, const char* call, const char* name, const Buffer* buffer, Where where) {
    fail("ub-unaligned", std::string(call) + " " + name + ": the address is not a multiple of " + text(alignment) + " bytes", where, buffer);
}

__attribute__((noinline, cold)) void note_cut(const char* call, const char* what, uint64_t seen, Where where) {
    const bool repeat = what[0] == 'r';
    note(repeat ? "repeat-out-of-range" : "stride-out-of-range", "violation",
         std::string(call) + ": a " + what + " does not fit its bits (repeats and repeat strides have 8)" +
             (repeat ? "; the device sees " + text(seen) : "; the device sees its low bits"), where);
}

uint32_t repeats_in_range(int64_t repeat, const char* call, Where where) {
    if (__builtin_expect(repeat < 0 || repeat > 255, 0)) note_cut(call, "repeat", static_cast<uint8_t>(repeat), where);
    return static_cast<uint8_t>(repeat);
}

namespace {
// Blocks of 32 bytes that iteration r touches, as (address, iteration).
using Touched = std::vector<std::pair<uintptr_t, uint64_t>>;
Touched blocks_of(const void* data, const Walk& way, uint32_t last_lane, uint64_t repeats) {
    Touched blocks;
    const uint32_t a_block = 32 / way.size, count = last_lane / a_block + 1;
    blocks.reserve(repeats * count);
    for (uint64_t r = 0; r < repeats; ++r)
        for (uint32_t b = 0; b < count; ++b) blocks.emplace_back(reinterpret_cast<uintptr_t>(data) + r * way.repeat + b * way.block, r);
    return blocks;
}
}  // namespace

__attribute__((noinline, cold)) void find_overlap(const void* dst, const Walk& to, const void* src, const Walk& from, uint32_t, uint32_t last_lane,
                                                  uint64_t repeats, Meet meet, const char* call, const char* operand, Where where) {
    if (repeats == 0) return;
    const bool same_start = dst == src, narrowing = to.size < from.size, widening = to.size > from.size;
    const Touched wrote = blocks_of(dst, to, last_lane, repeats);
    Touched reads = blocks_of(src, from, last_lane, repeats);
    // Within one iteration. Narrowing in place reads an iteration whole before it writes to its front.
    const size_t per_write = wrote.size() / repeats, per_read = reads.size() / repeats;
    bool partial = false, later = false;
    for (uint64_t r = 0; r < repeats && !partial; ++r) {
        const bool equal =
            wrote[r * per_write].first == reads[r * per_read].first && to.size == from.size && (to.block == from.block || per_write == 1);
        if (equal || (same_start && narrowing)) continue;
        for (size_t w = 0; w < per_write && !partial; ++w)
            for (size_t k = 0; k < per_read && !partial; ++k) {
                const uintptr_t a = wrote[r * per_write + w].first, b = reads[r * per_read + k].first;
                partial = a < b + 32 && b < a + 32;
            }
    }
    // Widening what lies at the end of the target, as many kernels do to save a buffer, works where an iteration is read
    // whole before it is written; documents do not promise it.
    if (partial && !widening) {
        note("operand-overlap", "violation", std::string(call) + ": dst and " + operand + " overlap in part inside one iteration", where);
        return;
    }
    std::sort(reads.begin(), reads.end());
    for (const auto& [address, iteration] : wrote) {
        // A block of 32 bytes meets those that start less than 32 bytes before or after it.
        for (auto at = std::lower_bound(reads.begin(), reads.end(), std::make_pair(address - 31, static_cast<uint64_t>(0)));
             at != reads.end() && at->first < address + 32 && !later; ++at)
            later = at->second > iteration;
        if (later) break;
    }
    if (partial && !later)
        note("operand-overlap", "warning",
             std::string(call) + ": the last iteration overwrites the " + operand + " it reads; documents want them equal or apart", where);
    if (!later) return;
    if (meet == Meet::SecondSource && (to.repeat == 0 || from.repeat == 0)) return;
    note("operand-overlap-repeats", "violation",
         std::string(call) + ": an iteration reads from " + operand + " what an earlier iteration wrote to dst", where);
}

__attribute__((noinline, cold)) void check_offset(const void* at, uint64_t size, uint64_t reach, uint64_t own_bytes, uint64_t lane, const char* call,
                                                  const Buffer* buffer, Where where) {
    const std::string who = std::string(call) + ": the offset of lane " + text(lane);
    if (!core().memory(Space::UB).holds(at, size)) fail("ub-out-of-range", who + " leaves the unified buffer", where, buffer);
    note("ub-buffer-overrun", "violation", who + " reaches byte " + text(reach) + " of a tensor of " + text(own_bytes), where, buffer);
}
__attribute__((noinline, cold)) void offset_unaligned(uint64_t offset, uint64_t size, const char* call, Where where) {
    note("offset-unaligned", "violation", std::string(call) + ": offset " + text(offset) + " is not a multiple of " + text(size) + " bytes", where);
}

__attribute__((noinline)) void need_architecture(const uint32_t* allowed, size_t count, const char* call, const char* instead, Where where) {
    for (size_t i = 0; i < count; ++i)
        if (soc().architecture == allowed[i]) return;
    fail("not-on-this-soc", std::string(call) + " does not exist on " + soc().name + "; " + instead, where);
}

}  // namespace opmend_sim
