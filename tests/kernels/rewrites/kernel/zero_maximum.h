#pragma once
#include "kernel_operator.h"
// out[c] = maximum over the rows, columns side by side; the running maximum starts at 0.
__global__ __aicore__ void zero_maximum(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b;
    pipe.InitBuffer(a, 4096);
    pipe.InitBuffer(b, 4096);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    to.SetGlobalBuffer((__gm__ float *)out, cols);
    LocalTensor<float> top = a.Get<float>();
    LocalTensor<float> row = b.Get<float>();
    DataCopyExtParams size{1, static_cast<uint32_t>(cols * sizeof(float)), 0, 0, 0};
    Duplicate(top, 0.0f, cols);
    for (int64_t r = 0; r < rows; ++r) {
        DataCopyPad(row, from[r * cols], size, DataCopyPadExtParams<float>());
        PipeBarrier<PIPE_ALL>();
        Max(top, row, top, cols);
        PipeBarrier<PIPE_ALL>();
    }
    DataCopyPad(to, top, size);
}
