// The device: cores with local memories of their own, and the way a launch runs its blocks.
// All pipes of a core run in program order. Cores are fibers of one thread: they change only where one waits for another.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "opmend_sim/cost.h"
#include "opmend_sim/numeric.h"
#include "opmend_sim/report.h"
#include "opmend_sim/soc.h"

namespace opmend_sim {

enum class BufferState : uint8_t { Free, Allocated, Queued, Dequeued, Plain };

// One buffer that InitBuffer gave out.
struct Buffer {
    uint8_t* data = nullptr;
    uint32_t bytes = 0;
    BufferState state = BufferState::Plain;
    Where where{};  // of the call that last changed its state
    uint8_t position = 0;  // TPosition
    Where made{};  // of its InitBuffer
    struct Traces* traces = nullptr;  // which pipes touched it (hazards.cpp); none before the first did
};

enum class Atomic : uint8_t { None, Add, Max, Min };
enum class MaskMode : uint8_t { Normal, Counter };

// What a core can do. On a SoC that is not split, one core has both units.
enum class Unit : uint8_t { Vector, Cube, Both };

// How a launch uses cores: `aics` cube cores and `aivs` vector cores a block.
struct Task {
    uint8_t aics = 0, aivs = 1;
    bool mix = false;  // a MIX kernel: cross-core flags are there
};
inline bool operator==(Task a, Task b) { return a.aics == b.aics && a.aivs == b.aivs && a.mix == b.mix; }

// One local memory of a core. alignment: of operands' addresses.
struct Memory {
    uint8_t* base = nullptr;
    uint32_t bytes = 0, used = 0, alignment = 32;
    bool holds(const void* data, uint64_t size) const {
        const auto at = static_cast<uint64_t>(static_cast<const uint8_t*>(data) - base);
        return at <= bytes && size <= bytes - at;
    }
};

struct Core {
    Unit unit = Unit::Vector;
    uint32_t block = 0;    // of the launch
    uint32_t blocks = 1;
    uint32_t sub = 0;      // an AIV's number in its block
    uint32_t ratio = 1;    // AIVs a block
    uint32_t rank = 0;     // number among all cores of the launch
    uint8_t* arena = nullptr;      // holds every memory; aligned to 4096 bytes
    uint64_t arena_bytes = 0;
    uint8_t* shadow = nullptr;     // one bit a byte of the arena: set where nothing was written (shadow.h)
    Memory memories[kSpaces];
    void* pipe = nullptr;        // the live TPipe
    std::deque<Buffer> buffers;  // stable addresses: tensors point at them
    Atomic atomic = Atomic::None;
    MaskMode mask_mode = MaskMode::Normal;
    Where atomic_place{}, mask_place{};  // of the calls that turned them on
    uint64_t mask[2] = {~0ull, ~0ull};  // low, high
    uint8_t compare_mask[16] = {};
    int64_t accumulated = 0;     // GetAccVal
    uint64_t picked[2] = {};     // bits of value and index of the last repeat of WholeReduceMax, WholeReduceMin
    uint16_t merged[4] = {};     // elements that the last MrgSort took from each queue
    bool deq_set = false, deq_signed = false;  // SetDeqScale: was called; CastDeq's result is signed
    int16_t deq_offset = 0;
    const uint64_t* deq_vector = nullptr;      // SetDeqScale with a tensor: 16 scales
    uint32_t events_set[64] = {};   // one word a HardEvent, one bit an event id
    uint32_t events_taken[64] = {};
    Where event_places[64] = {};    // of each event's last SetFlag
    float deq_scale = 1.0f;
    alignas(8) uint8_t cube_registers[96] = {};  // cube.h gives them names
    Cost cost;
    // Scalar accesses to global memory that continue each other, not yet put with the core's other uses (used_scalar).
    struct ScalarRun {
        uint64_t begin = 0, end = 0;
        int line = 0;
        bool store = false;
        const char* file = nullptr;
    } scalar_runs[4];
    uint32_t next_scalar_run = 0;
    int64_t steps_left = 0;         // calls until the kernel counts as endless: a scalar access is 1, another operand 16
    struct Hazards* hazards = nullptr;

