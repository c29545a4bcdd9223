#pragma once
#include "kernel_operator.h"
// Running sum down the rows of half values, columns side by side; the running row stays in float.
__global__ __aicore__ void exact_scan(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TBuf<TPosition::VECCALC> narrowBuf, wideBuf, runBuf;
    pipe.InitBuffer(narrowBuf, 1024);
    pipe.InitBuffer(wideBuf, 2048);
    pipe.InitBuffer(runBuf, 2048);
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half *)x, rows * cols);
    to.SetGlobalBuffer((__gm__ half *)out, rows * cols);
    LocalTensor<half> narrow = narrowBuf.Get<half>();
    LocalTensor<float> wide = wideBuf.Get<float>();
    LocalTensor<float> run = runBuf.Get<float>();
    DataCopyExtParams size{1, static_cast<uint32_t>(cols * sizeof(half)), 0, 0, 0};
    Duplicate(run, 0.0f, cols);
    for (int64_t r = 0; r < rows; ++r) {
        DataCopyPad(narrow, from[r * cols], size, DataCopyPadExtParams<half>());
        PipeBarrier<PIPE_ALL>();
        Cast(wide, narrow, RoundMode::CAST_NONE, cols);
        Add(run, wide, run, cols);
        Cast(narrow, run, RoundMode::CAST_RINT, cols);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(to[r * cols], narrow, size);
        PipeBarrier<PIPE_ALL>();
    }
}
