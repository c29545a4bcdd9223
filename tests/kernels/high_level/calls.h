#pragma once
#include <cstdint>
struct CallCase {
    uint32_t what, m, k, used, other;
};
