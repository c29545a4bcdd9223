#pragma once
#include "kernel_operator.h"
// out[r] = variance of row r from raw moments.
__global__ __aicore__ void raw_moments(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TBuf<TPosition::VECCALC> one;
    pipe.InitBuffer(one, 32);
    GlobalTensor<float> a, b;
    a.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    b.SetGlobalBuffer((__gm__ float *)out, rows);
    auto cell = one.Get<float>();
    for (int64_t r = 0; r < rows; ++r) {
        float first = 0.0f, second = 0.0f;
        for (int64_t i = 0; i < cols; ++i) {
            const float v = a.GetValue(r * cols + i);
            first += v;
            second += v * v;
        }
        const float average = first / cols;
        cell.SetValue(0, second / cols - average * average);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(b[r], cell, DataCopyExtParams{1, 4, 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
    }
}
