// The host's functions that size scratch buffers and fill tiling structs for the high-level library. Names and parameters as in the public
// interface; the sizes are this project's own rule, and larger than what the simulator's calls need, which is none.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "kernel_tiling/kernel_tiling.h"
#include "tiling/platform/platform_ascendc.h"

namespace ge {
// A shape as the graph engine's host code has it.
class Shape {
public:
    Shape() = default;
    Shape(const std::vector<int64_t>& dims) : dims_(dims) {}
    Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
    size_t GetDimNum() const { return dims_.size(); }
    int64_t GetDim(size_t i) const { return i < dims_.size() ? dims_[i] : 0; }
    int64_t SetDim(size_t i, int64_t value) { return i < dims_.size() ? dims_[i] = value, 0 : -1; }
    std::vector<int64_t> GetDims() const { return dims_; }
    int64_t GetShapeSize() const {
        int64_t size = 1;
        for (const int64_t dim : dims_) size *= dim;
        return size;
    }

private:
    std::vector<int64_t> dims_;
};
}  // namespace ge

namespace opmend_sim {
inline uint32_t last_of(const ge::Shape& shape) { return shape.GetDimNum() ? static_cast<uint32_t>(shape.GetDim(shape.GetDimNum() - 1)) : 0; }
inline uint32_t rows_of(const ge::Shape& shape) { return last_of(shape) ? static_cast<uint32_t>(shape.GetShapeSize() / last_of(shape)) : 0; }
inline uint32_t blocks(uint64_t bytes) { return static_cast<uint32_t>((bytes + 31) / 32 * 32); }
// One row of floats, or all of them, and a few blocks.
inline void sizes_by_rows(const ge::Shape& shape, uint32_t& most, uint32_t& least) {
    least = blocks(static_cast<uint64_t>(last_of(shape)) * 4 * 4 + 1024);
    most = blocks(static_cast<uint64_t>(shape.GetShapeSize()) * 4 * 4 + 1024);
    if (most < least) most = least;
}
template <class Tiling> void fill_rows(const ge::Shape& shape, uint32_t type_bytes, uint32_t scratch_bytes, Tiling& tiling) {
    const uint32_t m = rows_of(shape), k = last_of(shape), block = type_bytes ? 32 / type_bytes : 8;
    uint32_t at_once = k ? scratch_bytes / (k * 4 * 4) : 0;
    at_once = at_once < 1 ? 1 : at_once > m ? m : at_once;
    tiling.srcM = m, tiling.srcK = k, tiling.srcSize = m * k;
    tiling.outMaxM = m, tiling.outMaxK = block, tiling.outMaxSize = m * block;
    tiling.splitM = at_once, tiling.splitK = k, tiling.splitSize = at_once * k;
    tiling.reduceM = at_once, tiling.reduceK = block, tiling.reduceSize = at_once * block;
    tiling.rangeM = at_once ? m / at_once : 0, tiling.tailM = at_once ? m % at_once : 0;
    tiling.tailSplitSize = tiling.tailM * k, tiling.tailReduceSize = tiling.tailM * block;
}
inline ge::Shape stored(const ge::Shape& shape) {
    return shape.GetDimNum() == 4 ? ge::Shape({shape.GetDim(0), shape.GetDim(1), shape.GetDim(2)}) : shape;
}
// {B, S, H}, or {B, S, H as stored, H as meant}.
template <class Tiling> void fill_bsh(const ge::Shape& shape, uint32_t original, Tiling& tiling) {
    const size_t rank = shape.GetDimNum();
    const bool both = rank == 4;
    tiling.bLength = rank > 2 ? static_cast<uint32_t>(shape.GetDim(0)) : 1;
    tiling.hLength = both ? static_cast<uint32_t>(shape.GetDim(2)) : last_of(shape);
    tiling.sLength = both ? static_cast<uint32_t>(shape.GetDim(1)) : tiling.bLength ? rows_of(shape) / tiling.bLength : 0;
    tiling.originalHLength = original ? original : last_of(shape);
}
}  // namespace opmend_sim

namespace AscendC {
#define OPMEND_SIZES(Name)                                                                                                                           \
    inline void Get##Name##MaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {            \
        ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);                                                                                   \
    }                                                                                                                                                \
    OPMEND_FACTORS(Name)
#define OPMEND_FACTORS(Name)                                                                                                                         \
    inline void Get##Name##TmpBufferFactorSize(const uint32_t, uint32_t& maxLiveNodeCount, uint32_t& extraBuf) {                                     \
        maxLiveNodeCount = 4, extraBuf = 1024;                                                                                                       \
    }
OPMEND_SIZES(Tanh)
OPMEND_SIZES(Sigmoid) OPMEND_SIZES(Gelu) OPMEND_SIZES(Silu) OPMEND_SIZES(Swish) OPMEND_SIZES(GeGLU) OPMEND_SIZES(SwiGLU) OPMEND_SIZES(ReGlu)
    OPMEND_SIZES(Erf) OPMEND_SIZES(Erfc) OPMEND_SIZES(Exp) OPMEND_SIZES(Log) OPMEND_SIZES(Log2) OPMEND_SIZES(Log10) OPMEND_SIZES(Sin)
        OPMEND_SIZES(Cos) OPMEND_SIZES(Tan) OPMEND_SIZES(Asin) OPMEND_SIZES(Acos) OPMEND_SIZES(Atan) OPMEND_SIZES(Sinh) OPMEND_SIZES(Cosh)
            OPMEND_SIZES(Asinh) OPMEND_SIZES(Acosh) OPMEND_SIZES(Atanh) OPMEND_SIZES(Floor) OPMEND_SIZES(Ceil) OPMEND_SIZES(Round) OPMEND_SIZES(Rint)
                OPMEND_SIZES(Trunc) OPMEND_SIZES(Frac) OPMEND_SIZES(Fmod) OPMEND_SIZES(Sign) OPMEND_SIZES(Lgamma) OPMEND_SIZES(Digamma)
                    OPMEND_SIZES(Xor) OPMEND_SIZES(Axpy) OPMEND_SIZES(DropOut) OPMEND_FACTORS(LayerNorm) OPMEND_SIZES(AscendQuant)
 OPMEND_FACTORS(AscendDequant) OPMEND_SIZES(ReduceXorSum) OPMEND_FACTORS(LayerNormGrad) OPMEND_FACTORS(LayerNormGradBeta)
 OPMEND_FACTORS(DeepNorm) OPMEND_FACTORS(BatchNorm) OPMEND_FACTORS(GroupNorm) OPMEND_FACTORS(WelfordUpdate) OPMEND_FACTORS(Normalize)
#undef OPMEND_SIZES
#undef OPMEND_FACTORS
                                inline void GetPowerMaxMinTmpSize(const ge::Shape& base, const ge::Shape&, const bool, const uint32_t, const bool,
                                                                  uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(base, maxValue, minValue);
}
inline void GetClampMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline void GetRmsNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue, const bool = false) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline bool GetCumSumMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, const bool, uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
    return true;
}
inline void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = ::opmend_sim::blocks(n * 4 + 256);
}
inline void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = ::opmend_sim::blocks(n * 4 + 256);
}
// Their shape ends with the width twice: {B, S, H as stored, H as meant}.
#define OPMEND_BSH_SIZES(Name)                                                                                                                       \
    inline void Get##Name##MaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {            \
        ::opmend_sim::sizes_by_rows(::opmend_sim::stored(srcShape), maxValue, minValue);                                                             \
    }
OPMEND_BSH_SIZES(LayerNorm)
OPMEND_BSH_SIZES(LayerNormGrad)
OPMEND_BSH_SIZES(LayerNormGradBeta)
#undef OPMEND_BSH_SIZES
// These have parameters of their own.
inline void GetLayerNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, const bool, const bool, uint32_t& maxValue,
                                      uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline void GetNormalizeMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const uint32_t, const bool, const bool, const bool,
                                      uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline void GetWelfordUpdateMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const uint32_t, const bool, const bool, uint32_t& maxValue,
                                          uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline void GetWelfordFinalizeMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline void GetGroupNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline bool GetDeepNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, const bool, uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
    return true;
}
inline bool GetBatchNormMaxMinTmpSize(const ge::Shape& srcShape, const ge::Shape&, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue,
                                      const bool = false) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
    return true;
}
inline void GetAscendDequantMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const int32_t inner, const int32_t outter, const bool, const bool,
                                 const TopKMode, const bool, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = ::opmend_sim::blocks(static_cast<uint64_t>(inner) * static_cast<uint64_t>(outter) * 16 + 1024);
    return true;
}
template <class Tiling>
bool TopKTilingFunc(const platform_ascendc::PlatformAscendC&, const int32_t inner, const int32_t outter, const int32_t, const uint32_t, const bool,
                    const TopKMode, const bool, Tiling& tiling) {
    tiling.innerDataSize = inner, tiling.allDataSize = inner * outter, tiling.tmpLocalSize = inner * outter * 4;
    return true;
}
// Sort and Concat of a 910B: pairs of eight bytes, twice.
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t elemCount, const uint32_t) { return elemCount * 8; }
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC&, const uint32_t elemCount, const uint32_t) { return elemCount * 8; }
inline void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape&, const ge::Shape& dstShape, const uint32_t,
                                      const bool, uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(dstShape, maxValue, minValue);
}
#define OPMEND_REDUCE_SIZES(Name)                                                                                                                    \
    inline void Get##Name##MaxMinTmpSize(const ge::Shape& srcShape, const int32_t, const int32_t, const bool, const bool, uint32_t& maxValue, uint32_t& minValue) { \
        ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);                                                                                   \
    }
OPMEND_REDUCE_SIZES(ReduceSum)
OPMEND_REDUCE_SIZES(ReduceMean) OPMEND_REDUCE_SIZES(ReduceMax) OPMEND_REDUCE_SIZES(ReduceMin) OPMEND_REDUCE_SIZES(ReduceProd)
    OPMEND_REDUCE_SIZES(ReduceAny) OPMEND_REDUCE_SIZES(ReduceAll)
#undef OPMEND_REDUCE_SIZES

        inline uint32_t GetSoftMaxMaxTmpSize(const ge::Shape& srcShape, const uint32_t, const bool) {
    uint32_t most = 0, least = 0;
    ::opmend_sim::sizes_by_rows(srcShape, most, least);
    return most;
}
inline uint32_t GetSoftMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool) {
    uint32_t most = 0, least = 0;
    ::opmend_sim::sizes_by_rows(srcShape, most, least);
    return least;
}
inline void SoftMaxTilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                              tiling::SoftMaxTiling& tiling) {
    ::opmend_sim::fill_rows(srcShape, dataTypeSize, localWorkSpaceSize, tiling);
}
inline bool IsBasicBlockInSoftMax(const tiling::SoftMaxTiling& tiling, const uint32_t = 2) { return tiling.srcM % 8 == 0 && tiling.srcK % 64 == 0; }
#define OPMEND_SOFTMAX_SIZES(Name)                                                                                    \
    template <class... A> uint32_t Get##Name##MaxTmpSize(const ge::Shape& srcShape, A...) { return GetSoftMaxMaxTmpSize(srcShape, 4, false); } \
    template <class... A> uint32_t Get##Name##MinTmpSize(const ge::Shape& srcShape, A...) { return GetSoftMaxMinTmpSize(srcShape, 4, false); }
