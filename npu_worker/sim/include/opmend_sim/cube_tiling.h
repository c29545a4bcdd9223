// TCubeTiling: what the host's tiling tells a Matmul object. 50 int32 fields in the order of the public structure (as kernels copy it word by
// word out of global memory). M, N, Ka, Kb: the whole matrices; singleCore*: one core's part; base*: one step of the cube unit.
#pragma once
#include <cstddef>
#include <cstdint>

#define OPMEND_CUBE_TILING_FIELDS(X)                                                                                                   \
    X(usedCoreNum) X(M) X(N) X(Ka) X(Kb) X(singleCoreM) X(singleCoreN) X(singleCoreK) X(baseM) X(baseN) X(baseK) X(depthA1) X(depthB1)  \
    X(stepM) X(stepN) X(isBias) X(transLength) X(iterateOrder) X(shareMode) X(shareL1Size) X(shareL0CSize) X(shareUbSize) X(batchM)     \
    X(batchN) X(singleBatchM) X(singleBatchN) X(stepKa) X(stepKb) X(depthAL1CacheUB) X(depthBL1CacheUB) X(dbL0A) X(dbL0B) X(dbL0C)      \
    X(ALayoutInfoB) X(ALayoutInfoS) X(ALayoutInfoN) X(ALayoutInfoG) X(ALayoutInfoD) X(BLayoutInfoB) X(BLayoutInfoS) X(BLayoutInfoN)     \
    X(BLayoutInfoG) X(BLayoutInfoD) X(CLayoutInfoB) X(CLayoutInfoS1) X(CLayoutInfoN) X(CLayoutInfoG) X(CLayoutInfoS2) X(BatchNum)       \
    X(mxTypePara)

namespace AscendC::tiling {
struct TCubeTiling {
#define OPMEND_FIELD(name) int32_t name = 0;
    OPMEND_CUBE_TILING_FIELDS(OPMEND_FIELD)
#undef OPMEND_FIELD
};
static_assert(sizeof(TCubeTiling) == 200);
}  // namespace AscendC::tiling
using AscendC::tiling::TCubeTiling;

namespace optiling {
// The host's spelling: the same words, with set_x and get_x.
struct TCubeTiling : ::AscendC::tiling::TCubeTiling {
#define OPMEND_FIELD(name)                       \
    void set_##name(int32_t value) { name = value; } \
    int32_t get_##name() const { return name; }
    OPMEND_CUBE_TILING_FIELDS(OPMEND_FIELD)
#undef OPMEND_FIELD
    size_t GetDataSize() const { return sizeof(::AscendC::tiling::TCubeTiling); }
    void SaveToBuffer(void* out, size_t capacity) const {
        if (out && capacity >= GetDataSize()) *static_cast<::AscendC::tiling::TCubeTiling*>(out) = *this;
    }
};
static_assert(sizeof(TCubeTiling) == sizeof(::AscendC::tiling::TCubeTiling));
}  // namespace optiling
