#pragma once
#include "kernel_operator.h"
// out[r] = mean of row r; the divisor is the padded width.
__aicore__ inline int64_t UpToSixteen(int64_t v) { return ((v + 15) >> 4) << 4; }
__global__ __aicore__ void padded_mean(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TBuf<TPosition::VECCALC> one;
    pipe.InitBuffer(one, 32);
    GlobalTensor<float> a, b;
    a.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    b.SetGlobalBuffer((__gm__ float *)out, rows);
    LocalTensor<float> cell = one.Get<float>();
    const int64_t wide = UpToSixteen(cols);
    const float scale = 1.0f / static_cast<float>(wide);
    for (int64_t r = 0; r < rows; ++r) {
        float s = 0.0f;
        for (int64_t i = 0; i < cols; ++i) {
            s += a.GetValue(r * cols + i);
        }
        cell.SetValue(0, s * scale);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(b[r], cell, DataCopyExtParams{1, 4, 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
    }
}
