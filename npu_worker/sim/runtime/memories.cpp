// Local memories: poison, the shadow, what InitBuffer takes, and the checks of operands.
#include <cstdlib>

#include "opmend_sim/pipe.h"
#include "opmend_sim/schedule.h"

namespace opmend_sim {
namespace {

uint32_t poison_word() {
    static const uint32_t word = [] {
        const char* text = std::getenv("OPMEND_SIM_POISON");
        return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 16)) : 0x7fc17fc1u;
    }();
    return word;
}

// One rule name a memory: "ub-overflow", "l1-overflow" and so on. The strings live as long as the process.
constexpr const char* kSpaceNames[] = {"ub", "l1", "l0a", "l0b", "l0c", "bt", "fb", "gm"};
constexpr const char* kSpaceTexts[] = {"the unified buffer", "L1", "L0A", "L0B", "L0C", "the bias table", "the fixpipe buffer", "global memory"};
const char* rule_of(Space space, const char* ending) {
    static std::string made[8][4];
    const int which = ending[1] == 'o' ? (ending[2] == 'v' ? 0 : 1) : ending[1] == 'u' ? 2 : 3;
    std::string& name = made[static_cast<int>(space)][which];
    if (name.empty()) name = std::string(kSpaceNames[static_cast<int>(space)]) + ending;
    return name.c_str();
}
const char* text_of(Space space) { return kSpaceTexts[static_cast<int>(space)]; }

// The part of [data, data + bytes) that has a shadow, as bit positions.
struct Bits {
    uint64_t begin, end;
};
Bits bits_of(const void* data, uint64_t bytes) {
    const Core* now = current_core;
    if (!now) return {0, 0};
    const uint64_t at = arena_offset(data);
    if (at >= now->arena_bytes) return {0, 0};
    return {at, at + bytes > now->arena_bytes ? now->arena_bytes : at + bytes};
}
// Mask of the bits of byte `at / 8` that lie in [begin, end).
uint8_t edge(uint64_t begin, uint64_t end, uint64_t byte) {
    const uint64_t low = begin > byte * 8 ? begin - byte * 8 : 0, high = end < byte * 8 + 8 ? end - byte * 8 : 8;
    return static_cast<uint8_t>(((1u << high) - 1) & ~((1u << low) - 1));
}
bool any(const uint8_t* from, uint64_t bytes) {
    uint64_t i = 0, found = 0;
    for (; i + 32 <= bytes; i += 32) {
        uint64_t words[4];
        std::memcpy(words, from + i, 32);
        if (words[0] | words[1] | words[2] | words[3]) return true;
    }
    for (; i + 4 <= bytes; i += 4) {
        uint32_t word;
        std::memcpy(&word, from + i, 4);
        found |= word;
    }
    for (; i < bytes; ++i) found |= from[i];
    return found != 0;
}
// Whole bytes of the shadow: nearly every operand starts and ends at 32 bytes.
bool whole(uint64_t at, uint64_t bytes, const Core& now) { return ((at | bytes) & 7) == 0 && at < now.arena_bytes && bytes <= now.arena_bytes - at; }
void set_bits(void* data, uint64_t bytes, bool value) {
    const auto [begin, end] = bits_of(data, bytes);
    if (begin >= end) return;
    uint8_t* shadow = current_core->shadow;
    auto one = [&](uint64_t byte) {
        const uint8_t mask = edge(begin, end, byte);
        shadow[byte] = static_cast<uint8_t>(value ? shadow[byte] | mask : shadow[byte] & ~mask);
    };
    const uint64_t first = begin / 8, last = (end - 1) / 8;
    one(first);
    if (last == first) return;
    std::memset(shadow + first + 1, value ? 0xff : 0, last - first - 1);
    one(last);
}
bool bit_of(const void* data) {
    const Core* now = current_core;
    const uint64_t at = arena_offset(data);
    return at < now->arena_bytes && (now->shadow[at / 8] >> (at % 8) & 1);
}

}  // namespace

