#ifndef GNS_TILING
#define GNS_TILING
#include <stdint.h>
typedef struct {
    int64_t batch, groups, channelsPerGroup, inner, groupSize;
    float eps, swish;
} GnsTiling;
#endif
