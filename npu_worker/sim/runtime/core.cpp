// Cores, fibers, the unified buffer, global memory ranges and the findings.
#include "opmend_sim/core.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "opmend_sim/types.h"

namespace opmend_sim {

Core* current_core = nullptr;

namespace {

constexpr size_t kStackBytes = 4u << 20;
constexpr size_t kMostFindings = 256;

struct FindingKey {
    std::string rule, severity, file;
    int line;
    bool operator<(const FindingKey& other) const {
        return std::tie(rule, severity, file, line) < std::tie(other.rule, other.severity, other.file, other.line);
    }
};
struct FindingText {
    std::string message;
    uint64_t count = 0;
};
std::map<FindingKey, FindingText>& findings() {
    static std::map<FindingKey, FindingText> all;
    return all;
}
std::string& running_kernel() {
    static std::string name;
    return name;
}

std::string escaped(const std::string& raw) {
    std::string out;
    for (const char c : raw) {
        if (c == '"' || c == '\\') out += '\\', out += c;
        else if (static_cast<unsigned char>(c) < 0x20) out += ' ';
        else out += c;
    }
    return out;
}

std::string place(Where where) {
    return where.file && *where.file ? " (" + std::string(where.file) + ":" + std::to_string(where.line) + ")" : "";
}

uint32_t poison_word() {
    static const uint32_t word = [] {
        const char* text = std::getenv("OPMEND_SIM_POISON");
        return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 16)) : 0x7fc17fc1u;
    }();
    return word;
}

// 910B2 unless OPMEND_SIM_SOC says otherwise. Core counts of 910B1..B4 and buffer sizes: research/ascendc.md.
constexpr Soc kSocs[] = {
    {"Ascend910B1", 24, 48, 196608}, {"Ascend910B2", 24, 48, 196608}, {"Ascend910B3", 20, 40, 196608}, {"Ascend910B4", 20, 40, 196608},
};

struct Fiber {
    ucontext_t context{};
    Core core;
    void* stack = nullptr;
    std::unique_ptr<uint8_t[]> memory;
    bool done = false, started = false, at_barrier = false;
    std::exception_ptr error;
    Fiber() {
        stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (stack == MAP_FAILED) throw std::bad_alloc();
        mprotect(stack, 4096, PROT_NONE);
        memory.reset(new uint8_t[soc().ub_bytes + 512]);
        core.ub = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.get()) + 511) / 512 * 512);
        core.ub_bytes = soc().ub_bytes;
    }
    ~Fiber() { munmap(stack, kStackBytes); }
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
};

struct Scheduler {
    ucontext_t home{};
    Fiber* running = nullptr;
    const std::function<void()>* body = nullptr;
    uint32_t blocks = 0, ended = 0, arrived = 0;
};
Scheduler scheduler;

// Fibers are kept for the next launch: their stacks and buffers are costly to map.
std::vector<std::unique_ptr<Fiber>>& spare_fibers() {
    static std::vector<std::unique_ptr<Fiber>> spare;
    return spare;
}

void end_checks(Core& core) {
    for (const Buffer& buffer : core.buffers)
        if (buffer.state != BufferState::Plain && buffer.state != BufferState::Free)
            note("queue-leak", "violation", "the kernel ends while this queue buffer was never freed (FreeTensor)", buffer.where);
    for (int event = 0; event < 64; ++event)
        if (core.events_set[event]) {
            note("flag-unpaired", "warning", "SetFlag without WaitFlag at the end of the kernel", Where{"", 0});
            break;
        }
}

