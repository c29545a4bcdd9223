// Copies between global memory and local memories, and between local memories.
#include "opmend_sim/copy.h"
#include "opmend_sim/schedule.h"

namespace opmend_sim {

uint64_t truncated(uint64_t bytes, const char* call, Where where) {
    if (bytes % 32 != 0)
        note("datacopy-unaligned", "violation", std::string(call) + " of " + text(bytes) + " bytes: not a multiple of 32, the last " +
             text(bytes % 32) + " bytes are not copied", where);
    else if (bytes == 0)
        note("datacopy-empty", "warning", std::string(call) + " of 0 bytes", where);
    return bytes / 32 * 32;
}

namespace {

constexpr uint64_t kTail = 32;  // torch_npu asks for 32 bytes more than a tensor needs: whole blocks at its end hurt nobody
constexpr uint64_t kAllocationSlack = 512;  // device allocations are rounded up, so a small overrun traps nothing

uint64_t reach_of(const CopyShape& shape, uint64_t step, uint64_t bytes) { return shape.blocks ? (shape.blocks - 1) * step + bytes : 0; }

// The bytes of [at, at + bytes) that lie inside the range: skip from the front, then keep.
struct Clip {
    uint64_t skip, keep;
};
Clip clip(const uint8_t* at, uint64_t bytes, const Range& range) {
    const auto begin = reinterpret_cast<uintptr_t>(range.begin), end = reinterpret_cast<uintptr_t>(range.end), from = reinterpret_cast<uintptr_t>(at);
    if (from >= end || from + bytes <= begin) return {bytes, 0};
    const uint64_t skip = from < begin ? begin - from : 0;
    const uint64_t last = from + bytes > end ? end - from : bytes;
    return {skip, last - skip};
}

// Whether [at, at + reach) lies inside the side's storage.
bool check_global(const Global& side, uint64_t reach, const char* call, const char* rule, Where where, bool writes = false) {
    if (!side.data) fail("gm-null", std::string(call) + ": the global address is null", where);
    const auto begin = reinterpret_cast<uintptr_t>(side.range.begin), end = reinterpret_cast<uintptr_t>(side.range.end),
               at = reinterpret_cast<uintptr_t>(side.data);
    if (at >= begin && at + reach <= end) return true;
    if (!side.range.begin) fail("gm-unknown-address", std::string(call) + ": " + kUnknownAddress, where);
    const std::string what = std::string(call) + ": bytes " + std::to_string(static_cast<int64_t>(at - begin)) + " to " +
                             std::to_string(static_cast<int64_t>(at - begin + reach)) + " of a storage of " + text(end - begin);
    if (at + kAllocationSlack < begin || at > end + kAllocationSlack || at + reach > end + (1u << 21)) fail(rule, what, where);
    note(rule, writes && (at < begin || at + reach > end + kTail) ? "error" : "violation", what, where);
    return false;
}

void check_local(const Local& side, uint64_t reach, const char* call, const char* operand, bool writes, pipe_t pipe, Where where) {
    const Memory& memory = core().memory(space_of(side.position));
    if ((reinterpret_cast<uintptr_t>(side.data) & (memory.alignment - 1)) != 0 || reach > side.limit || !memory.holds(side.data, reach))
        check_span(side.data, reach, side.limit, side.position, side.buffer, call, operand, where);
    if (side.buffer && side.buffer->state == BufferState::Plain) touch(side.buffer, side.data, reach, writes, pipe, call, where);
}
// The pipe of a copy inside a core: the vector unit inside the unified buffer, else the memory engines.
pipe_t pipe_between(const Local& from, const Local& to) {
    const Space source = space_of(from.position), destination = space_of(to.position);
    if (source == Space::UB) return destination == Space::UB ? PIPE_V : PIPE_MTE3;
    return source == Space::L1 ? PIPE_MTE1 : PIPE_FIX;
}

// In a MIX kernel all its cores run the whole source, and a core lacks the unit that some of it is for: there it has no effect.
bool writes_here(const Local& from, const char* call, Where where) {
    const Core& now = core();
    const bool vector = space_of(from.position) == Space::UB;
    if (vector ? now.has_vector() : now.has_cube()) return true;
    if (!launch_now().task.mix)
        note("wrong-core", "violation",
             std::string(call) + " out of " + position_name(from.position) + " on an " +
                 (vector ? "AIC, which has no unified buffer" : "AIV, which has no cube unit") + ": nothing is copied",
             where, from.buffer);
    return false;
}

template <class T> void combine_as(uint8_t* to, const uint8_t* from, uint64_t bytes, Atomic how) {
    for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
        T a, b;
        std::memcpy(&a, to + i, sizeof(T));
        std::memcpy(&b, from + i, sizeof(T));
        const T result = how == Atomic::Add ? static_cast<T>(a + b) : how == Atomic::Max ? (b > a ? b : a) : (b < a ? b : a);
        std::memcpy(to + i, &result, sizeof(T));
    }
}

void combine(uint8_t* to, const uint8_t* from, uint64_t bytes, Atomic how, Element element, Where where) {
    switch (element) {
        case Element::Float: return combine_as<float>(to, from, bytes, how);
        case Element::Half: return combine_as<half>(to, from, bytes, how);
        case Element::Bfloat: return combine_as<bfloat16_t>(to, from, bytes, how);
        case Element::Int8: return combine_as<int8_t>(to, from, bytes, how);
        case Element::Int16: return combine_as<int16_t>(to, from, bytes, how);
        case Element::Int32: return combine_as<int32_t>(to, from, bytes, how);
        case Element::Other: unsupported("an atomic copy of this element type", where);
    }
}

// Says that the core writes there, if all of it lies inside the storage.
void use_stored(const Global& to, const CopyShape& shape, bool inside, const char* call, Where where) {
    if (inside)
        used_global(to.data, shape.bytes, shape.blocks, shape.destination_step, core().atomic == Atomic::None ? GlobalUse::Write : GlobalUse::Atomic,
                    call, where);
}

// Writes what lies inside the storage, as SetAtomic asks.
void put_global(const Global& to, const uint8_t* from, const CopyShape& shape, Element element, Where where) {
    const Atomic how = core().atomic;
    for (uint64_t i = 0; i < shape.blocks; ++i) {
        uint8_t* d = to.data + i * shape.destination_step;
        const uint8_t* s = from + i * shape.source_step;
        const Clip part = clip(d, shape.bytes, to.range);
        if (how == Atomic::None) std::memcpy(d + part.skip, s + part.skip, part.keep);
        else combine(d + part.skip, s + part.skip, part.keep, how, element, where);
    }
}

}  // namespace

