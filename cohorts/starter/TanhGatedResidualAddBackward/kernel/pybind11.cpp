#include <torch/extension.h>

#include <tuple>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void tanh_gated_residual_add_backward_do(uint32_t blockDim, void *stream, uint8_t *gradOutput, uint8_t *gate,
                                                    uint8_t *hidden, uint8_t *mask, uint8_t *gradResidual,
                                                    uint8_t *gradHidden, uint8_t *gradGate, uint8_t *partial,
                                                    int64_t totalLength);

namespace {

constexpr uint32_t BLOCK_DIM = 16;
constexpr int64_t PARTIAL_STRIDE = 8;

uint8_t *Address(const at::Tensor &tensor)
{
    return static_cast<uint8_t *>(tensor.data_ptr());
}

void CheckInput(const at::Tensor &tensor, const at::Tensor &like)
{
    TORCH_CHECK(tensor.scalar_type() == at::kBFloat16, "tanh_gated_residual_add_backward: inputs must be bfloat16");
    TORCH_CHECK(tensor.is_contiguous(), "tanh_gated_residual_add_backward: inputs must be contiguous");
    TORCH_CHECK(tensor.numel() == like.numel(), "tanh_gated_residual_add_backward: inputs must have one shape");
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> run_tanh_gated_residual_add_backward(const at::Tensor &gradOutput,
                                                                                    const at::Tensor &gate,
                                                                                    const at::Tensor &hiddenStates,
                                                                                    const at::Tensor &mask)
{
    CheckInput(gradOutput, gradOutput);
    CheckInput(gate, gradOutput);
    CheckInput(hiddenStates, gradOutput);
    CheckInput(mask, gradOutput);

    at::Tensor gradResidual = at::empty_like(gradOutput);
    at::Tensor gradHidden = at::empty_like(hiddenStates);
    at::Tensor gradGate = at::empty_like(gate);
    if (gradOutput.numel() > 0) {
        at::Tensor partial = at::empty({BLOCK_DIM * PARTIAL_STRIDE}, gradOutput.options().dtype(at::kFloat));
        auto stream = c10_npu::getCurrentNPUStream().stream(false);
        tanh_gated_residual_add_backward_do(BLOCK_DIM, stream, Address(gradOutput), Address(gate),
                                            Address(hiddenStates), Address(mask), Address(gradResidual),
                                            Address(gradHidden), Address(gradGate), Address(partial),
                                            gradOutput.numel());
    }
    return std::make_tuple(gradResidual, gradHidden, gradGate);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_tanh_gated_residual_add_backward", &run_tanh_gated_residual_add_backward,
          "gradients of residual + tanh(gate) * hidden_states * mask");
}
