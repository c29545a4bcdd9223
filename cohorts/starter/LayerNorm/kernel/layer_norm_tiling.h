#ifndef LAYER_NORM_TILING_H
#define LAYER_NORM_TILING_H
#include <cstdint>

struct LayerNormTiling {
    int64_t rows;  // product of the leading dimensions
    int64_t cols;  // product of normalized_shape
    float epsilon;
    int32_t hasWeight;
    int32_t hasBias;
};

#endif  // LAYER_NORM_TILING_H