void copy_in(Local to, Global from, CopyShape shape, const char* call, Where where) {
    if (shape.blocks == 0 || shape.bytes == 0) return;
    check_local(to, reach_of(shape, shape.destination_step, shape.bytes), call, "dst", true, PIPE_MTE2, where);
    step(core(), 16, where);
    core().cost.move(Space::Global, space_of(to.position), shape.blocks * shape.bytes);
    if (check_global(from, reach_of(shape, shape.source_step, shape.bytes), call, "gm-read-out-of-range", where))
        used_global(from.data, shape.bytes, shape.blocks, shape.source_step, GlobalUse::Read, call, where);
    for (uint64_t i = 0; i < shape.blocks; ++i) {
        uint8_t* d = to.data + i * shape.destination_step;
        const uint8_t* s = from.data + i * shape.source_step;
        const Clip part = clip(s, shape.bytes, from.range);
        if (part.keep != shape.bytes) forget_local(d, shape.bytes);
        std::memcpy(d + part.skip, s + part.skip, part.keep);
        mark_written(d + part.skip, part.keep);
    }
}

void copy_in_padded(Local to, Global from, CopyShape shape, Padding padding, const char* call, Where where) {
    if (shape.blocks > 4095 || shape.bytes > 2097151)
        fail("datacopypad-limits", std::string(call) + ": blockCount " + text(shape.blocks) + " (most 4095), blockLen " + text(shape.bytes) +
             " bytes (most 2097151)", where);
    if (padding.left > 32 || padding.right > 32)
        fail("datacopypad-limits", std::string(call) + ": left padding " + text(padding.left) + " and right padding " + text(padding.right) +
             " bytes; most 32 each", where);
    if (shape.blocks == 0 || shape.bytes == 0) {
        note("datacopy-empty", "warning", std::string(call) + " of 0 bytes", where);
        return;
    }
    const uint64_t row = (padding.left + shape.bytes + padding.right + 31) / 32 * 32;
    check_local(to, reach_of(shape, shape.destination_step, row), call, "dst", true, PIPE_MTE2, where);
    step(core(), 16, where);
    core().cost.move(Space::Global, space_of(to.position), shape.blocks * shape.bytes);
    const bool inside = check_global(from, reach_of(shape, shape.source_step, shape.bytes), call, "gm-read-out-of-range", where);
    if (inside) used_global(from.data, shape.bytes, shape.blocks, shape.source_step, GlobalUse::Read, call, where);
    auto fill = [&](uint8_t* d) {
        for (uint64_t k = 0; k < padding.left; k += padding.size) std::memcpy(d + k, &padding.value, padding.size);
        for (uint64_t k = 0; k < padding.right; k += padding.size) std::memcpy(d + padding.left + shape.bytes + k, &padding.value, padding.size);
    };
    // Rows that are filled whole: nothing is cut off, nothing is left unspecified.
    if (inside && padding.left + shape.bytes + padding.right == row) {
        for (uint64_t i = 0; i < shape.blocks; ++i) {
            uint8_t* d = to.data + i * shape.destination_step;
            std::memcpy(d + padding.left, from.data + i * shape.source_step, shape.bytes);
            fill(d);
            if (shape.destination_step != row) mark_written(d, row);
        }
        if (shape.destination_step == row) mark_written(to.data, shape.blocks * row);
        return;
    }
    for (uint64_t i = 0; i < shape.blocks; ++i) {
        uint8_t* d = to.data + i * shape.destination_step;
        const uint8_t* s = from.data + i * shape.source_step;
        if (row != shape.bytes) {  // what the padding does not name is unspecified
            const uint64_t from_end = (padding.left + shape.bytes) / 32 * 32;
            if (padding.left) forget_local(d, 32);
            forget_local(d + from_end, row - from_end);
        }
        const Clip part = clip(s, shape.bytes, from.range);
        if (part.keep != shape.bytes) forget_local(d, row);
        std::memcpy(d + padding.left + part.skip, s + part.skip, part.keep);
        mark_written(d, padding.left);
        mark_written(d + padding.left + part.skip, part.keep);
        mark_written(d + padding.left + shape.bytes, padding.right);
        fill(d);
    }
}

