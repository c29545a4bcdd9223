#pragma once
#include "kernel_operator.h"
// out = 2 * x over rows * cols elements, in one core, without a class; the copies move whole blocks only.
__global__ __aicore__ void pad_flat(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> scratch;
    pipe.InitBuffer(scratch, 256 * sizeof(float));
    AscendC::GlobalTensor<float> from;
    AscendC::GlobalTensor<float> to;
    from.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    to.SetGlobalBuffer((__gm__ float *)out, rows * cols);
    auto values = scratch.Get<float>();
    int64_t done = 0;
    while (done < rows * cols) {
        int32_t amount = rows * cols - done < 256 ? rows * cols - done : 256;
        AscendC::DataCopy(values, from[done], amount);
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::Muls(values, values, 2.0f, amount);
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCopy(to[done], values, amount);
        AscendC::PipeBarrier<PIPE_ALL>();
        done += amount;
    }
}
