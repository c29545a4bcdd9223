#include <torch/extension.h>

#include <algorithm>
#include <vector>

#include "acl/acl.h"
#include "add_tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void add_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *out, AddTiling tiling,
                       int32_t dtype);

namespace {

constexpr int64_t CORE_NUM = 20;
constexpr int64_t TILE_LENGTH = 4096;

int32_t DtypeCode(at::ScalarType type)
{
    if (type == at::kFloat) {
        return 0;
    }
    if (type == at::kHalf) {
        return 1;
    }
    TORCH_CHECK(type == at::kBFloat16, "add: float32, float16 and bfloat16 are supported");
    return 2;
}

// Size of dimension d of a shape that is filled up with leading ones to `dims` dimensions.
int64_t PaddedSize(const at::Tensor &tensor, int64_t dims, int64_t d)
{
    int64_t lead = dims - tensor.dim();
    return d < lead ? 1 : tensor.size(d - lead);
}

void FillStrides(const at::Tensor &tensor, const int64_t *shape, int64_t *stride)
{
    int64_t step = 1;
    for (int64_t d = ADD_MAX_DIMS - 1; d >= 0; --d) {
        int64_t size = PaddedSize(tensor, ADD_MAX_DIMS, d);
        stride[d] = size == 1 && shape[d] != 1 ? 0 : step;
        step *= size;
    }
}

}  // namespace

at::Tensor run_add(const at::Tensor &x, const at::Tensor &y, double alpha)
{
    TORCH_CHECK(x.scalar_type() == y.scalar_type(), "add: x and y must have one dtype");
    TORCH_CHECK(x.is_contiguous() && y.is_contiguous(), "add: x and y must be contiguous");
    TORCH_CHECK(x.dim() <= ADD_MAX_DIMS && y.dim() <= ADD_MAX_DIMS, "add: at most 4 dimensions");

    AddTiling tiling;
    bool sameShape = x.dim() == y.dim();
    for (int64_t d = 0; d < ADD_MAX_DIMS; ++d) {
        int64_t xSize = PaddedSize(x, ADD_MAX_DIMS, d);
        int64_t ySize = PaddedSize(y, ADD_MAX_DIMS, d);
        TORCH_CHECK(xSize == ySize || xSize == 1 || ySize == 1, "add: shapes do not broadcast");
        tiling.shape[d] = std::max(xSize, ySize);
        sameShape = sameShape && xSize == ySize;
    }
    int64_t dims = std::max(x.dim(), y.dim());
    std::vector<int64_t> outShape(tiling.shape + (ADD_MAX_DIMS - dims), tiling.shape + ADD_MAX_DIMS);
    at::Tensor out = at::empty(outShape, x.options());
    if (out.numel() == 0) {
        return out;
    }

    FillStrides(x, tiling.shape, tiling.xStride);
    FillStrides(y, tiling.shape, tiling.yStride);
    if (sameShape) {
        // Nothing is broadcast: one long row.
        tiling.shape[3] = out.numel();
        tiling.shape[0] = tiling.shape[1] = tiling.shape[2] = 1;
    }
    tiling.rows = tiling.shape[0] * tiling.shape[1] * tiling.shape[2];
    tiling.cols = tiling.shape[3];
    tiling.alpha = static_cast<float>(alpha);

    int64_t tiles = tiling.rows * ((tiling.cols + TILE_LENGTH - 1) / TILE_LENGTH);
    uint32_t blockDim = static_cast<uint32_t>(std::min(CORE_NUM, tiles));
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    add_do(blockDim, stream, static_cast<uint8_t *>(x.data_ptr()), static_cast<uint8_t *>(y.data_ptr()),
           static_cast<uint8_t *>(out.data_ptr()), tiling, DtypeCode(x.scalar_type()));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_add", &run_add, "out = x + alpha * y");
}
