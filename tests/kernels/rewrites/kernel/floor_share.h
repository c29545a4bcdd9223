#pragma once
#include "kernel_operator.h"
// out = x over all cores; each takes total / cores elements.
__global__ __aicore__ void floor_share(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    const int64_t total = rows * cols;
    const int64_t cores = GetBlockNum();
    const int64_t me = GetBlockIdx();
    const int64_t part = total / cores;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 64 * sizeof(float));
    GlobalTensor<float> a, b;
    a.SetGlobalBuffer((__gm__ float *)x + me * part, part);
    b.SetGlobalBuffer((__gm__ float *)out + me * part, part);
    LocalTensor<float> t = buf.Get<float>();
    for (int64_t i = 0; i < part; i += 64) {
        uint32_t n = part - i < 64 ? part - i : 64;
        DataCopyExtParams size{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0};
        DataCopyPad(t, a[i], size, DataCopyPadExtParams<float>());
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(b[i], t, size);
        PipeBarrier<PIPE_ALL>();
    }
}
