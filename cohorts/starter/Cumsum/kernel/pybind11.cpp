#include <torch/extension.h>

#include <algorithm>

#include "acl/acl.h"
#include "cumsum_tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void cumsum_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *out, CumsumTiling tiling, int32_t dtype);

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
    TORCH_CHECK(type == at::kBFloat16, "cumsum: float32, float16 and bfloat16 are supported");
    return 2;
}

}  // namespace

at::Tensor run_cumsum(const at::Tensor &x, int64_t dim)
{
    TORCH_CHECK(x.is_contiguous(), "cumsum: x must be contiguous");
    int64_t axis = dim < 0 ? dim + x.dim() : dim;
    TORCH_CHECK(axis >= 0 && axis < x.dim(), "cumsum: dim is out of range");

    at::Tensor out = at::empty_like(x);
    if (x.numel() == 0) {
        return out;
    }
    CumsumTiling tiling{1, x.size(axis), 1};
    for (int64_t d = 0; d < axis; ++d) {
        tiling.outer *= x.size(d);
    }
    for (int64_t d = axis + 1; d < x.dim(); ++d) {
        tiling.inner *= x.size(d);
    }

    int64_t tiles = tiling.outer * ((tiling.inner + TILE_LENGTH - 1) / TILE_LENGTH);
    uint32_t blockDim = static_cast<uint32_t>(std::min(CORE_NUM, tiles));
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    cumsum_do(blockDim, stream, static_cast<uint8_t *>(x.data_ptr()), static_cast<uint8_t *>(out.data_ptr()), tiling,
              DtypeCode(x.scalar_type()));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_cumsum", &run_cumsum, "running sum along dim");
}
