// Cost counters of a launch, and cycles from a SoC's rates.
#include "opmend_sim/cost.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace opmend_sim {
namespace {

// Bytes a cycle of one core, by the way of the data. 0: no such way.
// Sources: "platform" = values of the toolkit's platform_config files as public repositories quote them (unit tests of operator libraries for
// 910A and 310P, performance notes for 910B1); "width" = the vector unit's 256 bytes and the cube's 16x16x16 half products a cycle (Hot Chips
// 2019; on 910B the platform files say 128 lanes of half, which is the same); "guess" = not published: taken from the nearest sibling.
struct Rates {
    uint32_t architecture;
    bool guess;            // one of the rates is a guess
    double gm_in, gm_out;  // shares of global memory when all cores work
    double l1_l0a, l1_l0b, l1_ub, ub_l1, l0c_out;
    double ub_ub;          // guess everywhere: a copy inside the unified buffer goes through the vector unit, 256 bytes a repeat
    double scalar;         // cycles a scalar access of memory: guess everywhere
};
constexpr Rates kRates[] = {
    // 910B (platform, 910B1): 32 bytes a cycle for a cube core and its two vector cores; l1_to_l0_a 512. l1_to_l0_b 256: guess, as 910A.
    {2201, true, 16, 16, 512, 256, 128, 128, 256, 256, 1},
    // 910A (platform): ddr_read 67, ddr_write 64, l1_to_l0_a 512, l1_to_l0_b 256, l1_to_ub 128, ub_to_l1 128, l0_c_to_ub 256.
    {1001, false, 67, 64, 512, 256, 128, 128, 256, 256, 1},
    // 310P (platform): ddr 17, l1_to_l0_a 512, l1_to_l0_b 256, l1_to_ub 128, ub_to_l1 256, l0_c_to_ub 256.
    {2002, false, 17, 17, 512, 256, 128, 256, 256, 256, 1},
    // 310B: guess, as 310P.
    {3002, true, 17, 17, 512, 256, 128, 256, 256, 256, 1},
};
const Rates& rates() {
    for (const Rates& one : kRates)
        if (one.architecture == soc().architecture) return one;
    return kRates[0];
}

constexpr const char* kNames[kSpaces + 1] = {"ub", "l1", "l0a", "l0b", "l0c", "bt", "fb", "gm"};
constexpr uint64_t kLines = 256;

// What cores did: in the running launch, and in the launches since the last line.
struct Sums {
    Cost all;
    Cycles busiest;
    double overlapped = 0;
    uint64_t cores = 0, launches = 0;
};
Sums running, sums;
uint64_t launches_seen = 0;

void print_pipe(FILE* out, const char*& comma, const char* name, double cycles) {
    if (cycles <= 0) return;
    std::fprintf(out, "%s\"%s\": %.0f", comma, name, cycles);
    comma = ", ";
}

}  // namespace

void Cost::add(const Cost& other) {
    vector_calls += other.vector_calls;
    vector_repeats += other.vector_repeats;
    cube_calls += other.cube_calls;
    cube_steps += other.cube_steps;
    scalars += other.scalars;
    copies += other.copies;
    barriers += other.barriers;
    flags += other.flags;
    for (int from = 0; from <= kSpaces; ++from)
        for (int to = 0; to <= kSpaces; ++to) moved[from][to] += other.moved[from][to];
}

void Cycles::add(const Cycles& other) {
    vector += other.vector;
    cube += other.cube;
    scalar += other.scalar;
    mte1 += other.mte1;
    mte2 += other.mte2;
    mte3 += other.mte3;
    fixpipe += other.fixpipe;
}
double Cycles::overlapped() const { return std::max({vector, cube, scalar, mte1, mte2, mte3, fixpipe}); }
double Cycles::serial() const { return vector + cube + scalar + mte1 + mte2 + mte3 + fixpipe; }

