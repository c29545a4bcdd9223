#pragma once
#include <cstdint>
struct SoftmaxTilingData {
    uint32_t rows;
    uint32_t cols;
    uint32_t colsAlign;
    uint32_t rowsPerCore;
    uint32_t dtype;
};
