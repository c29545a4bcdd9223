// Order between pipes. All pipes run in program order here, so a missing flag changes no result; on the device it may. This file follows
// what each pipe waited for (flags, queues, barriers), and says where two pipes touch one buffer with nothing between.
#include <cstdlib>

#include "opmend_sim/pipe.h"
#include "opmend_sim/schedule.h"
#include "opmend_sim/sync.h"

namespace opmend_sim {

bool watches_scalars = [] {
    const char* text = std::getenv("OPMEND_SIM_SCALAR_SYNC");
    return text && *text && std::strcmp(text, "0") != 0;
}();

namespace {

constexpr const char* kPipeNames[kPipes] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "ALL", "FIX"};

struct Ends {
    pipe_t from, to;
};
// In the order of HardEvent.
constexpr Ends kEvents[] = {
    {PIPE_MTE2, PIPE_MTE1}, {PIPE_MTE1, PIPE_MTE2}, {PIPE_MTE1, PIPE_M}, {PIPE_M, PIPE_MTE1}, {PIPE_MTE2, PIPE_V}, {PIPE_V, PIPE_MTE2},
    {PIPE_MTE3, PIPE_V}, {PIPE_V, PIPE_MTE3}, {PIPE_M, PIPE_V}, {PIPE_V, PIPE_M}, {PIPE_V, PIPE_V}, {PIPE_MTE3, PIPE_MTE1},
    {PIPE_MTE1, PIPE_MTE3}, {PIPE_MTE1, PIPE_V}, {PIPE_MTE2, PIPE_M}, {PIPE_M, PIPE_MTE2}, {PIPE_V, PIPE_MTE1}, {PIPE_M, PIPE_FIX},
    {PIPE_FIX, PIPE_M}, {PIPE_MTE3, PIPE_MTE2}, {PIPE_MTE2, PIPE_MTE3}, {PIPE_S, PIPE_V}, {PIPE_V, PIPE_S}, {PIPE_S, PIPE_MTE2},
    {PIPE_MTE2, PIPE_S}, {PIPE_S, PIPE_MTE3}, {PIPE_MTE3, PIPE_S}, {PIPE_MTE2, PIPE_FIX}, {PIPE_FIX, PIPE_MTE2}, {PIPE_FIX, PIPE_S},
    {PIPE_M, PIPE_S}, {PIPE_FIX, PIPE_MTE3}, {PIPE_MTE1, PIPE_FIX}, {PIPE_FIX, PIPE_MTE1}, {PIPE_FIX, PIPE_FIX}, {PIPE_FIX, PIPE_V},
};
static_assert(sizeof kEvents / sizeof *kEvents == static_cast<size_t>(AscendC::HardEvent::MAX), "one pair of pipes an event");

std::string event_text(int event, int id) {
    return std::string(kPipeNames[kEvents[event].from]) + "_" + kPipeNames[kEvents[event].to] + " (event id " + std::to_string(id) + ")";
}

// What pipe p knows now, with all it did itself.
void carry(const Hazards& hazards, int p, uint64_t (&to)[kPipes]) {
    for (int k = 0; k < kPipes; ++k) to[k] = hazards.synced[p][k];
    to[p] = hazards.tick;
}
void learn(Hazards& hazards, int q, const uint64_t (&from)[kPipes]) {
    for (int k = 0; k < kPipes; ++k)
        if (from[k] > hazards.synced[q][k]) hazards.synced[q][k] = from[k];
}

Traces& traces_of(Hazards& hazards, Buffer& buffer) {
    if (!buffer.traces) {
        hazards.traces.emplace_back();
        buffer.traces = &hazards.traces.back();
        if (hazards.tick == 0) hazards.tick = 1;
    }
    return *buffer.traces;
}

// A trace that covers an old one takes its place. One that lies inside an old one does not: the rest of the old one has its own, earlier tick.
void record(Trace (&ring)[kTraces], const Trace& fresh) {
    int oldest = 0;
    for (int i = 0; i < kTraces; ++i) {
        if (ring[i].begin >= fresh.begin && ring[i].end <= fresh.end) {
            ring[i] = fresh;
            return;
        }
        if (ring[i].tick < ring[oldest].tick) oldest = i;
    }
    ring[oldest] = fresh;
}

const Trace* clash(const Trace (&ring)[kTraces], const Trace& now, uint64_t synced) {
    for (const Trace& old : ring)
        if (old.tick > synced && old.begin < now.end && now.begin < old.end) return &old;
    return nullptr;
}

// The pipe that fills a queue's tensor, and the one that empties it.
int filler(const Queue& queue) {
    using P = AscendC::TPosition;
    switch (queue.source) {
        case P::GM: case P::CO2: case P::VECIN: return PIPE_MTE2;
        case P::A1: case P::B1: case P::C1: case P::TSCM: return PIPE_MTE1;
        case P::A2: case P::B2: case P::C2: case P::CO1: return PIPE_M;
        default: return PIPE_V;
    }
}
int emptier(const Queue& queue) {
    using P = AscendC::TPosition;
    switch (queue.destination) {
        case P::GM: case P::VECOUT: case P::A1: case P::B1: case P::C1: case P::TSCM:
            return queue.source == P::GM || queue.source == P::CO2 ? PIPE_MTE1 : PIPE_MTE3;
        case P::A2: case P::B2: case P::C2: return PIPE_M;
        case P::CO2: return PIPE_FIX;
        default: return PIPE_V;
    }
}

}  // namespace

