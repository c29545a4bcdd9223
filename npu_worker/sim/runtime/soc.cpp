// The SoCs that can be chosen.
#include "opmend_sim/soc.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "opmend_sim/report.h"

namespace opmend_sim {
namespace {

constexpr uint32_t K = 1024;
//                                        UB        L1       L0A     L0B     L0C      BT     FB
#define OPMEND_DAV_2201 {196608, 512 * K, 64 * K, 64 * K, 128 * K, 1 * K, 7 * K}
#define OPMEND_DAV_1001 {262144, 1024 * K, 64 * K, 64 * K, 256 * K, 1 * K, 1 * K}
#define OPMEND_DAV_2002 {262144, 1024 * K, 64 * K, 64 * K, 256 * K, 1 * K, 1 * K}
#define OPMEND_DAV_3002 {253952, 1024 * K, 64 * K, 64 * K, 128 * K, 1 * K, 7 * K}
constexpr Soc kSocs[] = {
    {"Ascend910B2", 2201, true, 24, 48, OPMEND_DAV_2201, 8, 64},  // first: the default
    {"Ascend910B1", 2201, true, 24, 48, OPMEND_DAV_2201, 8, 64},
    {"Ascend910B3", 2201, true, 20, 40, OPMEND_DAV_2201, 8, 64},
    {"Ascend910B4", 2201, true, 20, 40, OPMEND_DAV_2201, 8, 64},
    // The 910_93 family has 910B's cores (dav-2201); counts: guess, from its halves.
    {"Ascend910_9391", 2201, true, 24, 48, OPMEND_DAV_2201, 8, 64},
    {"Ascend910_9392", 2201, true, 24, 48, OPMEND_DAV_2201, 8, 64},
    {"Ascend910_9381", 2201, true, 24, 48, OPMEND_DAV_2201, 8, 64},
    {"Ascend910_9382", 2201, true, 24, 48, OPMEND_DAV_2201, 8, 64},
    {"Ascend910_9372", 2201, true, 20, 40, OPMEND_DAV_2201, 8, 64},
    {"Ascend910_9362", 2201, true, 20, 40, OPMEND_DAV_2201, 8, 64},
    // Cube and vector units in one core. Memories beside the unified buffer: guess, 1 MiB of L1 and 256 KiB of L0C as the da Vinci papers say.
    {"Ascend910A", 1001, false, 32, 32, OPMEND_DAV_1001, 4, 64},
    {"Ascend310P1", 2002, false, 10, 10, OPMEND_DAV_2002, 8, 64},
    {"Ascend310P3", 2002, false, 8, 8, OPMEND_DAV_2002, 8, 64},
    {"Ascend310B1", 3002, false, 1, 1, OPMEND_DAV_3002, 8, 64},  // L1, L0C: guess
    {"Ascend310B4", 3002, false, 1, 1, OPMEND_DAV_3002, 8, 64},
};

}  // namespace

const Soc& soc() {
    static const Soc& chosen = []() -> const Soc& {
        const char* name = std::getenv("OPMEND_SIM_SOC");
        if (!name || !*name) return kSocs[0];
        std::string known;
        for (const Soc& one : kSocs) {
            if (std::strcmp(one.name, name) == 0) return one;
            known += std::string(known.empty() ? "" : ", ") + one.name;
        }
        fail("soc-unknown", "OPMEND_SIM_SOC names " + std::string(name) + "; there are " + known, Where{"", 0});
    }();
    return chosen;
}

}  // namespace opmend_sim

// For the host's headers, which need nothing else of the device.
namespace opmend_sim {
const char* soc_name() { return soc().name; }
}  // namespace opmend_sim
