// Cores as fibers: who runs, who waits, and how a launch ends.
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>

#include "opmend_sim/schedule.h"
#include "opmend_sim/sync.h"

namespace opmend_sim {

Core* current_core = nullptr;

namespace {

constexpr size_t kStackBytes = 4u << 20;
constexpr size_t kPage = 4096;
constexpr size_t kMostSpare = 96;

// A kernel said that it is another task than the one that runs: the launch starts again.
struct Restart {
    Task task;
};

constexpr uint32_t kAlignments[kSpaces] = {32, 32, 512, 512, 64, 64, 64};

// Ends one core early, without an error.
struct CoreEnds {};

// Where each memory lies in a core's arena; the shadow follows.
struct Layout {
    uint64_t at[kSpaces];
    uint64_t bytes = 0;
    Layout() {
        for (int space = 0; space < kSpaces; ++space) {
            at[space] = bytes;
            bytes += (soc().bytes[space] + kPage - 1) / kPage * kPage;
        }
    }
};
const Layout& layout() {
    static const Layout one;
    return one;
}

uint8_t* mapped(size_t bytes, int flags) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return static_cast<uint8_t*>(at);
}

int64_t step_limit() {
    const char* text = std::getenv("OPMEND_SIM_STEPS");
    return text && *text ? std::strtoll(text, nullptr, 10) : int64_t{1} << 32;
}

struct Fiber {
    ucontext_t context{};
    Core core;
    Hazards hazards;
    uint8_t* stack = nullptr;
    bool done = false;
    std::exception_ptr error;
    const std::function<bool()>* ready = nullptr;
    std::string waits_for;
    Where wait_place{};

    Fiber() {
        stack = mapped(kStackBytes, MAP_STACK);
        mprotect(stack, kPage, PROT_NONE);
        core.hazards = &hazards;
        core.arena_bytes = layout().bytes;
        core.arena = mapped(core.arena_bytes + core.arena_bytes / 8, 0);
        core.shadow = core.arena + core.arena_bytes;
        for (int space = 0; space < kSpaces; ++space)
            core.memories[space] = Memory{core.arena + layout().at[space], soc().bytes[space], 0, kAlignments[space]};
    }
    ~Fiber() {
        munmap(stack, kStackBytes);
        munmap(core.arena, core.arena_bytes + core.arena_bytes / 8);
    }
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
};

struct Scheduler {
    ucontext_t home{};
    Fiber* running = nullptr;
    const std::function<void()>* body = nullptr;
    Launch* launch = nullptr;
};
Scheduler scheduler;

// Fibers are kept for the next launch: their stacks and memories are costly to map.
std::vector<std::unique_ptr<Fiber>>& spare_fibers() {
    static std::vector<std::unique_ptr<Fiber>> spare;
    return spare;
}

void end_checks(Core& core) {
    for (const Buffer& buffer : core.buffers)
        if (buffer.state != BufferState::Plain && buffer.state != BufferState::Free)
            note("queue-leak", "violation", "the kernel ends while this queue buffer was never freed (FreeTensor)", buffer.where, &buffer);
    end_flags(core);
    // The next kernel on the core would inherit it.
    if (core.atomic != Atomic::None)
        note("atomic-left-on", "warning", "the kernel ends with atomic copies turned on (SetAtomicNone is missing)", core.atomic_place);
    if (core.mask_mode == MaskMode::Counter)
        note("mask-left-counter", "warning", "the kernel ends in Counter mode (SetMaskNorm is missing)", core.mask_place);
    put_scalar_runs(core);
}

void enter() {
    Fiber* self = scheduler.running;
    try {
        (*scheduler.body)();
        end_checks(self->core);
    } catch (const CoreEnds&) {
    } catch (...) {
        self->error = std::current_exception();
    }
    self->done = true;
    swapcontext(&self->context, &scheduler.home);
}

__attribute__((noinline)) void aim_at_entry(Fiber& fiber) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, enter, 0);
}

void resume(Fiber& fiber) {
    scheduler.running = &fiber;
    current_core = &fiber.core;
    swapcontext(&scheduler.home, &fiber.context);
    current_core = nullptr;
    scheduler.running = nullptr;
}

// The order in which blocks start and waiting cores go on: 0 .. n-1, or what OPMEND_SIM_ORDER asks for.
std::vector<uint32_t> start_order(uint32_t blocks) {
    std::vector<uint32_t> order;
    const char* text = std::getenv("OPMEND_SIM_ORDER");
    if (!text || !*text) return order;
    const std::string how(text);
    order.resize(blocks);
    for (uint32_t i = 0; i < blocks; ++i) order[i] = i;
    if (how == "reverse") {
        std::reverse(order.begin(), order.end());
    } else if (how.rfind("seed:", 0) == 0) {
        uint64_t state = std::strtoull(how.c_str() + 5, nullptr, 10) * 2862933555777941757ull + 3037000493ull;
        for (uint32_t i = blocks; i > 1; --i) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            std::swap(order[i - 1], order[(state >> 33) % i]);
        }
    } else {
        fail("order-unknown", "OPMEND_SIM_ORDER is " + how + "; use reverse or seed:N", Where{"", 0});
    }
    return order;
}

