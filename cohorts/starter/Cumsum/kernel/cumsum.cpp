#include "cumsum_kernel.h"

template <typename T>
__global__ __aicore__ void cumsum(GM_ADDR x, GM_ADDR out, CumsumTiling tiling)
{
    KernelCumsum<T> op;
    op.Init(x, out, tiling);
    op.Process();
}

// dtype: 0 float32, 1 float16, 2 bfloat16
extern "C" void cumsum_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *out, CumsumTiling tiling, int32_t dtype)
{
    if (dtype == 0) {
        cumsum<float><<<blockDim, nullptr, stream>>>(x, out, tiling);
    } else if (dtype == 1) {
        cumsum<half><<<blockDim, nullptr, stream>>>(x, out, tiling);
    } else {
        cumsum<bfloat16_t><<<blockDim, nullptr, stream>>>(x, out, tiling);
    }
}
