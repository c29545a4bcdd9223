#pragma once
#include "kernel_operator.h"
// out = -x; the number of pieces is rounded down, so a rest is never touched.
__global__ __aicore__ void tail_floor(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    constexpr int64_t PIECE = 64;
    const int64_t whole = rows * cols;
    TPipe pipe;
    TBuf<TPosition::VECCALC> hold;
    pipe.InitBuffer(hold, PIECE * sizeof(float));
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, whole);
    to.SetGlobalBuffer((__gm__ float *)out, whole);
    LocalTensor<float> piece = hold.Get<float>();
    const int64_t pieces = whole / PIECE;
    for (int64_t k = 0; k < pieces; ++k) {
        DataCopy(piece, from[k * PIECE], PIECE);
        PipeBarrier<PIPE_ALL>();
        Muls(piece, piece, -1.0f, PIECE);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to[k * PIECE], piece, PIECE);
        PipeBarrier<PIPE_ALL>();
    }
}
