#pragma once
#include "kernel_operator.h"
// out = 3 * x, row by row in two functions; the first never enqueues what the second dequeues.
class NotEnqueued {
public:
    __aicore__ inline void Bring(int64_t r, int64_t n)
    {
        AscendC::LocalTensor<float> t = line.AllocTensor<float>();
        AscendC::DataCopyPad(t, a[r * n], AscendC::DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0}, AscendC::DataCopyPadExtParams<float>());
    }
    __aicore__ inline void Send(int64_t r, int64_t n)
    {
        AscendC::LocalTensor<float> t = line.DeQue<float>();
        AscendC::Muls(t, t, 3.0f, static_cast<int32_t>(n));
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCopyPad(b[r * n], t, AscendC::DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0});
        line.FreeTensor(t);
    }
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> line;
    AscendC::GlobalTensor<float> a, b;
};
__global__ __aicore__ void not_enqueued(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    NotEnqueued op;
    op.pipe.InitBuffer(op.line, 2, 4096);
    op.a.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    op.b.SetGlobalBuffer((__gm__ float *)out, rows * cols);
    for (int64_t r = 0; r < rows; ++r) {
        op.Bring(r, cols);
        op.Send(r, cols);
    }
}