Cycles cycles_of(const Cost& cost, bool vector_core) {
    const Rates& rate = rates();
    // On 910B global memory's rate is a vector core's share; a cube core has its vector cores' shares together.
    const double share = soc().split && !vector_core ? 2.0 : 1.0;
    auto bytes = [&](Space from, Space to) { return static_cast<double>(cost.moved[static_cast<int>(from)][static_cast<int>(to)]); };
    Cycles cycles;
    cycles.vector = static_cast<double>(cost.vector_repeats) + bytes(Space::UB, Space::UB) / rate.ub_ub;
    cycles.cube = static_cast<double>(cost.cube_steps);
    cycles.scalar = static_cast<double>(cost.scalars) * rate.scalar;
    for (const Space to : {Space::UB, Space::L1, Space::L0A, Space::L0B, Space::BT, Space::FB})
        cycles.mte2 += bytes(Space::Global, to) / (rate.gm_in * share);
    for (const Space from : {Space::UB, Space::L1}) cycles.mte3 += bytes(from, Space::Global) / (rate.gm_out * share);
    cycles.mte3 += bytes(Space::UB, Space::L1) / rate.ub_l1;
    cycles.mte1 = bytes(Space::L1, Space::L0A) / rate.l1_l0a + bytes(Space::L1, Space::L0B) / rate.l1_l0b +
                  (bytes(Space::L1, Space::UB) + bytes(Space::L1, Space::BT) + bytes(Space::L1, Space::FB)) / rate.l1_ub;
    cycles.fixpipe = bytes(Space::L0C, Space::Global) / (rate.gm_out * share) +
                     (bytes(Space::L0C, Space::L1) + bytes(Space::L0C, Space::UB)) / rate.l0c_out;
    return cycles;
}

void count_core(const Cost& cost, bool vector_core) {
    running.all.add(cost);
    ++running.cores;
    const Cycles cycles = cycles_of(cost, vector_core);
    if (cycles.overlapped() > running.busiest.overlapped()) running.busiest = cycles;
}

void forget_cost() { running = Sums{}; }

void flush_cost(const std::string& kernel) {
    sums.all.add(running.all);
    sums.cores += running.cores;
    sums.overlapped += running.busiest.overlapped();
    sums.busiest.add(running.busiest);  // launches follow each other
    running = Sums{};
    ++sums.launches;
    ++launches_seen;
    if (launches_seen > kLines && (launches_seen & (launches_seen - 1)) != 0) return;
    const char* path = std::getenv("OPMEND_SIM_REPORT");
    FILE* out = path && *path ? std::fopen(path, "a") : nullptr;
    if (out) {
        std::string name;
        for (const char c : kernel)
            if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') name += c;
        const Cost& all = sums.all;
        std::fprintf(out, "{\"cost\": {\"kernel\": \"%s\", \"soc\": \"%s\", ", name.c_str(), soc().name);
        const std::pair<const char*, uint64_t> counters[] = {
            {"launches", sums.launches}, {"cores", sums.cores}, {"vector_calls", all.vector_calls}, {"vector_repeats", all.vector_repeats},
            {"cube_calls", all.cube_calls}, {"cube_steps", all.cube_steps}, {"scalars", all.scalars}, {"copies", all.copies},
            {"barriers", all.barriers}, {"flags", all.flags}};
        auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
        for (const auto& [key, value] : counters) std::fprintf(out, "\"%s\": %llu, ", key, number(value));
        std::fprintf(out, "\"moved\": {");
        const char* comma = "";
        for (int from = 0; from <= kSpaces; ++from)
            for (int to = 0; to <= kSpaces; ++to)
                if (all.moved[from][to]) {
                    std::fprintf(out, "%s\"%s>%s\": %llu", comma, kNames[from], kNames[to], number(all.moved[from][to]));
                    comma = ", ";
                }
        const Cycles& busiest = sums.busiest;
        std::fprintf(out, "}, \"busiest\": {\"cycles\": %.0f, \"serial\": %.0f, \"pipes\": {", sums.overlapped, busiest.serial());
        comma = "";
        print_pipe(out, comma, "V", busiest.vector);
        print_pipe(out, comma, "M", busiest.cube);
        print_pipe(out, comma, "S", busiest.scalar);
        print_pipe(out, comma, "MTE1", busiest.mte1);
        print_pipe(out, comma, "MTE2", busiest.mte2);
        print_pipe(out, comma, "MTE3", busiest.mte3);
        print_pipe(out, comma, "FIX", busiest.fixpipe);
        std::fprintf(out, "}}, \"rates\": \"%s\"}}\n", rates().guess ? "guess" : "sourced");
        std::fclose(out);
    }
    sums = Sums{};
}

}  // namespace opmend_sim
