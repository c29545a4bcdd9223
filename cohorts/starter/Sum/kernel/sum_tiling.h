#ifndef SUM_TILING_H
#define SUM_TILING_H
#include <cstdint>

// The tensor seen as [outer, length, inner], reduced over length.
struct SumTiling {
    int64_t outer;
    int64_t length;
    int64_t inner;
};

#endif  // SUM_TILING_H