void copy_out(Global to, Local from, CopyShape shape, Element element, const char* call, Where where) {
    if (shape.blocks == 0 || shape.bytes == 0) return;
    check_local(from, reach_of(shape, shape.source_step, shape.bytes), call, "src", false, PIPE_MTE3, where);
    step(core(), 16, where);
    if (!writes_here(from, call, where)) return;
    core().cost.move(space_of(from.position), Space::Global, shape.blocks * shape.bytes);
    use_stored(to, shape, check_global(to, reach_of(shape, shape.destination_step, shape.bytes), call, "gm-write-out-of-range", where, true), call,
               where);
    for (uint64_t i = 0; i < shape.blocks; ++i) {
        const uint8_t* s = from.data + i * shape.source_step;
        const Clip part = clip(to.data + i * shape.destination_step, shape.bytes, to.range);
        observe(s + part.skip, part.keep, call, "src", where, from.buffer);
    }
    put_global(to, from.data, shape, element, where);
}

void store_global(Global to, const void* from, CopyShape shape, Element element, const char* call, Where where) {
    if (shape.blocks == 0 || shape.bytes == 0) return;
    use_stored(to, shape, check_global(to, reach_of(shape, shape.destination_step, shape.bytes), call, "gm-write-out-of-range", where, true), call,
               where);
    put_global(to, static_cast<const uint8_t*>(from), shape, element, where);
}

void load_global(void* to, Global from, uint64_t bytes, const char* call, Where where) {
    if (check_global(from, bytes, call, "gm-read-out-of-range", where)) used_global(from.data, bytes, 1, 0, GlobalUse::Read, call, where);
    const Clip part = clip(from.data, bytes, from.range);
    if (part.keep != bytes) poison(to, bytes);
    std::memcpy(static_cast<uint8_t*>(to) + part.skip, from.data + part.skip, part.keep);
}

void copy_within(Local to, Local from, CopyShape shape, const char* call, Where where) {
    if (shape.blocks == 0 || shape.bytes == 0) return;
    const pipe_t pipe = pipe_between(from, to);
    step(core(), 16, where);
    core().cost.move(space_of(from.position), space_of(to.position), shape.blocks * shape.bytes);
    check_local(to, reach_of(shape, shape.destination_step, shape.bytes), call, "dst", true, pipe, where);
    check_local(from, reach_of(shape, shape.source_step, shape.bytes), call, "src", false, pipe, where);
    for (uint64_t i = 0; i < shape.blocks; ++i) {
        join(to.data + i * shape.destination_step, from.data + i * shape.source_step, shape.bytes);
        std::memmove(to.data + i * shape.destination_step, from.data + i * shape.source_step, shape.bytes);
    }
}

}  // namespace opmend_sim
