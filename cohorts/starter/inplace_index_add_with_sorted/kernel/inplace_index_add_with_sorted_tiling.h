#ifndef INPLACE_INDEX_ADD_WITH_SORTED_TILING_H
#define INPLACE_INDEX_ADD_WITH_SORTED_TILING_H
#include <cstdint>

// var is [outer, axisLength, inner], value is [valueOuter, indexCount, inner] with valueOuter <= outer.
struct IndexAddTiling {
    int64_t outer;
    int64_t axisLength;
    int64_t inner;
    int64_t valueOuter;
    int64_t indexCount;
    int32_t hasAlpha;
};

#endif  // INPLACE_INDEX_ADD_WITH_SORTED_TILING_H
