#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
extern "C" void adam_do(uint32_t blockDim, void* stream, int kind, uint8_t** p, int64_t total, int64_t blockLen, float b1, float b2, float step, float inv2, float eps);

std::vector<at::Tensor> adamw(const at::Tensor& var, const at::Tensor& m, const at::Tensor& v, const at::Tensor& grad,
                              double b1p, double b2p, double lr, double b1, double b2, double eps)
{
    at::Tensor varOut = at::empty_like(var), mOut = at::empty_like(m), vOut = at::empty_like(v);
    uint8_t* p[7];
    int i = 0;
    for (const at::Tensor& t : {var, m, v, grad, varOut, mOut, vOut}) {
        p[i++] = static_cast<uint8_t*>(t.data_ptr());
    }
    int64_t total = var.numel();
    int64_t cores = 16;
    int64_t blockLen = (total + cores - 1) / cores;
    blockLen = (blockLen + 63) / 64 * 64;
    cores = (total + blockLen - 1) / blockLen;
    int kind = var.scalar_type() == at::kFloat ? 0 : (var.scalar_type() == at::kHalf ? 1 : 2);
    adam_do(cores, c10_npu::getCurrentNPUStream().stream(false), kind, p, total, blockLen, b1, b2, lr / (1 - b1p), 1.0 / (1 - b2p), eps);
    return {varOut, mOut, vOut};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("adamw", &adamw, "");
}
