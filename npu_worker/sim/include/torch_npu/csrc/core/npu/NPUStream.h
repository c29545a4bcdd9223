// The current stream: there is one, and it is in order.
#pragma once
#include <cstdint>

#include "acl/acl.h"

namespace c10_npu {
class NPUStream {
public:
    aclrtStream stream() const { return nullptr; }
    aclrtStream stream(bool) const { return nullptr; }
    void synchronize() const {}
    operator aclrtStream() const { return nullptr; }
};
inline NPUStream getCurrentNPUStream(int8_t = -1) { return {}; }
inline NPUStream getDefaultNPUStream(int8_t = -1) { return {}; }
inline int8_t current_device() { return 0; }
inline int device_count() { return 1; }
}  // namespace c10_npu
