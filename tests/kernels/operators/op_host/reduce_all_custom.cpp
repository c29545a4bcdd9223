#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(ReduceAllCustomTilingData)
TILING_DATA_FIELD_DEF(uint32_t, total);
TILING_DATA_FIELD_DEF(uint32_t, share);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(ReduceAllCustom, ReduceAllCustomTilingData)

constexpr uint32_t SMALL = 4096;

ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    ReduceAllCustomTilingData tiling;
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint32_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    size_t user = 0;
    if (total <= SMALL) {
        context->SetTilingKey(1);
        context->SetBlockDim(1);
        tiling.set_share(total);
    } else {
        uint32_t cores = 16;
        uint32_t share = ((total + cores - 1) / cores + 7) / 8 * 8;
        context->SetTilingKey(2);
        context->SetBlockDim((total + share - 1) / share);
        tiling.set_share(share);
        user = cores * 32;
    }
    tiling.set_total(total);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    size_t* workspaces = context->GetWorkspaceSizes(1);
    workspaces[0] = user == 0 ? 0 : user + platform.GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ops {
class ReduceAllCustom : public OpDef {
public:
    explicit ReduceAllCustom(const char* name) : OpDef(name)
    {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("sum").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(ReduceAllCustom);
}  // namespace ops
