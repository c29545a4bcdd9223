#include "tanh_gated_residual_add_backward_kernel.h"

extern "C" __global__ __aicore__ void tanh_gated_gradients(GM_ADDR gradOutput, GM_ADDR gate, GM_ADDR hidden,
                                                           GM_ADDR mask, GM_ADDR gradResidual, GM_ADDR gradHidden,
                                                           GM_ADDR partial, int64_t totalLength)
{
    KernelGradients op;
    op.Init(gradOutput, gate, hidden, mask, gradResidual, gradHidden, partial, totalLength);
    op.Process();
}

extern "C" __global__ __aicore__ void tanh_gated_gate_gradient(GM_ADDR gate, GM_ADDR partial, GM_ADDR gradGate,
                                                               int64_t totalLength)
{
    KernelGateGradient op;
    op.Init(gate, partial, gradGate, totalLength);
    op.Process();
}

// Both launches go to one stream with one block count: the second sees all partial sums of the first.
extern "C" void tanh_gated_residual_add_backward_do(uint32_t blockDim, void *stream, uint8_t *gradOutput, uint8_t *gate,
                                                    uint8_t *hidden, uint8_t *mask, uint8_t *gradResidual,
                                                    uint8_t *gradHidden, uint8_t *gradGate, uint8_t *partial,
                                                    int64_t totalLength)
{
    tanh_gated_gradients<<<blockDim, nullptr, stream>>>(gradOutput, gate, hidden, mask, gradResidual, gradHidden,
                                                        partial, totalLength);
    tanh_gated_gate_gradient<<<blockDim, nullptr, stream>>>(gate, partial, gradGate, totalLength);
}
