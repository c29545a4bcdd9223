#ifndef ADD_TILING_H
#define ADD_TILING_H
#include <cstdint>

constexpr int32_t ADD_MAX_DIMS = 4;

struct AddTiling {
    int64_t shape[ADD_MAX_DIMS];    // output shape, filled up with leading ones
    int64_t xStride[ADD_MAX_DIMS];  // in elements, 0 where x is broadcast
    int64_t yStride[ADD_MAX_DIMS];  // in elements, 0 where y is broadcast
    int64_t rows;                   // product of the first three dimensions
    int64_t cols;                   // last dimension
    float alpha;
};

#endif  // ADD_TILING_H
