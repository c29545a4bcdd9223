#include "sum_kernel.h"

template <typename T>
__global__ __aicore__ void sum_kernel(GM_ADDR x, GM_ADDR out, SumTiling tiling)
{
    KernelSum<T> op;
    op.Init(x, out, tiling);
    op.Process();
}

// dtype: 0 float32, 1 float16, 2 bfloat16
extern "C" void sum_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *out, SumTiling tiling, int32_t dtype)
{
    if (dtype == 0) {
        sum_kernel<float><<<blockDim, nullptr, stream>>>(x, out, tiling);
    } else if (dtype == 1) {
        sum_kernel<half><<<blockDim, nullptr, stream>>>(x, out, tiling);
    } else {
        sum_kernel<bfloat16_t><<<blockDim, nullptr, stream>>>(x, out, tiling);
    }
}
