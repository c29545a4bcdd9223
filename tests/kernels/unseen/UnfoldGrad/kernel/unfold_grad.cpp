#include "kernel_operator.h"
#include "unfold_grad.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void unfold_grad_kernel(GM_ADDR grad, GM_ADDR out, UnfoldTiling tiling)
{
    if (tiling.dtype == 0) UnfoldGradKernel<float>(grad, out, tiling);
    else if (tiling.dtype == 1) UnfoldGradKernel<half>(grad, out, tiling);
    else UnfoldGradKernel<bfloat16_t>(grad, out, tiling);
}
extern "C" void unfold_grad_do(uint32_t blockDim, void* stream, uint8_t* grad, uint8_t* out, UnfoldTiling t)
{
    unfold_grad_kernel<<<blockDim, nullptr, stream>>>(grad, out, t);
}