void poison(void* data, size_t bytes) {
    const uint32_t word = poison_word();
    auto* at = static_cast<uint8_t*>(data);
    size_t i = 0;
    if (reinterpret_cast<uintptr_t>(at) % 4 == 0) {
        auto* words = reinterpret_cast<uint32_t*>(at);
        const size_t count = bytes / 4;
        for (size_t k = 0; k < count; ++k) words[k] = word;
        i = count * 4;
    }
    for (; i < bytes; ++i) at[i] = static_cast<uint8_t>(word >> ((reinterpret_cast<uintptr_t>(at + i) % 4) * 8));
}

void forget_local(void* data, size_t bytes) {
    poison(data, bytes);
    set_bits(data, bytes, true);
}

bool unwritten_far(const void* data, uint64_t bytes) {
    if (const Core* now = current_core; whole(arena_offset(data), bytes, *now)) return any(now->shadow + arena_offset(data) / 8, bytes / 8);
    const auto [begin, end] = bits_of(data, bytes);
    if (begin >= end) return false;
    const uint8_t* shadow = current_core->shadow;
    const uint64_t first = begin / 8, last = (end - 1) / 8;
    if (shadow[first] & edge(begin, end, first)) return true;
    if (last == first) return false;
    return (shadow[last] & edge(begin, end, last)) || any(shadow + first + 1, last - first - 1);
}
void mark_written_far(void* data, uint64_t bytes) {
    const Core* now = current_core;
    const uint64_t at = arena_offset(data);
    if (!whole(at, bytes, *now)) return set_bits(data, bytes, false);
    if (bytes == 32) std::memset(now->shadow + at / 8, 0, 4);  // one store
    else std::memset(now->shadow + at / 8, 0, bytes / 8);
}
void mark_unwritten(void* data, uint64_t bytes) { set_bits(data, bytes, true); }

void join(void* dst, const void* a, const void* b, uint64_t bytes) {
    const Core* now = current_core;
    if (!now) return;
    const uint64_t d = arena_offset(dst), x = arena_offset(a), y = arena_offset(b);
    if (__builtin_expect(whole(d, bytes, *now) && whole(x, bytes, *now) && whole(y, bytes, *now), 1)) {
        uint8_t* to = now->shadow + d / 8;
        const uint8_t *from = now->shadow + x / 8, *other = now->shadow + y / 8;
        uint64_t i = 0, n = bytes / 8;
        for (; i + 8 <= n; i += 8) {
            uint64_t one, two;
            std::memcpy(&one, from + i, 8);
            std::memcpy(&two, other + i, 8);
            one |= two;
            std::memcpy(to + i, &one, 8);
        }
        for (; i + 4 <= n; i += 4) {
            uint32_t one, two;
            std::memcpy(&one, from + i, 4);
            std::memcpy(&two, other + i, 4);
            one |= two;
            std::memcpy(to + i, &one, 4);
        }
        for (; i < n; ++i) to[i] = static_cast<uint8_t>(from[i] | other[i]);
        return;
    }
    // Nearly always all is written.
    if (!unwritten(a, bytes) && (a == b || !unwritten(b, bytes))) {
        mark_written(dst, bytes);
        return;
    }
    auto* to = static_cast<uint8_t*>(dst);
    const auto *left = static_cast<const uint8_t*>(a), *right = static_cast<const uint8_t*>(b);
    for (uint64_t i = 0; i < bytes; ++i) set_bits(to + i, 1, bit_of(left + i) || bit_of(right + i));
}
void join_into(void* dst, const void* a, const void* b, uint64_t bytes) {
    if (__builtin_expect(!unwritten(a, bytes) && (a == b || !unwritten(b, bytes)), 1)) return;
    auto* to = static_cast<uint8_t*>(dst);
    const auto *x = static_cast<const uint8_t*>(a), *y = static_cast<const uint8_t*>(b);
    for (uint64_t i = 0; i < bytes; ++i)
        if (bit_of(x + i) || bit_of(y + i)) set_bits(to + i, 1, true);
}
void join_lanes(void* dst, uint32_t dst_size, const void* src, uint32_t src_size, uint64_t lanes) {
    if (__builtin_expect(!unwritten(src, lanes * src_size), 1)) {
        mark_written(dst, lanes * dst_size);
        return;
    }
    auto* to = static_cast<uint8_t*>(dst);
    const auto* from = static_cast<const uint8_t*>(src);
    // In place the wider side must be read before it is marked: widening goes from the end, narrowing from the start.
    for (uint64_t k = 0; k < lanes; ++k) {
        const uint64_t i = dst_size > src_size ? lanes - 1 - k : k;
        set_bits(to + i * dst_size, dst_size, unwritten(from + i * src_size, src_size));
    }
}

