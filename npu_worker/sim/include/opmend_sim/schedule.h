// The running launch, for the runtime's own sources: which cores there are, who waits for what.
#pragma once
#include "opmend_sim/core.h"

namespace opmend_sim {

struct Barrier {
    uint32_t arrived = 0;
    uint64_t generation = 0;
};

struct Launch {
    std::string kernel;
    uint32_t blocks = 0;
    Task task;
    uint32_t started = 0;  // blocks
    Barrier vector_barrier, whole_barrier;
    std::vector<uint8_t> flags;          // counters of cross-core flags: 16 a core, by rank; empty until one is set
    std::vector<uint8_t> contributions;  // who has set a flag since it last fired, by group
    uint32_t members() const { return task.aics + task.aivs; }
    uint32_t cores() const { return blocks * members(); }
    uint32_t vector_cores() const { return blocks * (task.aivs ? task.aivs : task.aics); }
};

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
