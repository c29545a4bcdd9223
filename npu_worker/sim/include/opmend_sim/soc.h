// One SoC as data. Sizes in bytes. Source: research/ascendc.md.
#pragma once
#include <cstdint>

namespace opmend_sim {
struct Soc {
    const char* name;
    uint32_t cube_cores;
    uint32_t vector_cores;
    uint32_t ub_bytes;
};
// The chosen one: OPMEND_SIM_SOC, else Ascend910B2.
const Soc& soc();
}  // namespace opmend_sim
