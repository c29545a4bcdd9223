#ifndef CUMSUM_TILING_H
#define CUMSUM_TILING_H
#include <cstdint>

// The tensor seen as [outer, length, inner], scanned along length.
struct CumsumTiling {
    int64_t outer;
    int64_t length;
    int64_t inner;
};

#endif  // CUMSUM_TILING_H
