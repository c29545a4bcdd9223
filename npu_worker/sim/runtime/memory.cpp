// Checks of operands, the queue protocol, flags, and every copy.
#include "opmend_sim/copy.h"
#include "opmend_sim/sync.h"

namespace opmend_sim {

void check_span(const void* data, uint64_t bytes, uint64_t own_bytes, const char* call, const char* operand, Where where) {
    const std::string who = std::string(call) + " " + operand;
    const Core& now = core();
    const auto* at = static_cast<const uint8_t*>(data);
    if (!at) fail("null-tensor", who + ": the tensor has no buffer", where);
    if (at < now.ub || at + bytes > now.ub + now.ub_bytes)
        fail("ub-out-of-range", who + ": " + text(bytes) + " bytes reach outside the unified buffer", where);
    if (reinterpret_cast<uintptr_t>(at) % 32 != 0)
        fail("ub-unaligned", who + ": the address is " + text(reinterpret_cast<uintptr_t>(at) % 32) + " bytes past a 32-byte boundary", where);
    if (bytes > own_bytes)
        note("ub-buffer-overrun", "violation", who + ": " + text(bytes) + " bytes touched, the tensor holds " + text(own_bytes), where);
}

void check_scalar(const void* data, uint32_t index, uint32_t count, uint32_t size, Where where) {
    const Core& now = core();
    const auto* at = static_cast<const uint8_t*>(data) + static_cast<uint64_t>(index) * size;
    if (!data || at < now.ub || at + size > now.ub + now.ub_bytes)
        fail("ub-out-of-range", "element " + text(index) + " of a tensor of " + text(count) + " lies outside the unified buffer", where);
    note("ub-buffer-overrun", "violation", "element " + text(index) + " of a tensor of " + text(count), where);
}

void Queue::init(uint8_t number, uint32_t bytes, Where where) {
    if (number == 0 || number > kMost) fail("queue-buffer-count", "InitBuffer with " + text(number) + " buffers; a queue takes 1 to 16", where);
    Core& now = core();
    const uint32_t rounded = (bytes + 31) / 32 * 32;
    count = number;
    waiting = head = 0;
    for (int i = 0; i < number; ++i) buffers[i] = now.add_buffer(now.take(rounded, where), rounded, BufferState::Free, where);
}

Buffer* Queue::alloc(Where where) {
    if (count == 0) fail("buffer-not-initialised", "AllocTensor before InitBuffer", where);
    for (int i = 0; i < count; ++i) {
        if (buffers[i]->state != BufferState::Free) continue;
        buffers[i]->state = BufferState::Allocated;
        buffers[i]->where = where;
        poison(buffers[i]->data, buffers[i]->bytes);
        return buffers[i];
    }
    fail("queue-no-free-buffer", "AllocTensor finds all " + text(count) + " buffers in use (missing FreeTensor?): the device hangs", where);
}

void Queue::enqueue(Buffer* buffer, Where where) {
    if (!buffer || buffer->state == BufferState::Plain) {
        note("queue-foreign-tensor", "violation", "EnQue of a tensor that no AllocTensor gave", where);
        if (!buffer) fail("queue-foreign-tensor", "EnQue of an empty tensor", where);
    } else if (buffer->state == BufferState::Queued) {
        fail("queue-double-enque", "EnQue of a tensor that is in a queue already", where);
    } else if (buffer->state == BufferState::Free) {
        note("queue-use-after-free", "violation", "EnQue of a tensor that was freed", where);
    }
    if (waiting >= (depth > 0 ? depth : kMost) && waiting >= count)
        fail("queue-full", "EnQue into a queue that holds " + text(waiting) + " tensors already: the device hangs", where);
    if (waiting >= kMost) fail("queue-full", "EnQue into a full queue", where);
    if (buffer->state != BufferState::Plain) {
        buffer->state = BufferState::Queued;
        buffer->where = where;
    }
    line[(head + waiting) % kMost] = buffer;
    ++waiting;
}

Buffer* Queue::dequeue(Where where) {
    if (waiting == 0) fail("queue-deque-empty", "DeQue from an empty queue (missing EnQue?): the device hangs", where);
    Buffer* buffer = line[head];
    head = (head + 1) % kMost;
    --waiting;
    if (buffer->state != BufferState::Plain) {
        buffer->state = BufferState::Dequeued;
        buffer->where = where;
    }
    return buffer;
}

void Queue::release(Buffer* buffer, Where where) {
    if (!buffer) fail("queue-foreign-tensor", "FreeTensor of an empty tensor", where);
    bool own = false;
    for (int i = 0; i < count; ++i) own = own || buffers[i] == buffer;
    if (!own) note("queue-foreign-tensor", "violation", "FreeTensor of a tensor that belongs to another queue", where);
    if (buffer->state == BufferState::Plain) return;
    if (buffer->state == BufferState::Free) note("queue-double-free", "violation", "FreeTensor of a tensor that is free already", where);
    if (buffer->state == BufferState::Queued) note("queue-free-while-queued", "violation", "FreeTensor of a tensor that still waits in a queue", where);
    buffer->state = BufferState::Free;
    buffer->where = where;
}

bool Queue::idle() const {
    for (int i = 0; i < count; ++i)
        if (buffers[i]->state == BufferState::Free) return true;
    return false;
}

void set_flag(int event, int id, Where where) {
    Core& now = core();
    if (id < 0 || id > 7) fail("flag-id", "SetFlag with event id " + std::to_string(id) + "; ids are 0 to 7", where);
    if (now.events_set[event] >> id & 1) note("flag-set-twice", "violation", "SetFlag on an event that is set already", where);
    now.events_set[event] |= 1u << id;
}

void wait_flag(int event, int id, Where where) {
    Core& now = core();
    if (id < 0 || id > 7) fail("flag-id", "WaitFlag with event id " + std::to_string(id) + "; ids are 0 to 7", where);
    if (!(now.events_set[event] >> id & 1)) note("flag-never-set", "violation", "WaitFlag on an event that nothing set: the device may hang", where);
    now.events_set[event] &= ~(1u << id);
}

int take_event(int event, Where where) {
    Core& now = core();
    for (int id = 0; id < 8; ++id) {
        if (now.events_taken[event] >> id & 1) continue;
        now.events_taken[event] |= 1u << id;
        return id;
    }
    fail("flag-exhausted", "all 8 event ids of this HardEvent are taken (missing ReleaseEventID?)", where);
}

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

void check_global(const Global& side, uint64_t reach, const char* call, const char* rule, Where where, bool writes = false) {
    if (!side.data) fail("gm-null", std::string(call) + ": the global address is null", where);
    const auto begin = reinterpret_cast<uintptr_t>(side.range.begin), end = reinterpret_cast<uintptr_t>(side.range.end),
               at = reinterpret_cast<uintptr_t>(side.data);
    if (at >= begin && at + reach <= end) return;
    if (!side.range.begin) fail("gm-unknown-address", std::string(call) + ": " + kUnknownAddress, where);
    const std::string what = std::string(call) + ": bytes " + std::to_string(static_cast<int64_t>(at - begin)) + " to " +
                             std::to_string(static_cast<int64_t>(at - begin + reach)) + " of a storage of " + text(end - begin);
    if (at + kAllocationSlack < begin || at > end + kAllocationSlack || at + reach > end + (1u << 21)) fail(rule, what, where);
    note(rule, writes && (at < begin || at + reach > end + kTail) ? "error" : "violation", what, where);
}

void check_local(const Local& side, uint64_t reach, const char* call, const char* operand, Where where) {
    const Core& now = core();
    if (reinterpret_cast<uintptr_t>(side.data) % 32 != 0 || reach > side.limit || side.data < now.ub || side.data + reach > now.ub + now.ub_bytes)
        check_span(side.data, reach, side.limit, call, operand, where);
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

}  // namespace

void copy_in(Local to, Global from, CopyShape shape, const char* call, Where where) {
    if (shape.blocks == 0 || shape.bytes == 0) return;
    check_local(to, reach_of(shape, shape.destination_step, shape.bytes), call, "dst", where);
    check_global(from, reach_of(shape, shape.source_step, shape.bytes), call, "gm-read-out-of-range", where);
    for (uint64_t i = 0; i < shape.blocks; ++i) {
        uint8_t* d = to.data + i * shape.destination_step;
        const uint8_t* s = from.data + i * shape.source_step;
        const Clip part = clip(s, shape.bytes, from.range);
        if (part.keep != shape.bytes) poison(d, shape.bytes);
        std::memcpy(d + part.skip, s + part.skip, part.keep);
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
    check_local(to, reach_of(shape, shape.destination_step, row), call, "dst", where);
    check_global(from, reach_of(shape, shape.source_step, shape.bytes), call, "gm-read-out-of-range", where);
    for (uint64_t i = 0; i < shape.blocks; ++i) {
        uint8_t* d = to.data + i * shape.destination_step;
        const uint8_t* s = from.data + i * shape.source_step;
        if (row != shape.bytes) {  // what the padding does not name is unspecified
            const uint64_t from_end = (padding.left + shape.bytes) / 32 * 32;
            if (padding.left) poison(d, 32);
            poison(d + from_end, row - from_end);
        }
        const Clip part = clip(s, shape.bytes, from.range);
        if (part.keep != shape.bytes) poison(d, row);
        std::memcpy(d + padding.left + part.skip, s + part.skip, part.keep);
        for (uint64_t k = 0; k < padding.left; k += padding.size) std::memcpy(d + k, &padding.value, padding.size);
        for (uint64_t k = 0; k < padding.right; k += padding.size) std::memcpy(d + padding.left + shape.bytes + k, &padding.value, padding.size);
    }
}

void copy_out(Global to, Local from, CopyShape shape, Element element, const char* call, Where where) {
    if (shape.blocks == 0 || shape.bytes == 0) return;
    check_local(from, reach_of(shape, shape.source_step, shape.bytes), call, "src", where);
    check_global(to, reach_of(shape, shape.destination_step, shape.bytes), call, "gm-write-out-of-range", where, true);
    const Atomic how = core().atomic;
    for (uint64_t i = 0; i < shape.blocks; ++i) {
        uint8_t* d = to.data + i * shape.destination_step;
        const uint8_t* s = from.data + i * shape.source_step;
        const Clip part = clip(d, shape.bytes, to.range);
        if (how == Atomic::None) std::memcpy(d + part.skip, s + part.skip, part.keep);
        else combine(d + part.skip, s + part.skip, part.keep, how, element, where);
    }
}

void copy_within(Local to, Local from, CopyShape shape, const char* call, Where where) {
    if (shape.blocks == 0 || shape.bytes == 0) return;
    check_local(to, reach_of(shape, shape.destination_step, shape.bytes), call, "dst", where);
    check_local(from, reach_of(shape, shape.source_step, shape.bytes), call, "src", where);
    for (uint64_t i = 0; i < shape.blocks; ++i)
        std::memmove(to.data + i * shape.destination_step, from.data + i * shape.source_step, shape.bytes);
}

}  // namespace opmend_sim
