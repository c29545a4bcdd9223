#pragma once
#include "kernel_operator.h"
// out = half(x); the cast truncates.
__global__ __aicore__ void truncating_cast(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b;
    pipe.InitBuffer(a, 4096);
    pipe.InitBuffer(b, 2048);
    GlobalTensor<float> from;
    GlobalTensor<half> to;
    from.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    to.SetGlobalBuffer((__gm__ half *)out, rows * cols);
    auto wide = a.Get<float>();
    auto narrow = b.Get<half>();
    for (int64_t r = 0; r < rows; ++r) {
        DataCopyPad(wide, from[r * cols], DataCopyExtParams{1, static_cast<uint32_t>(cols * sizeof(float)), 0, 0, 0}, DataCopyPadExtParams<float>());
        PipeBarrier<PIPE_ALL>();
        Cast(narrow, wide, AscendC::RoundMode::CAST_TRUNC, cols);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(to[r * cols], narrow, DataCopyExtParams{1, static_cast<uint32_t>(cols * sizeof(half)), 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
    }
}
