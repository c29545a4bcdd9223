// What a core did, counted for every run, and what that comes to in cycles. The counters are exact; the cycles are an estimate from published
// data rates alone (runtime/cost.cpp says where each comes from): no latencies, no bank conflicts, so a lower bound and no measurement.
#pragma once
#include <cstdint>
#include <string>

#include "opmend_sim/report.h"
#include "opmend_sim/soc.h"

namespace opmend_sim {

struct Cost {
    uint64_t vector_calls = 0, vector_repeats = 0;  // a repeat is 256 bytes of the widest operand
    uint64_t cube_calls = 0, cube_steps = 0;        // a step multiplies 16 rows by 16 columns over 32 bytes of K: a cycle of the cube unit
    uint64_t scalars = 0;                           // GetValue, SetValue
    uint64_t copies = 0;                            // DataCopy and its like, LoadData, Fixpipe
    uint64_t barriers = 0, flags = 0;               // PipeBarrier and SyncAll; SetFlag and WaitFlag, cross-core flags too
    uint64_t moved[kSpaces + 1][kSpaces + 1] = {};  // bytes, [from][to] by Space

    void move(Space from, Space to, uint64_t bytes) {
        ++copies;
        moved[static_cast<int>(from)][static_cast<int>(to)] += bytes;
    }
    // One Mmad or its like. size: of an element of the left matrix (4 for float, 2 for half, 1 for int8).
    void multiply(uint64_t m, uint64_t n, uint64_t k, uint64_t size) {
        const uint64_t lanes = 32 / size;
        ++cube_calls;
        cube_steps += (m + 15) / 16 * ((n + 15) / 16) * ((k + lanes - 1) / lanes);
    }
    // A vector call checks its operands one after the other: those of one call share its place and differ in name, and the widest one
    // decides how many repeats the call takes. A name that comes again begins the next call.
    void operand(const char* call, const char* name, Where where, uint64_t bytes) {
        if (call != call_ || where.line != line_ || name == first_) {
            ++vector_calls;
            call_ = call;
            line_ = where.line;
            first_ = name;
            repeats_ = 0;
            said_ = false;
        }
        if (!said_) raise((bytes + 255) / 256);
    }
    // The call says how many repeats it takes: strides and masks hide it from `operand`.
    void repeats(uint64_t count) {
        vector_repeats -= repeats_;
        repeats_ = 0;
        raise(count);
        said_ = true;
    }
    void add(const Cost& other);

private:
    void raise(uint64_t count) {
        if (count <= repeats_) return;
        vector_repeats += count - repeats_;
        repeats_ = count;
    }
    const char* call_ = nullptr;
    const char* first_ = nullptr;
    int line_ = 0;
    bool said_ = false;
    uint64_t repeats_ = 0;
};

// The cycles of a core's pipes. Copies between global memory and L1 or the unified buffer are MTE2 (in) and MTE3 (out).
struct Cycles {
    double vector = 0, cube = 0, scalar = 0, mte1 = 0, mte2 = 0, mte3 = 0, fixpipe = 0;
    double overlapped() const;  // all pipes at work at a time: the slowest decides
    double serial() const;      // one pipe at a time
    void add(const Cycles& other);
};
Cycles cycles_of(const Cost& cost, bool vector_core);

// A core of the running launch ended.
void count_core(const Cost& cost, bool vector_core);
// The launch ended: one line for the side channel, {"cost": {...}}. A process's first 256 launches are a line each; later ones are added up and
// written whenever their number doubles. Lines add up to the whole.
//   kernel, soc; launches, cores; counters (of all cores): vector_calls, vector_repeats, cube_calls, cube_steps, scalars, copies, barriers, flags;
//   moved: {"gm>ub": bytes, ...}; busiest: of each launch's core with most cycles, added over launches,
//   {"cycles": overlapped, "serial": sum, "pipes": {"V": cycles, ...}};
//   rates: "sourced", or "guess" where a rate of this SoC is not published.
void flush_cost(const std::string& kernel);
// The launch failed: what its other cores did is not counted.
void forget_cost();

}  // namespace opmend_sim