bool observe(const void* data, uint64_t bytes, const char* call, const char* operand, Where where, const Buffer* buffer) {
    if (__builtin_expect(!unwritten(data, bytes), 1)) return false;
    return report_unwritten(data, bytes, call, operand, where, buffer);
}
__attribute__((noinline, cold)) bool report_unwritten(const void* data, uint64_t bytes, const char* call, const char* operand, Where where,
                                                      const Buffer* buffer) {
    const auto* at = static_cast<const uint8_t*>(data);
    uint64_t first = 0, count = 0;
    for (uint64_t i = 0; i < bytes; ++i)
        if (bit_of(at + i)) {
            if (count == 0) first = i;
            ++count;
        }
    const std::string inside = buffer && at >= buffer->data && at < buffer->data + buffer->bytes
                                   ? " (byte " + text(static_cast<uint64_t>(at - buffer->data) + first) + " of its buffer)" : "";
    note("read-never-written", "violation", std::string(call) + " " + operand + ": " + text(count) + " of " + text(bytes) +
         " bytes were never written, the first is byte " + text(first) + inside, where, buffer);
    return true;
}

uint8_t* Core::take(Space space, uint32_t bytes, Where where) {
    Memory& from = memory(space);
    const uint64_t rounded = (static_cast<uint64_t>(bytes) + 31) / 32 * 32;
    if (space == Space::Global) fail("buffer-position", "InitBuffer for a position in global memory, which needs none", where);
    if (from.used + rounded > from.bytes)
        fail(rule_of(space, "-overflow"),
             "InitBuffer needs " + text(from.used + rounded) + " bytes of " + text_of(space) + "; there are " + text(from.bytes), where);
    uint8_t* start = from.base + from.used;
    from.used += static_cast<uint32_t>(rounded);
    forget_local(start, rounded);
    return start;
}

uint8_t* Pool::take(uint32_t size, Where where) {
    const uint64_t rounded = (static_cast<uint64_t>(size) + 31) / 32 * 32;
    if (!base) fail("buffer-not-initialised", "InitBuffer in a TBufPool before InitBufPool", where);
    if (used + rounded > bytes)
        fail(rule_of(space, "-overflow"), "InitBuffer needs " + text(used + rounded) + " bytes of a TBufPool of " + text(bytes), where);
    uint8_t* start = base + used;
    used += static_cast<uint32_t>(rounded);
    forget_local(start, rounded);
    return start;
}

Buffer* Core::add_buffer(uint8_t* data, uint32_t bytes, BufferState state, uint8_t position, Where where) {
    buffers.push_back(Buffer{data, bytes, state, where, position, where});
    if (buffers.size() == soc().buffers + 1u)
        note("buffer-count", "violation", "the kernel inits more than " + text(soc().buffers) + " buffers", where);
    return &buffers.back();
}