void enter() {
    Fiber* self = scheduler.running;
    try {
        (*scheduler.body)();
        end_checks(self->core);
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

void pause_running() {
    Fiber* self = scheduler.running;
    swapcontext(&self->context, &scheduler.home);
}

struct Storage {
    Range range;
    uint64_t launch;  // how many launches had ended when it was last seen
};
std::map<uintptr_t, Storage>& storages() {
    static std::map<uintptr_t, Storage> all;
    return all;
}
uint64_t launches_ended = 0;

}  // namespace

const Soc& soc() {
    static const Soc& chosen = [&]() -> const Soc& {
        const char* name = std::getenv("OPMEND_SIM_SOC");
        for (const Soc& one : kSocs)
            if (name && std::string(one.name) == name) return one;
        return kSocs[1];
    }();
    return chosen;
}

void note(const char* rule, const char* severity, const std::string& message, Where where) {
    auto& all = findings();
    const FindingKey key{rule, severity, where.file ? where.file : "", where.line};
    auto found = all.find(key);
    if (found == all.end()) {
        if (all.size() >= kMostFindings) return;
        found = all.emplace(key, FindingText{message, 0}).first;
    }
    ++found->second.count;
}

void fail(const char* rule, const std::string& message, Where where) {
    note(rule, "error", message, where);
    throw KernelError(std::string(rule) + ": " + message + place(where));
}

void unsupported(const std::string& what, Where where) {
    note("unsupported", "error", what, where);
    throw KernelError("unsupported by the simulator: " + what + place(where));
}

void flush_report() {
    auto& all = findings();
    if (all.empty()) return;
    const char* path = std::getenv("OPMEND_SIM_REPORT");
    if (path && *path) {
        if (FILE* out = std::fopen(path, "a")) {
            for (const auto& [key, value] : all) {
                std::fprintf(out, "{\"rule\": \"%s\", \"severity\": \"%s\", \"message\": \"%s\", ", escaped(key.rule).c_str(),
                             key.severity.c_str(), escaped(value.message).c_str());
                if (!key.file.empty()) std::fprintf(out, "\"file\": \"%s\", \"line\": %d, ", escaped(key.file).c_str(), key.line);
                std::fprintf(out, "\"count\": %llu}\n", static_cast<unsigned long long>(value.count));
            }
            std::fclose(out);
        }
    }
    all.clear();
}

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

uint8_t* Core::take(uint32_t bytes, Where where) {
    const uint64_t rounded = (static_cast<uint64_t>(bytes) + 31) / 32 * 32;
    if (ub_used + rounded > ub_bytes)
        fail("ub-overflow", "InitBuffer needs " + text(ub_used + rounded) + " bytes of the unified buffer; there are " + text(ub_bytes), where);
    uint8_t* start = ub + ub_used;
    ub_used += static_cast<uint32_t>(rounded);
    poison(start, rounded);
    return start;
}

Buffer* Core::add_buffer(uint8_t* data, uint32_t bytes, BufferState state, Where where) {
    buffers.push_back(Buffer{data, bytes, state, where});
    return &buffers.back();
}

void Core::reset() {
    uint8_t* const kept = ub;
    const uint32_t bytes = ub_bytes;
    *this = Core();
    ub = kept;
    ub_bytes = bytes;
}

void run_blocks(uint32_t blocks, const std::string& kernel, const std::function<void()>& body) {
    static std::recursive_mutex one_launch;
    const std::lock_guard<std::recursive_mutex> guard(one_launch);
    if (scheduler.body) fail("nested-launch", "a kernel launches a kernel", Where{"", 0});
    if (blocks == 0 || blocks > 65535) fail("block-count", "launch of " + kernel + " with blockDim " + text(blocks) + "; it must be in 1..65535", Where{"", 0});
    running_kernel() = kernel;
    scheduler.body = &body;
    scheduler.blocks = blocks;
    scheduler.ended = scheduler.arrived = 0;
    std::vector<std::unique_ptr<Fiber>> waiting;  // arrived at SyncAll, in block order
    std::exception_ptr error;
    auto fresh = [] {
        auto& spare = spare_fibers();
        if (spare.empty()) return std::make_unique<Fiber>();
        auto fiber = std::move(spare.back());
        spare.pop_back();
        return fiber;
    };
    auto keep = [](std::unique_ptr<Fiber> fiber) {
        if (spare_fibers().size() < 64) spare_fibers().push_back(std::move(fiber));
    };
    for (uint32_t block = 0; block < blocks && !error; ++block) {
        auto fiber = fresh();
        fiber->core.reset();
        fiber->core.block = block;
        fiber->core.blocks = blocks;
        fiber->done = false;
        fiber->error = nullptr;
        aim_at_entry(*fiber);
        resume(*fiber);
        if (!fiber->done) {
            waiting.push_back(std::move(fiber));
            continue;
        }
        ++scheduler.ended;
        error = fiber->error;
        if (!error) keep(std::move(fiber));
    }
    while (!waiting.empty() && !error) {
        if (scheduler.arrived != blocks) {
            try {
                fail("syncall-missing-core", text(scheduler.arrived) + " of " + text(blocks) + " cores reached SyncAll and the others ended: the device hangs",
                     Where{"", 0});
            } catch (...) {
                error = std::current_exception();
            }
            break;
        }
        scheduler.arrived = 0;
        std::vector<std::unique_ptr<Fiber>> again;
        for (auto& fiber : waiting) {
            resume(*fiber);
            if (!fiber->done) {
                again.push_back(std::move(fiber));
                continue;
            }
            ++scheduler.ended;
            error = fiber->error;
            if (error) break;
            keep(std::move(fiber));
        }
        waiting = std::move(again);
    }
    scheduler.body = nullptr;
    current_core = nullptr;
    ++launches_ended;
    flush_report();
    if (error) std::rethrow_exception(error);
}

void sync_all(Where where) {
    Core& now = core();
    if (now.blocks > soc().vector_cores)
        fail("syncall-too-many-blocks", "SyncAll with " + text(now.blocks) + " blocks on " + text(soc().vector_cores) + " cores: the device hangs", where);
    ++scheduler.arrived;
    pause_running();
}

void register_global(const void* begin, size_t bytes) {
    if (!begin || !bytes) return;
    auto& all = storages();
    auto* from = static_cast<uint8_t*>(const_cast<void*>(begin));
    uint8_t* to = from + bytes;
    auto it = all.upper_bound(reinterpret_cast<uintptr_t>(from));
    if (it != all.begin() && std::prev(it)->second.range.end > from) --it;
    while (it != all.end() && it->second.range.begin < to) {
        // What overlaps and was seen before the last launch was freed since; what was seen after it shares memory.
        if (it->second.launch == launches_ended) {
            from = std::min(from, it->second.range.begin);
            to = std::max(to, it->second.range.end);
        }
        it = all.erase(it);
    }
    all[reinterpret_cast<uintptr_t>(from)] = Storage{Range{from, to}, launches_ended};
}

void forget_global(const void* begin) { storages().erase(reinterpret_cast<uintptr_t>(begin)); }

Range find_global(const void* address) {
    auto& all = storages();
    const auto at = reinterpret_cast<uintptr_t>(address);
    auto it = all.upper_bound(at);
    if (it == all.begin()) return Range{};
    --it;
    // An address a little past the end still belongs here: the message can say how far.
    if (at > reinterpret_cast<uintptr_t>(it->second.range.end) + (1u << 20)) return Range{};
    return it->second.range;
}

}  // namespace opmend_sim
