// The running launch, for the runtime's own sources: which cores there are, who waits for what.
#pragma once
#include <map>
#include <memory>
#include <tuple>

#include "opmend_sim/core.h"

namespace opmend_sim {

struct Barrier {
    uint32_t arrived = 0;
    uint64_t generation = 0;
};

// One use of a buffer by a pipe: bytes [begin, end) of the buffer, at a tick of the core.
struct Trace {
    uint32_t begin = 0, end = 0;
    uint64_t tick = 0;
    Where where{};
    const char* call = "";
};
inline constexpr int kPipes = 8;
inline constexpr int kTraces = 4;
struct Traces {
    uint32_t pipes = 0;  // bit p: pipe p used it
    Trace writes[kPipes][kTraces], reads[kPipes][kTraces];
    uint64_t handed[kPipes] = {}, freed[kPipes] = {};  // what EnQue and FreeTensor carry to DeQue and AllocTensor
};
// What each pipe of a core knows of the others: synced[q][p] is the last tick of pipe p that pipe q waited for.
struct Hazards {
    uint64_t tick = 0;
    uint64_t synced[kPipes][kPipes] = {};
    std::deque<Traces> traces;
    struct Flag {
        uint64_t carried[kPipes] = {};
    };
    std::vector<Flag> flags;  // by event and id; empty until one is set
    void reset() {
        tick = 0;
        std::memset(synced, 0, sizeof synced);
        traces.clear();
        flags.clear();
    }
};
// The short way of `touch`: the one pipe that uses the buffer uses the same bytes again. Whether it was that.
inline bool touched_again(Core& core, const Buffer& buffer, const void* data, uint64_t bytes, bool writes, int pipe, const char* call, Where where) {
    Traces* traces = buffer.traces;
    if (!traces || traces->pipes != 1u << pipe) return false;
    const auto begin = static_cast<uint32_t>(static_cast<const uint8_t*>(data) - buffer.data), end = begin + static_cast<uint32_t>(bytes);
    for (Trace& old : (writes ? traces->writes : traces->reads)[pipe]) {
        if (old.begin != begin || old.end != end) continue;
        old.tick = ++core.hazards->tick;
        old.where = where;
        old.call = call;
        return true;
    }
    return false;
}
// A kernel ends: flags that nothing waited for.
void end_flags(Core& core);

// What orders two cores: a flag, a signal, a barrier's round. What happened before `publish` is ordered before what follows `acquire`.
using Channel = std::tuple<uintptr_t, int64_t, int64_t>;
Channel flag_channel(int mode, bool cube, uint32_t block, int64_t id);
Channel signal_channel(const void* what, int64_t block, int64_t event);
void publish(const Channel& channel);
void acquire(const Channel& channel);

struct Launch {
    std::string kernel;
    uint32_t blocks = 0;
    Task task;
    uint32_t started = 0;  // blocks
    std::map<uint32_t, Barrier> barriers;  // by which cores: 0 all, 1 the AIVs, 2 + n the first n to arrive
    std::vector<uint8_t> flags;            // counters of cross-core flags: 16 a core, by rank; empty until one is set
    std::vector<uint8_t> sets;             // sets of a flag that wait for other cores' sets: 3 modes x 16 a core
    std::map<Channel, bool> signals;  // IBSet: by workspace, block and event
    std::vector<uint32_t> notified, awaited;  // NotifyNextBlock and WaitPreBlock: counts by GetBlockIdx
    std::shared_ptr<struct Races> races;      // what cores touched in global memory
    uint32_t members() const { return task.aics + task.aivs; }
    uint32_t cores() const { return blocks * members(); }
    uint32_t vector_cores() const { return blocks * (task.aivs ? task.aivs : task.aics); }
};

// What the scalar unit's run of accesses gathered (Core::scalar_runs) is put with the rest.
void put_scalar_runs(Core& core);
// All cores of the launch stand at a barrier; a launch ends. What unordered cores did to each other in global memory is reported.
void all_met(Launch& launch);
void end_races(Launch& launch);
// The launch that runs now. Only inside run_blocks.
Launch& launch_now();
// Most blocks that are on the device at a time; later ones wait for an end.
uint32_t resident_blocks(Task task);
// Whether an address lies on the running core's stack or in its local memory: never a tensor of the device, however near one is mapped.
bool is_core_memory(const void* address);
// Counts ended launches: what a storage of an earlier one overlaps was freed since.
extern uint64_t launches_ended;
// The core gives way until `ready` holds. If no core can go on, the launch ends with a finding that says who waits for `what`.
void wait_until(const std::function<bool()>& ready, const std::string& what, Where where);

}  // namespace opmend_sim
