#include <torch/extension.h>

#include <algorithm>
#include <vector>

#include "acl/acl.h"
#include "sum_tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void sum_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *out, SumTiling tiling, int32_t dtype);

namespace {

constexpr int64_t CORE_NUM = 20;
constexpr int64_t TILE_LENGTH = 2048;

int32_t DtypeCode(at::ScalarType type)
{
    if (type == at::kFloat) {
        return 0;
    }
    if (type == at::kHalf) {
        return 1;
    }
    TORCH_CHECK(type == at::kBFloat16, "sum: float32, float16 and bfloat16 are supported");
    return 2;
}

}  // namespace

at::Tensor run_sum(const at::Tensor &x, int64_t dim, bool keepdim)
{
    TORCH_CHECK(x.is_contiguous(), "sum: x must be contiguous");
    int64_t axis = dim < 0 ? dim + x.dim() : dim;
    TORCH_CHECK(axis >= 0 && axis < x.dim(), "sum: dim is out of range");

    SumTiling tiling{1, x.size(axis), 1};
    std::vector<int64_t> outShape;
    for (int64_t d = 0; d < x.dim(); ++d) {
        if (d < axis) {
            tiling.outer *= x.size(d);
        } else if (d > axis) {
            tiling.inner *= x.size(d);
        }
        if (d != axis) {
            outShape.push_back(x.size(d));
        } else if (keepdim) {
            outShape.push_back(1);
        }
    }
    at::Tensor out = at::empty(outShape, x.options());
    if (out.numel() == 0) {
        return out;
    }

    int64_t tiles = tiling.outer * ((tiling.inner + TILE_LENGTH - 1) / TILE_LENGTH);
    uint32_t blockDim = static_cast<uint32_t>(std::min(CORE_NUM, tiles));
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    sum_do(blockDim, stream, static_cast<uint8_t *>(x.data_ptr()), static_cast<uint8_t *>(out.data_ptr()), tiling,
           DtypeCode(x.scalar_type()));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_sum", &run_sum, "sum over one dimension");
}
