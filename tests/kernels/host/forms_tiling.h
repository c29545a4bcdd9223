#pragma once
#include <cstdint>
struct FormsTiling {
    int32_t first;
    int32_t second;
};
