#ifndef NLL_LOSS_TILING_H
#define NLL_LOSS_TILING_H
#include <cstdint>

// The input seen as [batch, classes, spatial]; one target for each of batch * spatial positions.
struct NllLossTiling {
    int64_t batch;
    int64_t classes;
    int64_t spatial;
    int64_t ignoreIndex;
    int32_t hasWeight;
    int32_t reduction;  // 0 none, 1 mean, 2 sum
};

#endif  // NLL_LOSS_TILING_H
