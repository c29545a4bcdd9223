#include <algorithm>
#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"

// blend * gelu_tanh(x) + (1 - blend) * x + bias, in float or half; the bias may be missing.
namespace optiling {
BEGIN_TILING_DATA_DEF(GeluBlendTiling)
TILING_DATA_FIELD_DEF(uint32_t, total);
TILING_DATA_FIELD_DEF(uint32_t, tile);
TILING_DATA_FIELD_DEF(float, blend);
TILING_DATA_FIELD_DEF(uint8_t, exact);
TILING_DATA_FIELD_DEF(uint8_t, hasBias);
TILING_DATA_FIELD_DEF_ARR(int32_t, 2, window);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(GeluBlendCustom, GeluBlendTiling)

static ge::graphStatus GeluBlendTilingFunc(gert::TilingContext* context)
{
    GeluBlendTiling tiling;
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    const float* blend = attrs->GetAttrPointer<float>(0);
    const int64_t* tile = attrs->GetInt(1);
    const bool* exact = attrs->GetBool(2);
    const char* mode = attrs->GetStr(3);
    const auto* window = attrs->GetListInt(4);
    if (mode == nullptr || std::strcmp(mode, "tanh") != 0 || window->GetSize() != 2) {
        return ge::GRAPH_PARAM_INVALID;
    }
    const int32_t ends[2] = {static_cast<int32_t>(window->GetData()[0]), static_cast<int32_t>(window->GetData()[1])};
    tiling.set_total(static_cast<uint32_t>(context->GetInputShape(0)->GetStorageShape().GetShapeSize()));
    tiling.set_tile(static_cast<uint32_t>(*tile));
    tiling.set_blend(*blend);
    tiling.set_exact(*exact ? 1 : 0);
    tiling.set_hasBias(context->GetOptionalInputShape(1) != nullptr ? 1 : 0);
    tiling.set_window(ends);
    context->SetTilingKey(context->GetInputDesc(0)->GetDataType() == ge::DT_FLOAT16 ? 1 : 2);
    context->SetBlockDim(std::min<uint32_t>(8, platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv()));
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ops {
class GeluBlendCustom : public OpDef {
public:
    explicit GeluBlendCustom(const char* name) : OpDef(name)
    {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_FLOAT}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("bias").ParamType(OPTIONAL).DataType({ge::DT_FLOAT, ge::DT_FLOAT}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_FLOAT}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("blend").AttrType(OPTIONAL).Float(1.0);
        this->Attr("tile").AttrType(OPTIONAL).Int(64);
        this->Attr("exact").AttrType(OPTIONAL).Bool(false);
        this->Attr("mode").AttrType(OPTIONAL).String("tanh");
        this->Attr("window").AttrType(OPTIONAL).ListInt({0, 1 << 30});
        this->AICore().SetTiling(optiling::GeluBlendTilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(GeluBlendCustom);
}  // namespace ops
