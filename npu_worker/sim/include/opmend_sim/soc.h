// SoCs as data. Sizes in bytes. Sources: research/ascendc.md (unified buffers, split L1 and L0, core counts of 910B); core counts of
// 910B1..B4 and 310P3 as the toolkit's platform_config files say; bias table and fixpipe buffer 1 KiB and 7 KiB (public constants of
// dav-2201 kernels). What is marked "guess" was not found in a public document.
#pragma once
#include <cstdint>

namespace opmend_sim {

// A local memory. A position of the programming model (TPosition) lies in one of them.
enum class Space : uint8_t { UB, L1, L0A, L0B, L0C, BT, FB, Global };
inline constexpr int kSpaces = 7;

struct Soc {
    const char* name;
    uint32_t architecture;     // 1001, 2002, 2201, 3002
    bool split;                // cube and vector units are cores of their own (AIC, AIV)
    uint32_t cube_cores;       // AICs; on a SoC that is not split, AI cores
    uint32_t vector_cores;     // AIVs; on a SoC that is not split, AI cores
    uint32_t bytes[kSpaces];   // by Space
    uint32_t live_tensors;     // most tensors of one position that are allocated at a time
    uint32_t buffers;          // most buffers a kernel may init
    uint32_t of(Space space) const { return bytes[static_cast<int>(space)]; }
};
// The chosen one: OPMEND_SIM_SOC, else Ascend910B2.
const Soc& soc();

}  // namespace opmend_sim
