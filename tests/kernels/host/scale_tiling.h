#pragma once
#include "register/tilingdata_base.h"

namespace optiling {
constexpr uint32_t MOST_CORES = 4;
#define HALF_THE_CORES (MOST_CORES / 2)
BEGIN_TILING_DATA_DEF(ScaleShape)
  TILING_DATA_FIELD_DEF(uint8_t, odd);
  TILING_DATA_FIELD_DEF(int64_t, total);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(ScaleShapeOp, ScaleShape)

BEGIN_TILING_DATA_DEF(ScaleTilingData)
  TILING_DATA_FIELD_DEF(float, factor);
  TILING_DATA_FIELD_DEF_STRUCT(ScaleShape, shape);
  TILING_DATA_FIELD_DEF_ARR(uint32_t, MOST_CORES + HALF_THE_CORES, lengths);
  TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(ScaleCustom, ScaleTilingData)

BEGIN_TILING_DATA_DEF(OtherTilingData)
  TILING_DATA_FIELD_DEF(float, factor);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Other, OtherTilingData)
}  // namespace optiling
