#pragma once
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t TILE = 256;  // floats

// What every mutant starts from: two inputs, an output, a scratch buffer that holds a tile of ones.
struct Ground {
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR z, uint32_t n)
    {
        xGm.SetGlobalBuffer((__gm__ float *)x, n);
        zGm.SetGlobalBuffer((__gm__ float *)z, n);
        length = n;
    }
    // Ones in a buffer of its own.
    __aicore__ inline LocalTensor<float> Ones(uint32_t count)
    {
        pipe.InitBuffer(scratch, TILE * sizeof(float));
        LocalTensor<float> ones = scratch.Get<float>();
        Duplicate(ones, 1.0f, count);
        PipeBarrier<PIPE_ALL>();
        return ones;
    }
    TPipe pipe;
    TBuf<TPosition::VECCALC> scratch;
    GlobalTensor<float> xGm, zGm;
    uint32_t length;
};
