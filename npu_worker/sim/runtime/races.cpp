// Cores in global memory: who touched what, and whether anything ordered it. Every access is kept as a (strided) block with the core and its
// vector clock; at a barrier of all cores, and at the end of a launch, blocks of different cores are held against each other. What is found
// does not depend on the order in which the cores ran.
#include <algorithm>
#include <memory>

#include "opmend_sim/schedule.h"

namespace opmend_sim {
namespace {

constexpr uint64_t kLine = 64;              // a scalar store writes a whole cache line back
constexpr uint64_t kMostPairs = 4'000'000;  // comparisons a check may make; what is left over is not looked at
constexpr size_t kMostBlocks = 4'000'000;
constexpr uint64_t kTail = 31;  // a read of whole 32-byte blocks may reach into a neighbour's bytes and drop them

using Clocks = std::vector<uint32_t>;

// rows of `width` bytes, `stride` apart.
struct Block {
    uint64_t begin, width, stride;
    uint32_t rows, rank, clock, known;  // known: which of the core's snapshots says what it had seen
    GlobalUse use;
    const char* call;
    Where where;
    uint64_t end() const { return begin + (rows - 1) * stride + width; }
};

struct CoreState {
    uint32_t clock = 1;
    Clocks clocks;                  // of the others; empty: nothing was ever waited for
    std::vector<Clocks> snapshots;  // every state of `clocks` an access was made in
    bool fresh = true;              // clocks changed since the last snapshot
    uint32_t recent[4] = {~0u, ~0u, ~0u, ~0u};
    uint32_t next_recent = 0;
    std::string name;
};

bool rows_overlap(uint64_t a, uint64_t a_width, uint64_t b, uint64_t b_width) { return a < b + b_width && b < a + a_width; }

// Whether two blocks share a byte, and the first one they share.
bool overlap(const Block& a, const Block& b, uint64_t& at, uint64_t& bytes) {
    const Block& few = a.rows <= b.rows ? a : b;
    const Block& many = a.rows <= b.rows ? b : a;
    for (uint32_t i = 0; i < few.rows; ++i) {
        const uint64_t begin = few.begin + i * few.stride, end = begin + few.width;
        uint64_t k = 0;
        if (many.rows > 1 && begin >= many.begin + many.width) k = (begin - many.begin - many.width) / many.stride + 1;
        // The first row that does not end before this one begins.
        while (k > 0 && many.begin + (k - 1) * many.stride + many.width > begin) --k;
        for (; k < many.rows; ++k) {
            const uint64_t other = many.begin + k * many.stride;
            if (other >= end) break;
            if (!rows_overlap(begin, few.width, other, many.width)) continue;
            at = std::max(begin, other);
            bytes = std::min(end, other + many.width) - at;
            return true;
        }
    }
    return false;
}

bool writes(GlobalUse use) { return use != GlobalUse::Read; }

std::string where_text(const Block& block) { return std::string(block.call) + place(block.where); }

}  // namespace

struct Races {
    std::vector<Block> blocks;
    std::vector<CoreState> cores;
    std::map<Channel, Clocks> channels;
    uint64_t pairs = 0;

