// The launch forms. The toolchain turns k<<<n, l2, stream>>>(args) into opmend_sim::launch(...), keeping lines.
#pragma once
#include <tuple>

#include "opmend_sim/core.h"

namespace opmend_sim {
// The form for a kernel that is known to be more than vector code (`__mix__`, `__cube__`, or by what it calls).
template <class Body, class... Args>
void launch_as(Task task, uint32_t blocks, const void*, const void*, const char* kernel, Body body, Args... args) {
    run_blocks(blocks, task, kernel, [&] { body(args...); });
}
template <class Body, class... Args>
void launch(uint32_t blocks, const void* l2, const void* stream, const char* kernel, Body body, Args... args) {
    launch_as(Task{}, blocks, l2, stream, kernel, body, args...);
}
// Makes a kernel known to calls of its operator; `start` gets the kernel's arguments, all of them addresses. column: the combination of types of
// the operator's description that it was compiled for, or -1 for all of them.
bool add_kernel(const char* name, uint32_t parameters, Task task, void (*start)(uint8_t* const* arguments), int column);
}  // namespace opmend_sim

#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel
