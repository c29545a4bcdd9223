// Tiling structs of the high-level library, as host and kernel share them. The names that kernels' texts use are here; what Huawei's own
// structs hold beside them (positions in scratch buffers) has no meaning for this simulator.
#pragma once
#include "opmend_sim/cube_tiling.h"
#include "opmend_sim/tiling_data.h"

namespace AscendC {
// Host and kernel both name it.
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
}  // namespace AscendC

namespace AscendC::tiling {
BEGIN_TILING_DATA_DEF(SoftMaxTiling)
    TILING_DATA_FIELD_DEF(uint32_t, srcM)
    TILING_DATA_FIELD_DEF(uint32_t, srcK)
    TILING_DATA_FIELD_DEF(uint32_t, srcSize)
    TILING_DATA_FIELD_DEF(uint32_t, outMaxM)
    TILING_DATA_FIELD_DEF(uint32_t, outMaxK)
    TILING_DATA_FIELD_DEF(uint32_t, outMaxSize)
    TILING_DATA_FIELD_DEF(uint32_t, splitM)
    TILING_DATA_FIELD_DEF(uint32_t, splitK)
    TILING_DATA_FIELD_DEF(uint32_t, splitSize)
    TILING_DATA_FIELD_DEF(uint32_t, reduceM)
    TILING_DATA_FIELD_DEF(uint32_t, reduceK)
    TILING_DATA_FIELD_DEF(uint32_t, reduceSize)
    TILING_DATA_FIELD_DEF(uint32_t, rangeM)
    TILING_DATA_FIELD_DEF(uint32_t, tailM)
    TILING_DATA_FIELD_DEF(uint32_t, tailSplitSize)
    TILING_DATA_FIELD_DEF(uint32_t, tailReduceSize)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(LayerNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, bLength)
    TILING_DATA_FIELD_DEF(uint32_t, sLength)
    TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(uint32_t, originalHLength)
    TILING_DATA_FIELD_DEF(uint32_t, inputXSize)
    TILING_DATA_FIELD_DEF(uint32_t, meanVarSize)
    TILING_DATA_FIELD_DEF(uint32_t, tmpBufSize)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(LayerNormSeparateTiling)
    TILING_DATA_FIELD_DEF(uint32_t, aLength)
    TILING_DATA_FIELD_DEF(uint32_t, rLength)
    TILING_DATA_FIELD_DEF(uint32_t, tmpBufSize)
    TILING_DATA_FIELD_DEF(float, rValueBack)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(LayerNormGradTiling)
    TILING_DATA_FIELD_DEF(uint32_t, bLength)
    TILING_DATA_FIELD_DEF(uint32_t, sLength)
    TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(uint32_t, originalHLength)
    TILING_DATA_FIELD_DEF(uint32_t, stackBufferSize)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(LayerNormGradBetaTiling)
    TILING_DATA_FIELD_DEF(uint32_t, bLength)
    TILING_DATA_FIELD_DEF(uint32_t, sLength)
    TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(uint32_t, originalHLength)
    TILING_DATA_FIELD_DEF(uint32_t, stackBufferSize)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(RmsNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, bLength)
    TILING_DATA_FIELD_DEF(uint32_t, sLength)
    TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(uint32_t, originalHLength)
    TILING_DATA_FIELD_DEF(float, reciprocalOfHLength)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(BatchNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, originalBLength)
    TILING_DATA_FIELD_DEF(uint32_t, meanVarSize)
    TILING_DATA_FIELD_DEF(uint32_t, sLength)
    TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(float, firstDimValueBack)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(DeepNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, bLength)
    TILING_DATA_FIELD_DEF(uint32_t, sLength)
    TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(uint32_t, originalHLength)
    TILING_DATA_FIELD_DEF(uint32_t, inputXSize)
    TILING_DATA_FIELD_DEF(uint32_t, meanVarSize)
    TILING_DATA_FIELD_DEF(float, alpha)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(GroupNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, n)
    TILING_DATA_FIELD_DEF(uint32_t, c)
    TILING_DATA_FIELD_DEF(uint32_t, hw)
    TILING_DATA_FIELD_DEF(uint32_t, g)
    TILING_DATA_FIELD_DEF(uint32_t, d)
    TILING_DATA_FIELD_DEF(uint32_t, hwAlignSize)
    TILING_DATA_FIELD_DEF(uint32_t, dhwAlignSize)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(LogSoftMaxTiling)
    TILING_DATA_FIELD_DEF(uint32_t, srcM)
    TILING_DATA_FIELD_DEF(uint32_t, srcK)
    TILING_DATA_FIELD_DEF(uint32_t, srcSize)
    TILING_DATA_FIELD_DEF(uint32_t, splitM)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(TopkTiling)
    TILING_DATA_FIELD_DEF(int32_t, tmpLocalSize)
    TILING_DATA_FIELD_DEF(int32_t, allDataSize)
    TILING_DATA_FIELD_DEF(int32_t, innerDataSize)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(PadTiling)
    TILING_DATA_FIELD_DEF(uint32_t, srcHeight)
    TILING_DATA_FIELD_DEF(uint32_t, srcWidth)
    TILING_DATA_FIELD_DEF(uint32_t, srcOriWidth)
    TILING_DATA_FIELD_DEF(uint32_t, widthWithoutLastBlock)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(UnPadTiling)
    TILING_DATA_FIELD_DEF(uint32_t, srcHeight)
    TILING_DATA_FIELD_DEF(uint32_t, srcWidth)
END_TILING_DATA_DEF;
BEGIN_TILING_DATA_DEF(ConfusionTransposeTiling)
    TILING_DATA_FIELD_DEF(uint32_t, param0)
    TILING_DATA_FIELD_DEF(uint32_t, param1)
    TILING_DATA_FIELD_DEF(uint32_t, param2)
END_TILING_DATA_DEF;
}  // namespace AscendC::tiling
