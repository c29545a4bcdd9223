#pragma once
#include "kernel_operator.h"
// out = 0.5 * x; tiles are dealt out to the cores in turn, and each is taken for a full one.
constexpr int64_t DEALT = 96;
__global__ __aicore__ void dealt_tiles(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    const int64_t whole = rows * cols;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, DEALT * sizeof(float));
    GlobalTensor<float> a, b;
    a.SetGlobalBuffer((__gm__ float *)x);
    b.SetGlobalBuffer((__gm__ float *)out);
    LocalTensor<float> t = buf.Get<float>();
    const int64_t number = (whole + DEALT - 1) / DEALT;
    for (int64_t n = GetBlockIdx(); n < number; n += GetBlockNum()) {
        uint32_t amount = DEALT;
        DataCopy(t, a[n * DEALT], amount);
        PipeBarrier<PIPE_ALL>();
        Muls(t, t, 0.5f, amount);
        PipeBarrier<PIPE_ALL>();
        DataCopy(b[n * DEALT], t, amount);
        PipeBarrier<PIPE_ALL>();
    }
}