OPMEND_SOFTMAX_SIZES(SoftMaxFlash)
OPMEND_SOFTMAX_SIZES(SoftMaxFlashV2) OPMEND_SOFTMAX_SIZES(SoftMaxGrad) OPMEND_SOFTMAX_SIZES(LogSoftMax)
#undef OPMEND_SOFTMAX_SIZES
    template <class... A>
    void GetSoftMaxFlashV3MaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const uint32_t, uint32_t& maxValue, uint32_t& minValue, A...) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline void SoftMaxFlashTilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                                   tiling::SoftMaxTiling& tiling, const bool = false) {
    ::opmend_sim::fill_rows(srcShape, dataTypeSize, localWorkSpaceSize, tiling);
}
template <class... A>
void SoftMaxFlashV2TilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize1, const uint32_t, const uint32_t localWorkSpaceSize,
                              tiling::SoftMaxTiling& tiling, A...) {
    ::opmend_sim::fill_rows(srcShape, dataTypeSize1, localWorkSpaceSize, tiling);
}
template <class... A>
void SoftMaxFlashV3TilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize1, const uint32_t, const uint32_t localWorkSpaceSize,
                              tiling::SoftMaxTiling& tiling, A...) {
    ::opmend_sim::fill_rows(srcShape, dataTypeSize1, localWorkSpaceSize, tiling);
}
inline void SoftMaxGradTilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize,
                                  tiling::SoftMaxTiling& tiling, const bool = false) {
    ::opmend_sim::fill_rows(srcShape, dataTypeSize, localWorkSpaceSize, tiling);
}
inline void LogSoftMaxTilingFunc(const ge::Shape& srcShape, const uint32_t, const uint32_t, tiling::LogSoftMaxTiling& tiling) {
    tiling.srcM = ::opmend_sim::rows_of(srcShape), tiling.srcK = ::opmend_sim::last_of(srcShape), tiling.srcSize = tiling.srcM * tiling.srcK,
    tiling.splitM = tiling.srcM;
}
// Both spellings are in public code.
inline void GetLayerNormNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t, const bool,
                                     tiling::LayerNormTiling& tiling) {
    ::opmend_sim::fill_bsh(srcShape, 0, tiling);
    tiling.inputXSize = tiling.bLength * tiling.sLength * tiling.hLength, tiling.meanVarSize = tiling.bLength * tiling.sLength,
    tiling.tmpBufSize = stackBufferSize;
}
inline void GetLayerNormNDTillingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const bool isReuseSource,
                                      tiling::LayerNormTiling& tiling) {
    GetLayerNormNDTilingInfo(srcShape, stackBufferSize, typeSize, isReuseSource, tiling);
}
inline void GetLayerNormNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t, const bool, const bool,
                                     tiling::LayerNormSeparateTiling& tiling) {
    tiling.aLength = ::opmend_sim::rows_of(srcShape), tiling.rLength = ::opmend_sim::last_of(srcShape), tiling.tmpBufSize = stackBufferSize;
    tiling.rValueBack = tiling.rLength ? 1.0f / static_cast<float>(tiling.rLength) : 0.0f;
}
inline void GetLayerNormGradNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t, const bool,
                                         tiling::LayerNormGradTiling& tiling) {
    ::opmend_sim::fill_bsh(srcShape, 0, tiling);
    tiling.stackBufferSize = stackBufferSize;
}
inline void GetLayerNormGradBetaNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t, const bool,
                                             tiling::LayerNormGradBetaTiling& tiling) {
    ::opmend_sim::fill_bsh(srcShape, 0, tiling);
    tiling.stackBufferSize = stackBufferSize;
}
inline bool GetRmsNormTilingInfo(const ge::Shape& srcShape, const ge::Shape& originSrcShape, const uint32_t, const uint32_t,
                                 tiling::RmsNormTiling& tiling, const bool = false) {
    ::opmend_sim::fill_bsh(srcShape, ::opmend_sim::last_of(originSrcShape), tiling);
    tiling.reciprocalOfHLength = tiling.originalHLength ? 1.0f / static_cast<float>(tiling.originalHLength) : 0.0f;
    return true;
}
inline bool GetDeepNormTilingInfo(const ge::Shape& srcShape, const ge::Shape& originSrcShape, const uint32_t, const uint32_t, const bool, const bool,
                                  tiling::DeepNormTiling& tiling) {
    ::opmend_sim::fill_bsh(srcShape, ::opmend_sim::last_of(originSrcShape), tiling);
    return true;
}
inline void GetGroupNormNDTilingInfo(const ge::Shape& srcShape, const uint32_t, const uint32_t typeSize, const bool, const uint32_t groupNum,
                                     tiling::GroupNormTiling& tiling) {
    tiling.n = static_cast<uint32_t>(srcShape.GetDim(0)), tiling.c = static_cast<uint32_t>(srcShape.GetDim(1)), tiling.g = groupNum;
    tiling.hw = tiling.n && tiling.c ? static_cast<uint32_t>(srcShape.GetShapeSize() / (srcShape.GetDim(0) * srcShape.GetDim(1))) : 0;
    tiling.d = groupNum ? tiling.c / groupNum : 0;
    tiling.hwAlignSize = typeSize ? ::opmend_sim::blocks(tiling.hw * typeSize) / typeSize : tiling.hw,
    tiling.dhwAlignSize = tiling.d * tiling.hwAlignSize;
}
inline bool GetBatchNormNDTilingInfo(const ge::Shape& srcShape, const ge::Shape& originSrcShape, const uint32_t, const uint32_t, const bool,
                                     tiling::BatchNormTiling& tiling, const bool = false) {
    tiling.originalBLength = static_cast<uint32_t>(originSrcShape.GetDim(0)), tiling.hLength = ::opmend_sim::last_of(srcShape);
    const int64_t first = srcShape.GetDim(0);
    tiling.sLength = first && tiling.hLength ? static_cast<uint32_t>(srcShape.GetShapeSize() / first / tiling.hLength) : 0;
    tiling.meanVarSize = tiling.sLength * tiling.hLength,
    tiling.firstDimValueBack = tiling.originalBLength ? 1.0f / static_cast<float>(tiling.originalBLength) : 0.0f;
    return true;
}
inline void PadTilingFunc(const ge::Shape srcShape, const ge::Shape oriSrcShape, const uint32_t, const uint32_t, tiling::PadTiling& tiling) {
    tiling.srcHeight = ::opmend_sim::rows_of(srcShape), tiling.srcWidth = ::opmend_sim::last_of(srcShape),
    tiling.srcOriWidth = ::opmend_sim::last_of(oriSrcShape);
}
inline void GetPadMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    ::opmend_sim::sizes_by_rows(srcShape, maxValue, minValue);
}
inline void UnPadTilingFunc(const ge::Shape srcShape, const uint32_t, const uint32_t, tiling::UnPadTiling& tiling) {
    tiling.srcHeight = ::opmend_sim::rows_of(srcShape), tiling.srcWidth = ::opmend_sim::last_of(srcShape);
}
}  // namespace AscendC
