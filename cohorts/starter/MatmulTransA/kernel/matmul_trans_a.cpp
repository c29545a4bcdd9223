#include "matmul_trans_a_kernel.h"

template <typename T>
__global__ __aicore__ void matmul_trans_a(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTransATiling tiling)
{
    KernelMatmulTransA<T> op;
    op.Init(a, b, c, tiling);
    op.Process();
}

// dtype: 0 float32, 1 float16, 2 bfloat16
extern "C" void matmul_trans_a_do(uint32_t blockDim, void *stream, uint8_t *a, uint8_t *b, uint8_t *c,
                                  MatmulTransATiling tiling, int32_t dtype)
{
    if (dtype == 0) {
        matmul_trans_a<float><<<blockDim, nullptr, stream>>>(a, b, c, tiling);
    } else if (dtype == 1) {
        matmul_trans_a<half><<<blockDim, nullptr, stream>>>(a, b, c, tiling);
    } else {
        matmul_trans_a<bfloat16_t><<<blockDim, nullptr, stream>>>(a, b, c, tiling);
    }
}
