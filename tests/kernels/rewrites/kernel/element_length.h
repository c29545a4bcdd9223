#pragma once
#include "kernel_operator.h"
// out = x, row by row; the copy parameters are filled in field by field, and the length counts elements.
__global__ __aicore__ void element_length(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> q;
    pipe.InitBuffer(q, 1, 4096);
    GlobalTensor<float> a, b;
    a.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    b.SetGlobalBuffer((__gm__ float *)out, rows * cols);
    DataCopyExtParams size;
    size.blockCount = 1;
    size.blockLen = static_cast<uint32_t>(cols);
    for (int64_t r = 0; r < rows; ++r) {
        LocalTensor<float> t = q.AllocTensor<float>();
        DataCopyPad(t, a[r * cols], size, DataCopyPadExtParams<float>());
        q.EnQue(t);
        t = q.DeQue<float>();
        DataCopyPad(b[r * cols], t, size);
        q.FreeTensor(t);
    }
}