// One launch, from its first block to its end.
struct Run {
    Launch launch;
    std::vector<uint32_t> order;
    std::vector<std::unique_ptr<Fiber>> live;
    uint32_t next = 0;       // blocks started
    uint32_t ended = 0;      // cores that ended
    std::exception_ptr error;

    void go() {
        const uint32_t resident = resident_blocks(launch.task) * launch.members();
        while (!error) {
            if (pass()) continue;
            if (error) break;
            if (next < launch.blocks && live.size() < resident) start(order.empty() ? next : order[next]);
            else if (live.empty()) break;
            else hang();
        }
    }
    // Lets each waiting core that can go on do so. Whether one did.
    bool pass() {
        bool moved = false;
        for (size_t i = 0; i < live.size() && !error;) {
            Fiber& fiber = *live[i];
            if (!(*fiber.ready)()) {
                ++i;
                continue;
            }
            moved = true;
            resume(fiber);
            if (fiber.done) {
                finish(std::move(live[i]));
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
            } else {
                ++i;
            }
        }
        return moved;
    }
    void start(uint32_t block) {
        launch.started = ++next;
        const uint32_t members = launch.members();
        for (uint32_t k = 0; k < members && !error; ++k) {
            const uint32_t member = order.empty() ? k : members - 1 - k;
            auto fiber = fresh();
            Core& core = fiber->core;
            const bool cube = member < launch.task.aics;
            core.unit = !soc().split ? Unit::Both : cube ? Unit::Cube : Unit::Vector;
            core.reset();
            core.block = block;
            core.blocks = launch.blocks;
            core.ratio = launch.task.aivs ? launch.task.aivs : 1;
            core.sub = cube ? 0 : member - launch.task.aics;
            core.rank = block * members + member;
            fiber->done = false;
            fiber->error = nullptr;
            fiber->ready = nullptr;
            aim_at_entry(*fiber);
            resume(*fiber);
            if (fiber->done) finish(std::move(fiber));
            else live.push_back(std::move(fiber));
        }
    }
    void finish(std::unique_ptr<Fiber> fiber) {
        ++ended;
        error = fiber->error;
        if (!error) count_core(fiber->core.cost, fiber->core.unit == Unit::Vector);
        // A fiber that ended by an error may hold what its stack never released.
        if (!error && spare_fibers().size() < kMostSpare) spare_fibers().push_back(std::move(fiber));
    }
    static std::unique_ptr<Fiber> fresh() {
        auto& spare = spare_fibers();
        if (spare.empty()) return std::make_unique<Fiber>();
        auto fiber = std::move(spare.back());
        spare.pop_back();
        return fiber;
    }
    // No core can go on.
    void hang() {
        uint32_t at_barrier = 0;
        std::string who;
        for (size_t i = 0; i < live.size(); ++i) {
            if (live[i]->waits_for == "SyncAll") ++at_barrier;
            if (i < 6) who += (i ? "; " : "") + live[i]->core.name() + " waits for " + live[i]->waits_for + place(live[i]->wait_place);
            if (i == 6) who += "; and " + text(live.size() - 6) + " more";
        }
        try {
            if (at_barrier == live.size())
                fail("syncall-missing-core",
                     text(at_barrier) + " of " + text(launch.cores()) + " cores reached SyncAll and the others ended: the device hangs",
                     live[0]->wait_place);
            fail("cross-core-hang", "every core that has not ended waits: the device hangs. " + who, live[0]->wait_place);
        } catch (...) {
            error = std::current_exception();
        }
    }
};

}  // namespace

Launch& launch_now() {
    if (!scheduler.launch) fail("outside-kernel", "an AscendC call outside a kernel launch", Where{"", 0});
    return *scheduler.launch;
}

bool is_core_memory(const void* address) {
    const Fiber* self = scheduler.running;
    const auto* at = static_cast<const uint8_t*>(address);
    return self &&
           ((at >= self->stack && at < self->stack + kStackBytes) || (at >= self->core.arena && at < self->core.arena + self->core.arena_bytes));
}

uint32_t resident_blocks(Task task) {
    const uint32_t by_vector = task.aivs ? soc().vector_cores / task.aivs : ~0u, by_cube = task.aics ? soc().cube_cores / task.aics : ~0u;
    return std::max(1u, std::min(by_vector, by_cube));
}

