#pragma once
#include "kernel_operator.h"
// out = x, row by row; the tensors never go back to their queue.
class NeverFreed {
public:
    __aicore__ inline void Row(int64_t r, int64_t n)
    {
        AscendC::DataCopyExtParams size{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0};
        AscendC::LocalTensor<float> t = line.AllocTensor<float>();
        AscendC::DataCopyPad(t, a[r * n], size, AscendC::DataCopyPadExtParams<float>());
        line.EnQue(t);
        AscendC::LocalTensor<float> u = line.DeQue<float>();
        AscendC::DataCopyPad(b[r * n], u, size);
    }
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> line;
    AscendC::GlobalTensor<float> a, b;
};
__global__ __aicore__ void never_freed(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    NeverFreed op;
    op.pipe.InitBuffer(op.line, 2, 4096);
    op.a.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    op.b.SetGlobalBuffer((__gm__ float *)out, rows * cols);
    for (int64_t r = 0; r < rows; ++r) {
        op.Row(r, cols);
    }
}