    bool has_vector() const { return unit != Unit::Cube; }
    bool has_cube() const { return unit != Unit::Vector; }
    Memory& memory(Space space) { return memories[static_cast<int>(space)]; }
    const Memory& memory(Space space) const { return memories[static_cast<int>(space)]; }
    // "AIV 3": the kind of core and its GetBlockIdx.
    std::string name() const;
    // Takes bytes (rounded up to 32) from a memory and poisons them.
    uint8_t* take(Space space, uint32_t bytes, Where where);
    Buffer* add_buffer(uint8_t* data, uint32_t bytes, BufferState state, uint8_t position, Where where);
    // A fresh kernel's state; memories stay.
    void reset();
};

extern Core* current_core;

// The core that runs now. Throws outside a launch.
inline Core& core() {
    if (__builtin_expect(current_core == nullptr, 0)) fail("outside-kernel", "an AscendC call outside a kernel launch", Where{"", 0});
    return *current_core;
}

// The kernel made more calls than any kernel that ends.
[[noreturn]] void endless(Where where);
inline void step(Core& now, int64_t calls, Where where) {
    if (__builtin_expect((now.steps_left -= calls) < 0, 0)) endless(where);
}

inline void scalar_step(Core& now, Where where) {
    ++now.cost.scalars;
    step(now, 1, where);
}

// Fills memory with the poison pattern: NaN in half, bfloat16 and float, an odd large number in integers.
void poison(void* data, size_t bytes);
// Poison in local memory, and its shadow: nothing was written there.
void forget_local(void* data, size_t bytes);

// Runs body once a core of every block. Throws what a kernel threw, after the other cores were dropped.
void run_blocks(uint32_t blocks, Task task, const std::string& kernel, const std::function<void()>& body);
// The kernel says what it is (KERNEL_TASK_TYPE). If the launch runs it as something else, it starts again from its first block.
void require_task(Task task, Where where);
// Waits until all of the launch's AIVs (or all its cores, or `used` of them) arrive. A core that never arrives is found, not hung on.
void sync_all(bool vector_only, uint32_t used, Where where);

// The running core goes no further; its kernel has ended well (the cube core of a MIX kernel that only serves its vector cores).
[[noreturn]] void end_core();

// Where a kernel's own part of its workspace starts (runtime/operators.cpp).
uint8_t* user_workspace(uint8_t* workspace, Where where);

// Global memory that may be touched: storages of tensors and aclrtMalloc blocks.
struct Range {
    uint8_t* begin = nullptr;
    uint8_t* end = nullptr;
};
void register_global(const void* begin, size_t bytes);
void forget_global(const void* begin);
// The registered range that contains the address, or ends shortly before it; an empty range if none does.
Range find_global(const void* address);
// A core used global memory: rows of `bytes` bytes, `stride` apart, all inside a storage. Scalar: a store of one element by the scalar unit.
enum class GlobalUse : uint8_t { Read, Write, Atomic, Scalar };
void used_global(const void* begin, uint64_t bytes, uint64_t rows, uint64_t stride, GlobalUse use, const char* call, Where where);
void begin_scalar_run(Core& core, Core::ScalarRun& run, uint64_t at, uint64_t bytes, bool store, Where where);
// One element, by the scalar unit: loops over elements gather in a run, and cost next to nothing.
inline void used_scalar(Core& core, const void* begin, uint64_t bytes, bool store, Where where) {
    const auto at = reinterpret_cast<uintptr_t>(begin);
    for (Core::ScalarRun& run : core.scalar_runs)
        if (at >= run.begin && at <= run.end && run.line == where.line && run.store == store && run.file == where.file) {
            if (at + bytes > run.end) run.end = at + bytes;
            return;
        }
    begin_scalar_run(core, core.scalar_runs[core.next_scalar_run++ & 3], at, bytes, store, where);
}

}  // namespace opmend_sim
