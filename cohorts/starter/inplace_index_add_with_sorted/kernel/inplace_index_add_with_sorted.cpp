#include "inplace_index_add_with_sorted_kernel.h"

template <typename T, typename AlphaT>
__global__ __aicore__ void index_add(GM_ADDR var, GM_ADDR value, GM_ADDR indices, GM_ADDR pos, GM_ADDR alpha,
                                     GM_ADDR out, IndexAddTiling tiling)
{
    KernelIndexAdd<T, AlphaT> op;
    op.Init(var, value, indices, pos, alpha, out, tiling);
    op.Process();
}

// dtype: 0 float32, 1 float16, 2 int32; alpha is int32 for int32 and float32 otherwise
extern "C" void index_add_do(uint32_t blockDim, void *stream, uint8_t *var, uint8_t *value, uint8_t *indices,
                             uint8_t *pos, uint8_t *alpha, uint8_t *out, IndexAddTiling tiling, int32_t dtype)
{
    if (dtype == 0) {
        index_add<float, float><<<blockDim, nullptr, stream>>>(var, value, indices, pos, alpha, out, tiling);
    } else if (dtype == 1) {
        index_add<half, float><<<blockDim, nullptr, stream>>>(var, value, indices, pos, alpha, out, tiling);
    } else {
        index_add<int32_t, int32_t><<<blockDim, nullptr, stream>>>(var, value, indices, pos, alpha, out, tiling);
    }
}
