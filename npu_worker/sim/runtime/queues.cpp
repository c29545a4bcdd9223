// The queue protocol, and event ids.
#include "opmend_sim/pipe.h"
#include "opmend_sim/sync.h"

namespace opmend_sim {

namespace {
// Each tensor in use holds an event id of its position's pipes, and there are few.
void check_live(const Buffer& fresh, Where where) {
    uint32_t live = 0;
    for (const Buffer& one : core().buffers)
        live += one.position == fresh.position && one.state != BufferState::Plain && one.state != BufferState::Free;
    if (live > soc().live_tensors)
        note("queue-live-tensors", "violation", "AllocTensor: " + text(live) + " tensors of " +
             position_name(static_cast<AscendC::TPosition>(fresh.position)) + " are in use at a time; " + text(soc().live_tensors) + " may be",
             where, &fresh);
}
}  // namespace

void Queue::init(Pool* pool, uint32_t number, uint32_t bytes, Where where) {
    if (number == 0 || number > kMost) fail("queue-buffer-count", "InitBuffer with " + text(number) + " buffers; a queue takes 1 to 64", where);
    Core& now = core();
    const uint32_t rounded = (bytes + 31) / 32 * 32;
    count = static_cast<int>(number);
    waiting = head = 0;
    const AscendC::TPosition at = host();
    for (uint32_t i = 0; i < number; ++i) {
        uint8_t* data = pool ? pool->take(rounded, where) : now.take(space_of(at), rounded, where);
        buffers[i] = now.add_buffer(data, rounded, BufferState::Free, static_cast<uint8_t>(at), where);
    }
}

Buffer* Queue::alloc(Where where) {
    if (count == 0) fail("buffer-not-initialised", "AllocTensor before InitBuffer", where);
    for (int i = 0; i < count; ++i) {
        if (buffers[i]->state != BufferState::Free) continue;
        buffers[i]->state = BufferState::Allocated;
        buffers[i]->where = where;
        check_live(*buffers[i], where);
        forget_local(buffers[i]->data, buffers[i]->bytes);
        hand_over(*this, *buffers[i], Handover::Alloc);
        return buffers[i];
    }
    fail("queue-no-free-buffer", "AllocTensor finds all " + text(count) + " buffers in use (missing FreeTensor?): the device hangs", where,
         buffers[0]);
}

void Queue::enqueue(Buffer* buffer, Where where) {
    if (!buffer || buffer->state == BufferState::Plain) {
        note("queue-foreign-tensor", "violation", "EnQue of a tensor that no AllocTensor gave", where, buffer);
        if (!buffer) fail("queue-foreign-tensor", "EnQue of an empty tensor", where);
    } else if (buffer->state == BufferState::Queued) {
        fail("queue-double-enque", "EnQue of a tensor that is in a queue already", where, buffer);
    } else if (buffer->state == BufferState::Free) {
        note("queue-use-after-free", "violation", "EnQue of a tensor that was freed", where, buffer);
    }
    if (depth > 0 && waiting >= depth && waiting < count)
        note("queue-full", "violation",
             "EnQue of tensor " + text(static_cast<uint64_t>(waiting) + 1) + " into a queue of depth " + text(static_cast<uint64_t>(depth)) +
                 ": the device loses one of them",
             where, buffer);
    if (waiting >= (depth > 0 ? depth : kMost) && waiting >= count)
        fail("queue-full", "EnQue into a queue that holds " + text(waiting) + " tensors already: the device hangs", where, buffer);
    if (waiting >= kMost) fail("queue-full", "EnQue into a full queue", where, buffer);
    if (buffer->state != BufferState::Plain) {
        buffer->state = BufferState::Queued;
        buffer->where = where;
    }
    hand_over(*this, *buffer, Handover::EnQue);
    line[(head + waiting) % kMost] = buffer;
    ++waiting;
}

Buffer* Queue::dequeue(Where where) {
    if (waiting == 0) fail("queue-deque-empty", "DeQue from an empty queue (missing EnQue?): the device hangs", where, count ? buffers[0] : nullptr);
    Buffer* buffer = line[head];
    head = (head + 1) % kMost;
    --waiting;
    if (buffer->state != BufferState::Plain) {
        buffer->state = BufferState::Dequeued;
        buffer->where = where;
    }
    hand_over(*this, *buffer, Handover::DeQue);
    return buffer;
}

void Queue::release(Buffer* buffer, Where where) {
    if (!buffer) fail("queue-foreign-tensor", "FreeTensor of an empty tensor", where);
    bool own = false;
    for (int i = 0; i < count; ++i) own = own || buffers[i] == buffer;
    if (!own) note("queue-foreign-tensor", "violation", "FreeTensor of a tensor that belongs to another queue", where, buffer);
    if (buffer->state == BufferState::Plain) return;
    if (buffer->state == BufferState::Free) note("queue-double-free", "violation", "FreeTensor of a tensor that is free already", where, buffer);
    if (buffer->state == BufferState::Queued)
        note("queue-free-while-queued", "violation", "FreeTensor of a tensor that still waits in a queue", where, buffer);
    buffer->state = BufferState::Free;
    buffer->where = where;
    hand_over(*this, *buffer, Handover::Free);
}

bool Queue::idle() const {
    for (int i = 0; i < count; ++i)
        if (buffers[i]->state == BufferState::Free) return true;
    return false;
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

}  // namespace opmend_sim
