#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
extern "C" void row_scale_do(uint32_t n, void* st, uint8_t* x, uint8_t* s, uint8_t* b, uint8_t* y, uint32_t rows, uint32_t cols, uint32_t hasBias);
at::Tensor row_scale(const at::Tensor& x, const at::Tensor& scale, const c10::optional<at::Tensor>& bias_opt)
{
    const at::Tensor bias = bias_opt.value_or(at::Tensor());
    at::Tensor y = at::empty_like(x);
    row_scale_do(4, c10_npu::getCurrentNPUStream().stream(false), (uint8_t*)x.data_ptr(), (uint8_t*)scale.data_ptr(), bias.defined() ? (uint8_t*)bias.data_ptr() : nullptr, (uint8_t*)y.data_ptr(), x.size(0), x.size(1), bias.defined());
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("row_scale", &row_scale); }
