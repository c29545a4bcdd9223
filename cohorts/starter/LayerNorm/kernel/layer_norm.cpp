#include "layer_norm_kernel.h"

template <typename T>
__global__ __aicore__ void layer_norm(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR out, LayerNormTiling tiling)
{
    KernelLayerNorm<T> op;
    op.Init(x, weight, bias, out, tiling);
    op.Process();
}

// dtype: 0 float32, 1 float16, 2 bfloat16
extern "C" void layer_norm_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *weight, uint8_t *bias, uint8_t *out,
                              LayerNormTiling tiling, int32_t dtype)
{
    if (dtype == 0) {
        layer_norm<float><<<blockDim, nullptr, stream>>>(x, weight, bias, out, tiling);
    } else if (dtype == 1) {
        layer_norm<half><<<blockDim, nullptr, stream>>>(x, weight, bias, out, tiling);
    } else {
        layer_norm<bfloat16_t><<<blockDim, nullptr, stream>>>(x, weight, bias, out, tiling);
    }
}
