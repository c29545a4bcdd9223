// What the host side asks about the device.
#pragma once
#include <cstdint>

#include "opmend_sim/soc.h"

namespace platform_ascendc {
enum class CoreMemType { L0_A, L0_B, L0_C, L1, L2, UB, HBM, RESERVED };
enum class SocVersion { ASCEND910, ASCEND910B, ASCEND310P, ASCEND310B, RESERVED_VERSION = 99999 };

class PlatformAscendC {
public:
    PlatformAscendC() = default;
    explicit PlatformAscendC(const void*) {}
    uint32_t GetCoreNum() const { return ::opmend_sim::soc().cube_cores; }
    uint32_t GetCoreNumAic() const { return ::opmend_sim::soc().cube_cores; }
    uint32_t GetCoreNumAiv() const { return ::opmend_sim::soc().vector_cores; }
    uint32_t GetCoreNumVector() const { return 0; }
    uint32_t CalcTschBlockDim(uint32_t sliced, uint32_t aic, uint32_t aiv) const { return aic == 0 || aiv == 0 ? sliced : (sliced + 1) / 2; }
    SocVersion GetSocVersion() const { return SocVersion::ASCEND910B; }
    uint32_t GetLibApiWorkSpaceSize() const { return 16u << 20; }
    void GetCoreMemSize(const CoreMemType& type, uint64_t& bytes) const {
        switch (type) {
            case CoreMemType::UB: bytes = ::opmend_sim::soc().of(::opmend_sim::Space::UB); break;
            case CoreMemType::L1: bytes = 512u << 10; break;
            case CoreMemType::L0_A:
            case CoreMemType::L0_B: bytes = 64u << 10; break;
            case CoreMemType::L0_C: bytes = 128u << 10; break;
            case CoreMemType::L2: bytes = 192ull << 20; break;
            default: bytes = 0;
        }
    }
};
class PlatformAscendCManager {
public:
    static PlatformAscendC* GetInstance() {
        static PlatformAscendC one;
        return &one;
    }
    static PlatformAscendC* GetInstance(const char*) { return GetInstance(); }
};
}  // namespace platform_ascendc
