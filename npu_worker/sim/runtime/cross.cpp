// Waiting between cores. Every way to wait is also an order between what the two cores do in global memory (`publish`, `acquire`).
#include "opmend_sim/cross.h"

#include "opmend_sim/schedule.h"

namespace opmend_sim {
namespace {

constexpr int kFlags = 16;
constexpr uint8_t kMostSets = 15;  // of one flag that nothing waited for (documentation of CrossCoreWaitFlag)

void check_id(int64_t id, const char* call, Where where) {
    if (id < 0 || id >= kFlags)
        fail("cross-core-flag-id", std::string(call) + " with flag id " + std::to_string(id) + "; ids are 0 to 10 (11 to 15 belong to the library)",
             where);
}

// Ranks of the cores of a flag's group, without those of the other kind.
template <class Each> void each_of_kind(const Launch& launch, const Core& now, bool own_block, bool cube, Each each) {
    const uint32_t members = launch.members();
    const uint32_t first = own_block ? now.block : 0, last = own_block ? now.block + 1 : launch.blocks;
    for (uint32_t block = first; block < last; ++block)
        for (uint32_t member = 0; member < members; ++member)
            if ((member < launch.task.aics) == cube) each(block * members + member);
}

void fire(Launch& launch, uint32_t rank, int64_t id, Where where) {
    uint8_t& count = launch.flags[rank * kFlags + static_cast<uint32_t>(id)];
    if (count >= kMostSets)
        note("cross-core-flag-overflow", "violation", "flag " + std::to_string(id) + " was set more than 15 times without a wait", where);
    else ++count;
}

}  // namespace

void cross_set(int mode, int64_t id, Where where) {
    const Core& now = core();
    Launch& launch = launch_now();
    check_id(id, "CrossCoreSetFlag", where);
    ++core().cost.flags;
    if (!launch.task.mix && soc().split)
        note("cross-core-task", "violation", "CrossCoreSetFlag in a kernel that is no MIX task", where);
    if (launch.flags.empty()) {
        launch.flags.resize(static_cast<size_t>(launch.cores()) * kFlags);
        launch.sets.resize(static_cast<size_t>(launch.cores()) * kFlags * 3);
    }
    const bool cube = now.unit == Unit::Cube;
    publish(flag_channel(mode, cube, mode == 0 ? 0 : now.block, id));
    auto sets = [&](uint32_t rank) -> uint8_t& {
        return launch.sets[(rank * 3u + static_cast<uint32_t>(mode)) * kFlags + static_cast<uint32_t>(id)];
    };
    if (mode == 2 && cube) {
        each_of_kind(launch, now, true, false, [&](uint32_t rank) { fire(launch, rank, id, where); });
        return;
    }
    ++sets(now.rank);
    bool all = true;
    each_of_kind(launch, now, mode != 0, cube, [&](uint32_t rank) { all = all && sets(rank) > 0; });
    if (!all) return;
    each_of_kind(launch, now, mode != 0, cube, [&](uint32_t rank) { --sets(rank); });
    if (mode == 2) each_of_kind(launch, now, true, true, [&](uint32_t rank) { fire(launch, rank, id, where); });
    else each_of_kind(launch, now, mode != 0, cube, [&](uint32_t rank) { fire(launch, rank, id, where); });
}

void cross_wait(int64_t id, Where where) {
    const Core& now = core();
    Launch& launch = launch_now();
    check_id(id, "CrossCoreWaitFlag", where);
    ++core().cost.flags;
    const size_t at = static_cast<size_t>(now.rank) * kFlags + static_cast<size_t>(id);
    auto ready = [&] { return !launch.flags.empty() && launch.flags[at] > 0; };
    if (!ready()) wait_until(ready, "cross-core flag " + std::to_string(id), where);
    --launch.flags[at];
    const bool cube = now.unit == Unit::Cube;
    // Which mode set it is not known here: what any setter of this id did before is ordered.
    acquire(flag_channel(0, cube, 0, id));
    acquire(flag_channel(1, cube, now.block, id));
    acquire(flag_channel(2, !cube, now.block, id));
}

void signal_set(const void* workspace, int64_t block, int64_t event, Where where) {
    bool& set = launch_now().signals[{reinterpret_cast<uintptr_t>(workspace), block, event}];
    if (set) wait_until([&] { return !set; }, "IBWait of block " + std::to_string(block) + ", event " + std::to_string(event), where);
    set = true;
    publish(signal_channel(workspace, block, event));
}

void signal_wait(const void* workspace, int64_t block, int64_t event, Where where) {
    bool& set = launch_now().signals[{reinterpret_cast<uintptr_t>(workspace), block, event}];
    if (!set) wait_until([&] { return set; }, "IBSet of block " + std::to_string(block) + ", event " + std::to_string(event), where);
    set = false;
    acquire(signal_channel(workspace, block, event));
}

void notify_next(Where) {
    Launch& launch = launch_now();
    const auto self = static_cast<size_t>(AscendC::GetBlockIdx());
    if (launch.notified.empty()) launch.notified.resize(launch.cores());
    ++launch.notified[self];
    publish(signal_channel(&launch.notified, static_cast<int64_t>(self), 0));
}

void wait_previous(Where where) {
    Launch& launch = launch_now();
    const auto self = static_cast<size_t>(AscendC::GetBlockIdx());
    if (launch.notified.empty()) launch.notified.resize(launch.cores());
    if (launch.awaited.empty()) launch.awaited.resize(launch.cores());
    // The first block waits for the last one's turn of the round before.
    const size_t before = self ? self - 1 : launch.vector_cores() - 1;
    const uint32_t wanted = self ? launch.awaited[self] + 1 : launch.awaited[self];
    ++launch.awaited[self];
    if (launch.notified[before] < wanted)
        wait_until([&] { return launch.notified[before] >= wanted; }, "NotifyNextBlock of block " + text(before), where);
    acquire(signal_channel(&launch.notified, static_cast<int64_t>(before), 0));
}

}  // namespace opmend_sim
