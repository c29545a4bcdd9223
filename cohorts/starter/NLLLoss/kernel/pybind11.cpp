#include <torch/extension.h>

#include <algorithm>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "nll_loss_tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void nll_loss_do(uint32_t blockDim, void *stream, uint8_t *input, uint8_t *target, uint8_t *weight,
                            uint8_t *out, NllLossTiling tiling, int32_t dtype);

namespace {

constexpr int64_t CORE_NUM = 20;
constexpr int64_t TILE_LENGTH = 1024;

int32_t DtypeCode(at::ScalarType type)
{
    if (type == at::kFloat) {
        return 0;
    }
    if (type == at::kHalf) {
        return 1;
    }
    TORCH_CHECK(type == at::kBFloat16, "nll_loss: float32, float16 and bfloat16 are supported");
    return 2;
}

}  // namespace

at::Tensor run_nll_loss(const at::Tensor &input, const at::Tensor &target, const c10::optional<at::Tensor> &weight,
                        int64_t ignoreIndex, const std::string &reduction)
{
    TORCH_CHECK(input.dim() >= 2, "nll_loss: input is [N, C, ...]");
    TORCH_CHECK(target.scalar_type() == at::kLong, "nll_loss: target must be int64");
    TORCH_CHECK(input.is_contiguous() && target.is_contiguous(), "nll_loss: input and target must be contiguous");
    TORCH_CHECK(reduction == "none" || reduction == "mean" || reduction == "sum", "nll_loss: unknown reduction");

    NllLossTiling tiling{input.size(0), input.size(1), 1, ignoreIndex, weight.has_value() ? 1 : 0, 0};
    std::vector<int64_t> outShape;
    if (reduction == "none") {
        outShape.push_back(input.size(0));
    } else {
        tiling.reduction = reduction == "mean" ? 1 : 2;
    }
    for (int64_t d = 2; d < input.dim(); ++d) {
        tiling.spatial *= input.size(d);
        if (reduction == "none") {
            outShape.push_back(input.size(d));
        }
    }
    TORCH_CHECK(target.numel() == tiling.batch * tiling.spatial, "nll_loss: one target for each position");
    at::Tensor out = at::empty(outShape, input.options());

    int64_t tiles = (target.numel() + TILE_LENGTH - 1) / TILE_LENGTH;
    uint32_t blockDim = tiling.reduction == 0 ? static_cast<uint32_t>(std::min(CORE_NUM, tiles)) : 1;
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    nll_loss_do(blockDim, stream, static_cast<uint8_t *>(input.data_ptr()), static_cast<uint8_t *>(target.data_ptr()),
                weight.has_value() ? static_cast<uint8_t *>(weight->data_ptr()) : nullptr,
                static_cast<uint8_t *>(out.data_ptr()), tiling, DtypeCode(input.scalar_type()));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_nll_loss", &run_nll_loss, "negative log likelihood loss");
}
