#include <torch/extension.h>

#include <algorithm>

#include "acl/acl.h"
#include "matmul_trans_a_tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void matmul_trans_a_do(uint32_t blockDim, void *stream, uint8_t *a, uint8_t *b, uint8_t *c,
                                  MatmulTransATiling tiling, int32_t dtype);

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
    TORCH_CHECK(type == at::kBFloat16, "matmul_trans_a: float32, float16 and bfloat16 are supported");
    return 2;
}

}  // namespace

at::Tensor run_matmul_trans_a(const at::Tensor &a, const at::Tensor &b)
{
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(0) == b.size(0), "matmul_trans_a: A is [K, M], B is [K, N]");
    TORCH_CHECK(a.scalar_type() == b.scalar_type(), "matmul_trans_a: A and B must have one dtype");
    TORCH_CHECK(a.is_contiguous() && b.is_contiguous(), "matmul_trans_a: A and B must be contiguous");

    MatmulTransATiling tiling{a.size(1), b.size(1), a.size(0)};
    at::Tensor c = at::empty({tiling.m, tiling.n}, a.options());
    if (c.numel() == 0) {
        return c;
    }
    int64_t tiles = ((tiling.m + TILE_M - 1) / TILE_M) * ((tiling.n + TILE_N - 1) / TILE_N);
    uint32_t blockDim = static_cast<uint32_t>(std::min(CORE_NUM, tiles));
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    matmul_trans_a_do(blockDim, stream, static_cast<uint8_t *>(a.data_ptr()), static_cast<uint8_t *>(b.data_ptr()),
                      static_cast<uint8_t *>(c.data_ptr()), tiling, DtypeCode(a.scalar_type()));
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_matmul_trans_a", &run_matmul_trans_a, "C = A^T * B");
}
