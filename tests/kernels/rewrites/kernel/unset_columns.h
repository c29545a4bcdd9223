#pragma once
#include "kernel_operator.h"
// out[c] = sum over the rows; the running row is never set.
__global__ __aicore__ void unset_columns(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b;
    pipe.InitBuffer(a, 1024 * sizeof(float));
    pipe.InitBuffer(b, 1024 * sizeof(float));
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    to.SetGlobalBuffer((__gm__ float *)out, cols);
    LocalTensor<float> run = a.Get<float>();
    LocalTensor<float> row = b.Get<float>();
    for (int64_t r = 0; r < rows; ++r) {
        DataCopyPad(row, from[r * cols], DataCopyExtParams{1, static_cast<uint32_t>(cols * sizeof(float)), 0, 0, 0}, DataCopyPadExtParams<float>());
        PipeBarrier<PIPE_ALL>();
        Add(run, run, row, cols);
        PipeBarrier<PIPE_ALL>();
    }
    DataCopyPad(to, run, DataCopyExtParams{1, static_cast<uint32_t>(cols * sizeof(float)), 0, 0, 0});
}
