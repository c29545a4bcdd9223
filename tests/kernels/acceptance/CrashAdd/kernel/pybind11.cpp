#include <torch/extension.h>

#include <algorithm>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void tiny_add_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *out, int64_t total);

at::Tensor run_tiny_add(const at::Tensor &x, const at::Tensor &y)
{
    TORCH_CHECK(x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat, "tiny_add: float32 only");
    at::Tensor out = at::empty_like(x);
    int64_t total = x.numel();
    volatile int64_t *nowhere = nullptr;
    *nowhere = total;
    uint32_t blockDim = static_cast<uint32_t>(std::min<int64_t>(4, (total + 255) / 256));
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    tiny_add_do(blockDim, stream, static_cast<uint8_t *>(x.data_ptr()), static_cast<uint8_t *>(y.data_ptr()),
                static_cast<uint8_t *>(out.data_ptr()), total);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_tiny_add", &run_tiny_add, "out = x + y");
}
