#pragma once
#include "kernel_operator.h"
// out[c] = sum over the rows of half values, columns side by side, kept in half.
class HalfColumns {
public:
    __aicore__ inline void Run(GM_ADDR x, GM_ADDR out, int64_t rows, int64_t cols)
    {
        from.SetGlobalBuffer((__gm__ half *)x, rows * cols);
        to.SetGlobalBuffer((__gm__ half *)out, cols);
        pipe.InitBuffer(rowQueue, 2, 1024 * sizeof(half));
        pipe.InitBuffer(outQueue, 1, 1024 * sizeof(half));
        AscendC::DataCopyExtParams size{1, static_cast<uint32_t>(cols * sizeof(half)), 0, 0, 0};
        AscendC::LocalTensor<half> total = outQueue.AllocTensor<half>();
        AscendC::Duplicate(total, static_cast<half>(0.0f), static_cast<int32_t>(cols));
        for (int64_t r = 0; r < rows; ++r) {
            AscendC::LocalTensor<half> row = rowQueue.AllocTensor<half>();
            AscendC::DataCopyPad(row, from[r * cols], size, AscendC::DataCopyPadExtParams<half>());
            rowQueue.EnQue(row);
            row = rowQueue.DeQue<half>();
            AscendC::Add(total, total, row, static_cast<int32_t>(cols));
            rowQueue.FreeTensor(row);
        }
        outQueue.EnQue(total);
        total = outQueue.DeQue<half>();
        AscendC::DataCopyPad(to, total, size);
        outQueue.FreeTensor(total);
    }

private:
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> rowQueue;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> outQueue;
    AscendC::GlobalTensor<half> from, to;
};
__global__ __aicore__ void half_columns(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    HalfColumns op;
    op.Run(x, out, rows, cols);
}
