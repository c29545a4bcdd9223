// Device guards: there is one device.
#pragma once
#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace c10_npu {
struct NPUGuard {
    template <class... A> explicit NPUGuard(const A&...) {}
};
struct OptionalNPUGuard {
    template <class... A> explicit OptionalNPUGuard(const A&...) {}
};
}  // namespace c10_npu