std::string Core::name() const {
    if (unit == Unit::Both) return "core " + text(block);
    if (unit == Unit::Cube) return "AIC " + text(block);
    return "AIV " + text(static_cast<uint64_t>(block) * ratio + sub);
}

void Core::reset() {
    Core fresh;
    fresh.arena = arena;
    fresh.arena_bytes = arena_bytes;
    fresh.shadow = shadow;
    fresh.hazards = hazards;
    fresh.unit = unit;
    fresh.steps_left = step_limit();
    if (hazards->tick) hazards->reset();
    std::copy(std::begin(memories), std::end(memories), std::begin(fresh.memories));
    for (Memory& memory : fresh.memories) memory.used = 0;
    *this = std::move(fresh);
    // What no InitBuffer gives out can still be reached by address; it holds an earlier kernel's data.
    // A vector core has no use for the memories behind the unified buffer.
    const uint64_t far = unit == Unit::Vector ? memories[0].bytes : arena_bytes;
    std::fill(shadow, shadow + far / 8, static_cast<uint8_t>(0xff));
}

void run_blocks(uint32_t blocks, Task task, const std::string& kernel, const std::function<void()>& body) {
    static std::recursive_mutex one_launch;
    const std::lock_guard<std::recursive_mutex> guard(one_launch);
    if (scheduler.body) fail("nested-launch", "a kernel launches a kernel", Where{"", 0});
    std::vector<uint32_t> order;
    try {
        if (blocks == 0 || blocks > 65535)
            fail("block-count", "launch of " + kernel + " with blockDim " + text(blocks) + "; it must be in 1..65535", Where{"", 0});
        order = start_order(blocks);
    } catch (const KernelError&) {
        flush_report();
        throw;
    }
    std::exception_ptr error;
    for (bool again = true; again;) {
        again = false;
        Run run;
        run.launch.kernel = kernel;
        run.launch.blocks = blocks;
        run.launch.task = soc().split ? task : Task{0, 1, false};
        run.order = order;
        scheduler.body = &body;
        scheduler.launch = &run.launch;
        run.go();
        if (!run.error) end_races(run.launch);
        scheduler.body = nullptr;
        scheduler.launch = nullptr;
        current_core = nullptr;
        error = run.error;
        if (!error) break;
        try {
            std::rethrow_exception(error);
        } catch (const Restart& restart) {
            // Asked for before the first core did anything: nothing has to be undone.
            again = true;
            task = restart.task;
        } catch (...) {
        }
    }
    ++launches_ended;
    flush_report();
    if (error) forget_cost();
    else flush_cost(kernel);
    if (error) std::rethrow_exception(error);
}

void end_core() { throw CoreEnds{}; }

void require_task(Task task, Where where) {
    if (!soc().split || launch_now().task == task) return;
    const Core& now = core();
    if (!now.buffers.empty() || launch_now().started > 1)
        fail("task-type-late", "KERNEL_TASK_TYPE after the kernel began to work; put it first", where);
    throw Restart{task};
}

void wait_until(const std::function<bool()>& ready, const std::string& what, Where where) {
    Fiber* self = scheduler.running;
    self->ready = &ready;
    self->waits_for = what;
    self->wait_place = where;
    swapcontext(&self->context, &scheduler.home);
    self->ready = nullptr;
}

void sync_all(bool vector_only, uint32_t used, Where where) {
    Core& now = core();
    Launch& launch = launch_now();
    if (launch.blocks > resident_blocks(launch.task))
        fail("syncall-too-many-blocks", "SyncAll with " + text(launch.blocks) + " blocks on " + text(resident_blocks(launch.task)) +
             " cores: the device hangs", where);
    if (vector_only && launch.task.aivs && !now.has_vector()) return;  // the vector cores' affair
    ++now.cost.barriers;
    Barrier& barrier = launch.barriers[used ? 2 + used : vector_only ? 1 : 0];
    const uint64_t seen = barrier.generation;
    const uint32_t wanted = used ? used : vector_only ? launch.vector_cores() : launch.cores();
    const bool whole = wanted == launch.cores();
    put_scalar_runs(now);
    const Channel round = signal_channel(&barrier, static_cast<int64_t>(seen), 0);
    if (!whole) publish(round);
    if (++barrier.arrived == wanted) {
        barrier.arrived = 0;
        ++barrier.generation;
        if (whole) all_met(launch);
    }
    wait_until([&] { return barrier.generation != seen; }, "SyncAll", where);
    if (!whole) acquire(round);
    sync_pipes(now);
}

void endless(Where where) {
    fail("endless-loop", "more calls than a kernel makes that ends (OPMEND_SIM_STEPS): a loop without an end is near", where);
}

}  // namespace opmend_sim
