#include <torch/extension.h>

#include <algorithm>
#include <vector>

#include "acl/acl.h"
#include "layer_norm_tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void layer_norm_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *weight, uint8_t *bias, uint8_t *out,
                              LayerNormTiling tiling, int32_t dtype);

namespace {

constexpr int64_t CORE_NUM = 20;

int32_t DtypeCode(at::ScalarType type)
{
    if (type == at::kFloat) {
        return 0;
    }
    if (type == at::kHalf) {
        return 1;
    }
    TORCH_CHECK(type == at::kBFloat16, "layer_norm: float32, float16 and bfloat16 are supported");
    return 2;
}

uint8_t *OptionalAddress(const c10::optional<at::Tensor> &tensor)
{
    return tensor.has_value() ? static_cast<uint8_t *>(tensor->data_ptr()) : nullptr;
}

}  // namespace

at::Tensor run_layer_norm(const at::Tensor &x, const std::vector<int64_t> &normalizedShape,
                          const c10::optional<at::Tensor> &weight, const c10::optional<at::Tensor> &bias, double epsilon)
{
    TORCH_CHECK(x.is_contiguous(), "layer_norm: x must be contiguous");
    LayerNormTiling tiling{};
    tiling.cols = 1;
    int64_t lead = x.dim() - static_cast<int64_t>(normalizedShape.size());
    TORCH_CHECK(lead >= 0, "layer_norm: normalized_shape has more dimensions than x");
    for (size_t d = 0; d < normalizedShape.size(); ++d) {
        TORCH_CHECK(x.size(lead + static_cast<int64_t>(d)) == normalizedShape[d],
                    "layer_norm: normalized_shape must be the trailing shape of x");
        tiling.cols *= normalizedShape[d];
    }
    TORCH_CHECK(!weight.has_value() || weight->numel() == tiling.cols, "layer_norm: wrong size of weight");
    TORCH_CHECK(!bias.has_value() || bias->numel() == tiling.cols, "layer_norm: wrong size of bias");

    at::Tensor out = at::empty_like(x);
    if (x.numel() == 0) {
        return out;
    }
    tiling.rows = x.numel() / tiling.cols;
    tiling.epsilon = static_cast<float>(epsilon);
    tiling.hasWeight = weight.has_value();
    tiling.hasBias = bias.has_value();

    uint32_t blockDim = static_cast<uint32_t>(std::min(CORE_NUM, tiling.rows));
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    layer_norm_do(blockDim, stream, static_cast<uint8_t *>(x.data_ptr()), OptionalAddress(weight), OptionalAddress(bias),
                  static_cast<uint8_t *>(out.data_ptr()), tiling, DtypeCode(x.scalar_type()));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_layer_norm", &run_layer_norm, "layer normalisation over the trailing dimensions");
}