Buffer* init_plain(Pool* pool, AscendC::TPosition position, uint32_t bytes, Where where) {
    Core& now = core();
    const uint32_t rounded = (bytes + 31) / 32 * 32;
    uint8_t* data = pool ? pool->take(rounded, where) : now.take(space_of(position), rounded, where);
    return now.add_buffer(data, rounded, BufferState::Plain, static_cast<uint8_t>(position), where);
}

void init_pool(Pool* from, Pool& pool, AscendC::TPosition position, uint32_t bytes, Where where) {
    const Space space = space_of(position);
    pool.base = from ? from->take(bytes, where) : core().take(space, bytes, where);
    pool.bytes = (bytes + 31) / 32 * 32;
    pool.used = 0;
    pool.space = space;
}

void check_span(const void* data, uint64_t bytes, uint64_t own_bytes, AscendC::TPosition position, const Buffer* buffer, const char* call,
                const char* operand, Where where) {
    const std::string who = std::string(call) + " " + operand;
    const Space space = space_of(position);
    if (!data) fail("null-tensor", who + ": the tensor has no buffer", where);
    if (space == Space::Global) fail("operand-position", who + ": a tensor in global memory", where);
    const Memory& memory = core().memory(space);
    if (!memory.holds(data, bytes))
        fail(rule_of(space, "-out-of-range"), who + ": " + text(bytes) + " bytes reach outside " + text_of(space), where, buffer);
    const uint64_t past = (reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(memory.base)) % memory.alignment;
    if (past != 0)
        fail(rule_of(space, "-unaligned"), who + ": the address is " + text(past) + " bytes past a " + text(memory.alignment) + "-byte boundary",
             where, buffer);
    if (bytes > own_bytes)
        note(rule_of(space, "-buffer-overrun"), "violation", who + ": " + text(bytes) + " bytes touched, the tensor holds " + text(own_bytes), where,
             buffer);
}

void operand(void* data, uint64_t bytes, uint64_t own_bytes, AscendC::TPosition position, const Buffer* buffer, Use use, const char* call,
             const char* name, Where where, pipe_t pipe) {
    Core& now = core();
    step(now, 16, where);
    const Memory& memory = now.memory(space_of(position));
    if (__builtin_expect((reinterpret_cast<uintptr_t>(data) & (memory.alignment - 1)) != 0 || bytes > own_bytes || !memory.holds(data, bytes), 0))
        check_span(data, bytes, own_bytes, position, buffer, call, name, where);
    if (use == Use::Check) return;
    if (pipe == PIPE_V) now.cost.operand(call, name, where, bytes);
    if (buffer && buffer->state == BufferState::Plain && !touched_again(now, *buffer, data, bytes, use != Use::Read, pipe, call, where))
        touch(buffer, data, bytes, use != Use::Read, pipe, call, where);
    if (use == Use::Write) mark_written(data, bytes);
}

void check_scalar(const void* data, uint32_t index, uint32_t count, uint32_t size, AscendC::TPosition position, const Buffer* buffer, Where where) {
    const Space space = space_of(position);
    const auto* at = static_cast<const uint8_t*>(data) + static_cast<uint64_t>(index) * size;
    if (!data || space == Space::Global || !core().memory(space).holds(at, size))
        fail(rule_of(space, "-out-of-range"), "element " + text(index) + " of a tensor of " + text(count) + " lies outside " + text_of(space), where,
             buffer);
    note(rule_of(space, "-buffer-overrun"), "violation", "element " + text(index) + " of a tensor of " + text(count), where, buffer);
}

const char* position_name(AscendC::TPosition position) {
    constexpr const char* names[] = {"GM", "A1", "A2", "B1", "B2", "C1", "C2", "CO1", "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM",
                                     "C2PIPE2GM", "C2PIPE2LOCAL"};
    const auto at = static_cast<size_t>(position);
    return at < sizeof names / sizeof *names ? names[at] : "?";
}

}  // namespace opmend_sim
