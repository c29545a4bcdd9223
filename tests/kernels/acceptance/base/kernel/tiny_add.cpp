#include "tiny_add.h"

extern "C" __global__ __aicore__ void tiny_add_kernel(GM_ADDR x, GM_ADDR y, GM_ADDR out, int64_t total)
{
    KernelTinyAdd op;
    op.Init(x, y, out, total);
    op.Process();
}

extern "C" void tiny_add_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *out, int64_t total)
{
    tiny_add_kernel<<<blockDim, nullptr, stream>>>(x, y, out, total);
}