void touch(const Buffer* buffer, const void* data, uint64_t bytes, bool writes, pipe_t pipe, const char* call, Where where) {
    Core& now = core();
    Hazards& hazards = *now.hazards;
    Traces& traces = traces_of(hazards, *const_cast<Buffer*>(buffer));
    const auto begin = static_cast<uint32_t>(static_cast<const uint8_t*>(data) - buffer->data);
    const Trace trace{begin, begin + static_cast<uint32_t>(bytes), ++hazards.tick, where, call};
    // Nearly always one pipe alone uses a buffer.
    if (__builtin_expect((traces.pipes & ~(1u << pipe)) != 0, 0)) {
        for (int p = 0; p < kPipes; ++p) {
            if (p == pipe || !(traces.pipes >> p & 1)) continue;
            const uint64_t synced = hazards.synced[pipe][p];
            const Trace* before = clash(traces.writes[p], trace, synced);
            const bool wrote = before != nullptr;
            if (!before && writes) before = clash(traces.reads[p], trace, synced);
            if (!before) continue;
            note("missing-sync", "warning",
                 std::string(call) + " (pipe " + kPipeNames[pipe] + ") " + (writes ? "writes" : "reads") + " what " + before->call + " (pipe " +
                     kPipeNames[p] + ")" + place(before->where) + (wrote ? " wrote" : " read") + ", and nothing makes " + kPipeNames[pipe] +
                     " wait for " + kPipeNames[p],
                 where, buffer);
            hazards.synced[pipe][p] = hazards.tick - 1;  // said once
        }
    }
    traces.pipes |= 1u << pipe;
    record(writes ? traces.writes[pipe] : traces.reads[pipe], trace);
}

void hand_over(const Queue& queue, Buffer& buffer, Handover how) {
    Hazards& hazards = *core().hazards;
    Traces& traces = traces_of(hazards, buffer);
    switch (how) {
        case Handover::EnQue: return carry(hazards, filler(queue), traces.handed);
        case Handover::DeQue: return learn(hazards, emptier(queue), traces.handed);
        case Handover::Free: return carry(hazards, emptier(queue), traces.freed);
        case Handover::Alloc: return learn(hazards, filler(queue), traces.freed);
    }
}

void sync_pipes(Core& now) {
    Hazards& hazards = *now.hazards;
    for (auto& row : hazards.synced)
        for (uint64_t& tick : row) tick = hazards.tick;
}

void set_flag(int event, int id, Where where) {
    Core& now = core();
    step(now, 1, where);
    ++now.cost.flags;
    if (id < 0 || id > 7) fail("flag-id", "SetFlag " + event_text(event, id) + ": ids are 0 to 7", where);
    if (now.events_set[event] >> id & 1) note("flag-set-twice", "violation", "SetFlag " + event_text(event, id) + ": it is set already", where);
    now.events_set[event] |= 1u << id;
    now.event_places[event] = where;
    Hazards& hazards = *now.hazards;
    if (hazards.flags.empty()) hazards.flags.resize(sizeof kEvents / sizeof *kEvents * 8);
    if (hazards.tick == 0) hazards.tick = 1;
    carry(hazards, kEvents[event].from, hazards.flags[static_cast<size_t>(event * 8 + id)].carried);
}

void wait_flag(int event, int id, Where where) {
    Core& now = core();
    step(now, 1, where);
    ++now.cost.flags;
    if (id < 0 || id > 7) fail("flag-id", "WaitFlag " + event_text(event, id) + ": ids are 0 to 7", where);
    if (!(now.events_set[event] >> id & 1)) {
        note("flag-never-set", "violation", "WaitFlag " + event_text(event, id) + ": nothing set it, the device may hang", where);
        return;
    }
    now.events_set[event] &= ~(1u << id);
    learn(*now.hazards, kEvents[event].to, now.hazards->flags[static_cast<size_t>(event * 8 + id)].carried);
}

int event_between(pipe_t from, pipe_t to, Where where) {
    for (size_t event = 0; event < sizeof kEvents / sizeof *kEvents; ++event)
        if (kEvents[event].from == from && kEvents[event].to == to) return static_cast<int>(event);
    fail("flag-id", std::string("there is no event from pipe ") + kPipeNames[from] + " to pipe " + kPipeNames[to], where);
}

void end_flags(Core& now) {
    for (int event = 0; event < static_cast<int>(AscendC::HardEvent::MAX); ++event)
        for (int id = 0; id < 8; ++id)
            if (now.events_set[event] >> id & 1)
                note("flag-unpaired", "warning", "SetFlag " + event_text(event, id) + " without WaitFlag at the end of the kernel",
                     now.event_places[event]);
}

}  // namespace opmend_sim
