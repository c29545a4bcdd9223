// Programs in CPU mode: a kernel is a plain function that the host calls once a launch. Names and forms as public CPU-mode samples use them.
#pragma once
#include "acl/acl.h"
#include "kernel_operator.h"

namespace opmend_sim {
// What SetKernelMode chose for the next ICPU_RUN_KF; none until it is called, and then KERNEL_TASK_TYPE decides.
struct IcpuMode {
    bool chosen = false;
    Task task;
};
inline IcpuMode& icpu_mode() {
    static IcpuMode mode;
    return mode;
}
template <class... Parameters, class... Arguments>
void icpu_run(uint32_t blocks, const char* name, void (*kernel)(Parameters...), Arguments... arguments) {
    static_assert(sizeof...(Parameters) == sizeof...(Arguments), "ICPU_RUN_KF: the kernel takes another number of arguments");
    auto body = [&] { kernel((Parameters)(arguments)...); };
    run_blocks(blocks, icpu_mode().chosen ? icpu_mode().task : Task{}, name, body);
}
}  // namespace opmend_sim

enum class KernelMode : uint8_t { MIX_MODE = 0, AIC_MODE, AIV_MODE, MIX_AIC_1_1, MIX_VECTOR_CORE };

namespace AscendC {
inline void* GmAlloc(size_t bytes) { return ::opmend_sim::device_memory(bytes ? bytes : 1); }
inline void GmFree(void* data) { aclrtFree(data); }
inline void SetKernelMode(KernelMode mode) {
    using ::opmend_sim::Task;
    const Task tasks[] = {Task{1, 2, true}, Task{1, 0, false}, Task{0, 1, false}, Task{1, 1, true}, Task{0, 1, true}};
    ::opmend_sim::icpu_mode() = {true, tasks[static_cast<int>(mode)]};
}
}  // namespace AscendC

#define ICPU_RUN_KF(function, blockDim, ...) ::opmend_sim::icpu_run(static_cast<uint32_t>(blockDim), #function, function, ##__VA_ARGS__)
#define ICPU_SET_TILING_KEY(key) (::opmend_sim::tiling_key() = static_cast<uint64_t>(key))
