// The device: cores with a unified buffer each, and the way a launch runs its blocks.
// All pipes of a core run in program order; cores run in block order, and change only at SyncAll.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

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
};

enum class Atomic : uint8_t { None, Add, Max, Min };
enum class MaskMode : uint8_t { Normal, Counter };

struct Core {
    uint32_t block = 0;
    uint32_t blocks = 1;
    uint8_t* ub = nullptr;       // aligned to 512 bytes
    uint32_t ub_bytes = 0;
    uint32_t ub_used = 0;
    void* pipe = nullptr;        // the live TPipe
    std::deque<Buffer> buffers;  // stable addresses: tensors point at them
    Atomic atomic = Atomic::None;
    MaskMode mask_mode = MaskMode::Normal;
    uint64_t mask[2] = {~0ull, ~0ull};  // low, high
    uint8_t compare_mask[16] = {};
    int64_t accumulated = 0;     // GetAccVal
    uint32_t reduce_count = 0;
    uint64_t scalar_max = 0;
    uint32_t events_set[64] = {};   // one word a HardEvent, one bit an event id
    uint32_t events_taken[64] = {};
    float deq_scale = 1.0f;

    // Takes bytes (rounded up to 32) from the unified buffer and poisons them.
    uint8_t* take(uint32_t bytes, Where where);
    Buffer* add_buffer(uint8_t* data, uint32_t bytes, BufferState state, Where where);
    void reset();
};

extern Core* current_core;

// The core that runs now. Throws outside a launch.
inline Core& core() {
    if (__builtin_expect(current_core == nullptr, 0)) fail("outside-kernel", "an AscendC call outside a kernel launch", Where{"", 0});
    return *current_core;
}

// Fills memory with the poison pattern: NaN in half, bfloat16 and float, an odd large number in integers.
void poison(void* data, size_t bytes);

// Runs body once a block. Throws what a kernel threw, after the other cores were dropped.
void run_blocks(uint32_t blocks, const std::string& kernel, const std::function<void()>& body);
// Waits until every live core arrives. Fails if a core ended without arriving.
void sync_all(Where where);

// Global memory that may be touched: storages of tensors and aclrtMalloc blocks.
struct Range {
    uint8_t* begin = nullptr;
    uint8_t* end = nullptr;
};
void register_global(const void* begin, size_t bytes);
void forget_global(const void* begin);
// The registered range that contains the address, or ends shortly before it; an empty range if none does.
Range find_global(const void* address);

}  // namespace opmend_sim
