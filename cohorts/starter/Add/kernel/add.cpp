#include "add_kernel.h"

extern "C" __global__ __aicore__ void add_float(GM_ADDR x, GM_ADDR y, GM_ADDR out, AddTiling tiling)
{
    KernelAdd<float> op;
    op.Init(x, y, out, tiling);
    op.Process();
}

extern "C" __global__ __aicore__ void add_half(GM_ADDR x, GM_ADDR y, GM_ADDR out, AddTiling tiling)
{
    KernelAdd<half> op;
    op.Init(x, y, out, tiling);
    op.Process();
}

extern "C" __global__ __aicore__ void add_bfloat16(GM_ADDR x, GM_ADDR y, GM_ADDR out, AddTiling tiling)
{
    KernelAdd<bfloat16_t> op;
    op.Init(x, y, out, tiling);
    op.Process();
}

// dtype: 0 float32, 1 float16, 2 bfloat16
extern "C" void add_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *out, AddTiling tiling,
                       int32_t dtype)
{
    if (dtype == 0) {
        add_float<<<blockDim, nullptr, stream>>>(x, y, out, tiling);
    } else if (dtype == 1) {
        add_half<<<blockDim, nullptr, stream>>>(x, y, out, tiling);
    } else {
        add_bfloat16<<<blockDim, nullptr, stream>>>(x, y, out, tiling);
    }
}
