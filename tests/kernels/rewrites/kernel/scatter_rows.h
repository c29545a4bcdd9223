#pragma once
#include "kernel_operator.h"
// out[w[r]] += x[r] over two rows of output; rows that meet overwrite each other.
__global__ __aicore__ void scatter_rows(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> q;
    pipe.InitBuffer(q, 1, 4096);
    GlobalTensor<float> a, b, place;
    a.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    b.SetGlobalBuffer((__gm__ float *)out, 2 * cols);
    place.SetGlobalBuffer((__gm__ float *)w, rows);
    DataCopyExtParams size{1, static_cast<uint32_t>(cols * sizeof(float)), 0, 0, 0};
    for (int64_t r = 0; r < 2; ++r) {
        LocalTensor<float> zero = q.AllocTensor<float>();
        Duplicate(zero, 0.0f, static_cast<int32_t>(cols));
        q.EnQue(zero);
        zero = q.DeQue<float>();
        DataCopyPad(b[r * cols], zero, size);
        q.FreeTensor(zero);
    }
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t to = static_cast<int64_t>(place.GetValue(r));
        const int64_t begin = to * cols;
        LocalTensor<float> t = q.AllocTensor<float>();
        DataCopyPad(t, a[r * cols], size, DataCopyPadExtParams<float>());
        q.EnQue(t);
        t = q.DeQue<float>();
        DataCopyPad(b[begin], t, size);
        q.FreeTensor(t);
    }
}
