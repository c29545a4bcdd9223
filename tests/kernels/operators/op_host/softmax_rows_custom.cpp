#include "register/tilingdata_base.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(SoftmaxRowsCustomTilingData)
  TILING_DATA_FIELD_DEF(uint32_t, rows);
  TILING_DATA_FIELD_DEF(uint32_t, cols);
  TILING_DATA_FIELD_DEF(uint32_t, colsAlign);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(SoftmaxRowsCustom, SoftmaxRowsCustomTilingData)

static ge::graphStatus TilingFunc(gert::TilingContext *context) {
  SoftmaxRowsCustomTilingData tiling;
  const gert::StorageShape *shape = context->GetInputShape(0);
  const auto &s = shape->GetStorageShape();
  size_t dims = s.GetDimNum();
  if (dims == 0 || context->GetInputDesc(0)->GetDataType() != ge::DT_FLOAT) {
    return ge::GRAPH_FAILED;
  }
  uint32_t cols = s.GetDim(dims - 1);
  uint32_t rows = 1;
  for (size_t i = 0; i + 1 < dims; i++) {
    rows *= s.GetDim(i);
  }
  auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  uint64_t ubSize;
  platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, ubSize);
  uint32_t colsAlign = (cols + 7) / 8 * 8;
  if (colsAlign * sizeof(float) * 4 > ubSize) {
    return ge::GRAPH_FAILED;
  }
  tiling.set_rows(rows);
  tiling.set_cols(cols);
  tiling.set_colsAlign(colsAlign);
  uint32_t cores = platform.GetCoreNumAiv();
  context->SetBlockDim(rows < cores ? rows : cores);
  context->SetTilingKey(0);
  tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
  context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
  return ge::GRAPH_SUCCESS;
}
} // namespace optiling

namespace ops {
class SoftmaxRowsCustom : public OpDef {
public:
  explicit SoftmaxRowsCustom(const char *name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).UnknownShapeFormat({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).UnknownShapeFormat({ge::FORMAT_ND});
    OpAICoreConfig config;
    config.DynamicCompileStaticFlag(true).DynamicShapeSupportFlag(true).ExtendCfgInfo("opFile.value", "softmax_rows_custom");
    this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b", config).AddConfig("ascend910_93", config);
  }
};
OP_ADD(SoftmaxRowsCustom);
} // namespace ops
