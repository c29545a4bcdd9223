#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
extern "C" void embedding_grad_do(uint32_t blockDim, void* stream, uint8_t* grad, uint8_t* idx, uint8_t* ws, uint8_t* out, int64_t tokens, int64_t dim, int64_t weights, int64_t pad, int32_t scale, int32_t isHalf);
at::Tensor embedding_dense_backward(const at::Tensor& grad, const at::Tensor& indices, int64_t num_weights, int64_t padding_idx, bool scale)
{
    TORCH_CHECK(indices.scalar_type() == at::kLong, "indices must be int64");
    int64_t dim = grad.size(-1);
    int64_t tokens = indices.numel();
    at::Tensor out = at::empty({num_weights, dim}, grad.options());
    at::Tensor ws = at::empty({num_weights * dim}, grad.options().dtype(at::kFloat));
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    embedding_grad_do(8, stream, (uint8_t*)grad.data_ptr(), (uint8_t*)indices.data_ptr(), (uint8_t*)ws.data_ptr(), (uint8_t*)out.data_ptr(), tokens, dim, num_weights, padding_idx, scale ? 1 : 0, grad.scalar_type() == at::kHalf ? 1 : 0);
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("embedding_dense_backward", &embedding_dense_backward); }
