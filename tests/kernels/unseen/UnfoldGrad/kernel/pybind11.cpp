#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "unfold_tiling.h"
extern "C" void unfold_grad_do(uint32_t blockDim, void* stream, uint8_t* grad, uint8_t* out, UnfoldTiling t);
at::Tensor unfold_grad(const at::Tensor& grad, c10::IntArrayRef input_sizes, int64_t dim, int64_t size, int64_t step)
{
    int64_t rank = input_sizes.size();
    if (dim < 0) dim += rank;
    UnfoldTiling t{1, 1, (int)input_sizes[dim], (int)grad.size(dim), (int)size, (int)step, 0};
    for (int64_t d = 0; d < dim; ++d) t.outer *= input_sizes[d];
    for (int64_t d = dim + 1; d < rank; ++d) t.inner *= input_sizes[d];
    t.dtype = grad.scalar_type() == at::kFloat ? 0 : grad.scalar_type() == at::kHalf ? 1 : 2;
    at::Tensor out = at::zeros(input_sizes, grad.options());
    unfold_grad_do(4, c10_npu::getCurrentNPUStream().stream(false), (uint8_t*)grad.data_ptr(), (uint8_t*)out.data_ptr(), t);
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("unfold_grad", &unfold_grad, "unfold backward"); }
