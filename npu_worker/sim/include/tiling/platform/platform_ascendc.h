// What the host side asks about the device.
#pragma once
#include <cstdint>
#include <cstring>

#include "opmend_sim/soc.h"

namespace platform_ascendc {
enum class CoreMemType { L0_A, L0_B, L0_C, L1, L2, UB, HBM, FB, BT, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B, ASCEND310P, ASCEND310B, ASCEND910_93, RESERVED_VERSION = 99999 };

class PlatformAscendC {
public:
    PlatformAscendC() = default;
    explicit PlatformAscendC(const void*) {}
    uint32_t GetCoreNum() const { return ::opmend_sim::soc().cube_cores; }
    uint32_t GetCoreNumAic() const { return ::opmend_sim::soc().cube_cores; }
    uint32_t GetCoreNumAiv() const { return ::opmend_sim::soc().vector_cores; }
    uint32_t GetCoreNumVector() const { return 0; }
    uint32_t CalcTschBlockDim(uint32_t sliced, uint32_t aic, uint32_t aiv) const { return aic == 0 || aiv == 0 ? sliced : (sliced + 1) / 2; }
    SocVersion GetSocVersion() const {
        switch (::opmend_sim::soc().architecture) {
            case 1001: return SocVersion::ASCEND910;
            case 2002: return SocVersion::ASCEND310P;
            case 3002: return SocVersion::ASCEND310B;
            default: return std::strncmp(::opmend_sim::soc().name, "Ascend910_93", 12) == 0 ? SocVersion::ASCEND910_93 : SocVersion::ASCEND910B;
        }
    }
    uint32_t GetLibApiWorkSpaceSize() const { return 16u << 20; }
    uint32_t GetResGroupBarrierWorkSpaceSize() const { return 16u << 20; }
    uint32_t GetResCubeGroupWorkSpaceSize() const { return 16u << 20; }
    // Bytes of a memory. HBM has no end here that a tiling could meet. L2: 192 MiB on 910B (public data sheets), guessed for the others.
    void GetCoreMemSize(const CoreMemType& type, uint64_t& bytes) const {
        using ::opmend_sim::Space;
        switch (type) {
            case CoreMemType::UB: bytes = ::opmend_sim::soc().of(Space::UB); break;
            case CoreMemType::L1: bytes = ::opmend_sim::soc().of(Space::L1); break;
            case CoreMemType::L0_A: bytes = ::opmend_sim::soc().of(Space::L0A); break;
            case CoreMemType::L0_B: bytes = ::opmend_sim::soc().of(Space::L0B); break;
            case CoreMemType::L0_C: bytes = ::opmend_sim::soc().of(Space::L0C); break;
            case CoreMemType::BT: bytes = ::opmend_sim::soc().of(Space::BT); break;
            case CoreMemType::FB: bytes = ::opmend_sim::soc().of(Space::FB); break;
            case CoreMemType::L2: bytes = 192ull << 20; break;
            case CoreMemType::HBM: bytes = 64ull << 30; break;
            default: bytes = 0;
        }
    }
    // Bytes a cycle of one core: guesses of the right size.
    void GetCoreMemBw(const CoreMemType& type, uint64_t& bytes) const { bytes = type == CoreMemType::HBM ? 32 : 110; }
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