    CoreState& state(const Core& core) {
        if (core.rank >= cores.size()) cores.resize(core.rank + 1u);
        CoreState& found = cores[core.rank];
        if (found.name.empty()) found.name = core.name();
        return found;
    }
    bool ordered(const Block& first, const Block& second) const {
        const CoreState& later = cores[second.rank];
        const Clocks& seen = later.snapshots.empty() ? later.clocks : later.snapshots[second.known];
        return first.rank < seen.size() && seen[first.rank] >= first.clock;
    }
    void add(const Core& core, Block block) {
        CoreState& own = state(core);
        if (block.rows > 1 && block.stride == block.width)
            block = {block.begin, block.width * block.rows, 0, 1, 0, 0, 0, block.use, block.call, block.where};
        if (block.rows == 1) block.stride = 0;
        block.rank = core.rank;
        block.clock = own.clock;
        for (const uint32_t index : own.recent)
            if (index < blocks.size() && merge(blocks[index], block)) return;
        if (blocks.size() >= kMostBlocks) return;
        if (own.fresh) {
            own.snapshots.push_back(own.clocks);
            own.fresh = false;
        }
        block.known = static_cast<uint32_t>(own.snapshots.size() - 1);
        own.recent[own.next_recent++ % 4] = static_cast<uint32_t>(blocks.size());
        blocks.push_back(block);
    }
    // Makes one block of two accesses that continue each other.
    static bool merge(Block& old, const Block& fresh) {
        if (old.rank != fresh.rank || old.clock != fresh.clock || old.use != fresh.use || old.where.line != fresh.where.line ||
            old.where.file != fresh.where.file)
            return false;
        if (old.rows == 1 && fresh.rows == 1) {
            if (fresh.begin >= old.begin && fresh.begin <= old.begin + old.width) {
                old.width = std::max(old.width, fresh.begin + fresh.width - old.begin);
                return true;
            }
            if (fresh.width == old.width && fresh.begin > old.begin) {
                old.stride = fresh.begin - old.begin;
                old.rows = 2;
                return true;
            }
            return false;
        }
        if (fresh.width != old.width) return false;
        if (fresh.rows == old.rows && fresh.begin == old.begin && fresh.stride == old.stride) return true;
        if (old.rows > 1 && (fresh.rows == 1 || fresh.stride == old.stride) && fresh.begin == old.begin + old.rows * old.stride) {
            old.rows += fresh.rows;
            return true;
        }
        return false;
    }
    void check() {
        std::vector<Block> stores, loads;
        for (const Block& block : blocks) (writes(block.use) ? stores : loads).push_back(block);
        blocks.clear();
        if (stores.empty()) return;
        Core* const running = current_core;
        current_core = nullptr;  // a finding names both cores itself
        sweep(stores);
        against(stores, loads);
        lines(stores);
        current_core = running;
    }
    void sweep(std::vector<Block>& stores) {
        std::sort(stores.begin(), stores.end(), [](const Block& a, const Block& b) { return a.begin < b.begin; });
        std::vector<const Block*> open;
        for (const Block& now : stores) {
            open.erase(std::remove_if(open.begin(), open.end(), [&](const Block* one) { return one->end() <= now.begin; }), open.end());
            for (const Block* one : open) {
                if (one->rank == now.rank || (one->use == GlobalUse::Atomic && now.use == GlobalUse::Atomic)) continue;
                if (++pairs > kMostPairs) return;
                compare("cross-core-overlap", *one, now);
            }
            open.push_back(&now);
        }
    }
    void against(const std::vector<Block>& stores, std::vector<Block>& loads) {
        std::vector<uint64_t> furthest(stores.size());
        uint64_t far = 0;
        for (size_t i = 0; i < stores.size(); ++i) furthest[i] = far = std::max(far, stores[i].end());
        for (Block& load : loads) {
            if (load.width > kTail + 1) load.width -= kTail;
            auto past = std::lower_bound(stores.begin(), stores.end(), load.end(), [](const Block& one, uint64_t end) { return one.begin < end; });
            for (auto i = past - stores.begin() - 1; i >= 0 && furthest[static_cast<size_t>(i)] > load.begin; --i) {
                const Block& store = stores[static_cast<size_t>(i)];
                if (store.rank == load.rank || store.end() <= load.begin) continue;
                if (++pairs > kMostPairs) return;
                compare("cross-core-race", store, load);
            }
        }
    }
    // Scalar stores write whole cache lines back: another core's bytes in the line are lost.
    void lines(const std::vector<Block>& stores) {
        struct Wide {
            Block lines, bytes;
        };
        std::vector<Wide> wide;
        bool scalar = false;
        for (const Block& block : stores) {
            if (block.use == GlobalUse::Atomic) continue;
            Block lines = block;
            if (block.use == GlobalUse::Scalar && (block.rows == 1 || block.stride % kLine == 0)) {
                lines.begin = block.begin / kLine * kLine;
                lines.width = (block.begin + block.width + kLine - 1) / kLine * kLine - lines.begin;
                scalar = true;
            }
            wide.push_back({lines, block});
        }
        if (!scalar) return;
        std::sort(wide.begin(), wide.end(), [](const Wide& a, const Wide& b) { return a.lines.begin < b.lines.begin; });
        std::vector<const Wide*> open;
        for (const Wide& now : wide) {
            open.erase(std::remove_if(open.begin(), open.end(), [&](const Wide* one) { return one->lines.end() <= now.lines.begin; }), open.end());
            for (const Wide* one : open) {
                if (one->lines.rank == now.lines.rank || (one->lines.use != GlobalUse::Scalar && now.lines.use != GlobalUse::Scalar)) continue;
                if (++pairs > kMostPairs) return;
                uint64_t at = 0, bytes = 0;
                if (!overlap(one->bytes, now.bytes, at, bytes)) compare("cache-line-shared", one->lines, now.lines);
            }
            open.push_back(&now);
        }
    }
    void compare(const char* rule, const Block& a, const Block& b) {
        uint64_t at = 0, bytes = 0;
        if (ordered(a, b) || ordered(b, a) || !overlap(a, b, at, bytes)) return;
        const Range range = find_global(reinterpret_cast<const void*>(at));
        const uint64_t base = reinterpret_cast<uintptr_t>(range.begin);
        const std::string bytes_text = "bytes " + text(at - base) + " to " + text(at - base + bytes) + " of a storage of " +
                                       text(static_cast<uint64_t>(range.end - range.begin));
        const std::string &first = cores[a.rank].name, &second = cores[b.rank].name;
        if (rule[6] == 'l')  // cache-line-shared
            return note(rule, "warning",
                        first + " and " + second + " write into one 64-byte cache line (" + bytes_text +
                            "), one of them by scalar stores: " + where_text(a) + ", " + where_text(b),
                        a.use == GlobalUse::Scalar ? a.where : b.where);
        if (b.use == GlobalUse::Read)
            return note(rule, "violation",
                        second + " reads what " + first + " writes (" + bytes_text + "), and nothing orders them: " + where_text(b) + " reads, " +
                            where_text(a) + " writes",
                        b.where);
        note(rule, "violation",
             first + " and " + second + " both write " + bytes_text + ", and nothing orders them: " + where_text(a) + ", " + where_text(b), b.where);
    }
};

namespace {
Races& races() {
    Launch& launch = launch_now();
    if (!launch.races) launch.races = std::make_shared<Races>();
    return *launch.races;
}
void meet(Clocks& to, const Clocks& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}
}  // namespace

void used_global(const void* begin, uint64_t bytes, uint64_t rows, uint64_t stride, GlobalUse use, const char* call, Where where) {
    if (!bytes || !rows || launch_now().cores() == 1) return;
    races().add(core(), Block{reinterpret_cast<uintptr_t>(begin), bytes, stride, static_cast<uint32_t>(rows), 0, 0, 0, use, call, where});
}

void put_scalar_runs(Core& core) {
    for (Core::ScalarRun& run : core.scalar_runs) {
        if (run.end)
            races().add(core, Block{run.begin, run.end - run.begin, 0, 1, 0, 0, 0, run.store ? GlobalUse::Scalar : GlobalUse::Read,
                                    run.store ? "SetValue" : "GetValue", Where{run.file, run.line}});
        run = Core::ScalarRun();
    }
}
void begin_scalar_run(Core& core, Core::ScalarRun& run, uint64_t at, uint64_t bytes, bool store, Where where) {
    if (launch_now().cores() == 1) return;
    if (run.end)
        races().add(core, Block{run.begin, run.end - run.begin, 0, 1, 0, 0, 0, run.store ? GlobalUse::Scalar : GlobalUse::Read,
                                run.store ? "SetValue" : "GetValue", Where{run.file, run.line}});
    run = {at, at + bytes, where.line, store, where.file};
}

void publish(const Channel& channel) {
    if (launch_now().cores() == 1) return;
    put_scalar_runs(core());
    Races& all = races();
    const Core& now = core();
    CoreState& own = all.state(now);
    Clocks mine = own.clocks;
    if (mine.size() <= now.rank) mine.resize(now.rank + 1u);
    mine[now.rank] = own.clock++;
    meet(all.channels[channel], mine);
}

void acquire(const Channel& channel) {
    if (launch_now().cores() == 1) return;
    Races& all = races();
    const auto found = all.channels.find(channel);
    if (found == all.channels.end()) return;
    put_scalar_runs(core());
    CoreState& own = all.state(core());
    meet(own.clocks, found->second);
    own.fresh = true;
    std::fill(std::begin(own.recent), std::end(own.recent), ~0u);  // what follows knows more than what was before
}

void all_met(Launch& launch) {
    if (!launch.races) return;
    launch.races->check();
    launch.races->channels.clear();
    for (CoreState& one : launch.races->cores) one = CoreState();
}

void end_races(Launch& launch) {
    if (launch.races) launch.races->check();
    launch.races.reset();
}

Channel flag_channel(int mode, bool cube, uint32_t block, int64_t id) { return {static_cast<uintptr_t>(mode * 2 + cube), block, id}; }
Channel signal_channel(const void* what, int64_t block, int64_t event) { return {reinterpret_cast<uintptr_t>(what), block, event}; }

}  // namespace opmend_sim
