#pragma once
#include "kernel_operator.h"
// out = x + 1, row by row; the buffers are made with a number of elements.
__global__ __aicore__ void small_buffer(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> q;
    TQue<TPosition::VECOUT, 1> p;
    uint32_t room = (cols + 7) / 8 * 8;
    pipe.InitBuffer(q, 1, room);
    pipe.InitBuffer(p, 1, room);
    GlobalTensor<float> a, b;
    a.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    b.SetGlobalBuffer((__gm__ float *)out, rows * cols);
    DataCopyExtParams size{1, static_cast<uint32_t>(cols * sizeof(float)), 0, 0, 0};
    for (int64_t r = 0; r < rows; ++r) {
        LocalTensor<float> t = q.AllocTensor<float>();
        DataCopyPad(t, a[r * cols], size, DataCopyPadExtParams<float>());
        q.EnQue(t);
        t = q.DeQue<float>();
        LocalTensor<float> u = p.AllocTensor<float>();
        Adds(u, t, 1.0f, cols);
        p.EnQue(u);
        u = p.DeQue<float>();
        DataCopyPad(b[r * cols], u, size);
        q.FreeTensor(t);
        p.FreeTensor(u);
    }
}
