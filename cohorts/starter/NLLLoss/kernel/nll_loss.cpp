#include "nll_loss_kernel.h"

template <typename T>
__global__ __aicore__ void nll_loss(GM_ADDR input, GM_ADDR target, GM_ADDR weight, GM_ADDR out, NllLossTiling tiling)
{
    KernelNllLoss<T> op;
    op.Init(input, target, weight, out, tiling);
    op.Process();
}

// dtype: 0 float32, 1 float16, 2 bfloat16
extern "C" void nll_loss_do(uint32_t blockDim, void *stream, uint8_t *input, uint8_t *target, uint8_t *weight,
                            uint8_t *out, NllLossTiling tiling, int32_t dtype)
{
    if (dtype == 0) {
        nll_loss<float><<<blockDim, nullptr, stream>>>(input, target, weight, out, tiling);
    } else if (dtype == 1) {
        nll_loss<half><<<blockDim, nullptr, stream>>>(input, target, weight, out, tiling);
    } else {
        nll_loss<bfloat16_t><<<blockDim, nullptr, stream>>>(input, target, weight, out, tiling);
    }
}
