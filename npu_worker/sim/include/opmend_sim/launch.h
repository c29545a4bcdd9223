// The launch forms. The toolchain turns k<<<n, l2, stream>>>(args) into opmend_sim::launch(...), keeping lines.
#pragma once
#include <tuple>

#include "opmend_sim/core.h"

namespace opmend_sim {
template <class Body, class... Args>
void launch(uint32_t blocks, const void*, const void*, const char* kernel, Body body, Args... args) {
    run_blocks(blocks, kernel, [&] { body(args...); });
}
}  // namespace opmend_sim

#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel
