#pragma once
#include "kernel_operator.h"
// out[r] = sum of row r; the rows lie at a padded distance, and the padding is summed as well.
constexpr uint32_t FLOATS_A_BLOCK = 8;
struct PaddedReduce {
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> rowBuf, workBuf, oneBuf;
    AscendC::GlobalTensor<float> in, res;
    uint32_t n, nPad;
    __aicore__ inline void Setup(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t cols)
    {
        this->n = cols;
        this->nPad = ((cols + FLOATS_A_BLOCK - 1) / FLOATS_A_BLOCK) * FLOATS_A_BLOCK;
        in.SetGlobalBuffer((__gm__ float *)x, rows * cols);
        res.SetGlobalBuffer((__gm__ float *)out, rows);
        pipe.InitBuffer(rowBuf, nPad * sizeof(float));
        pipe.InitBuffer(workBuf, nPad * sizeof(float));
        pipe.InitBuffer(oneBuf, 32);
    }
    __aicore__ inline void One(uint32_t r)
    {
        AscendC::LocalTensor<float> row = rowBuf.Get<float>();
        AscendC::LocalTensor<float> work = workBuf.Get<float>();
        AscendC::LocalTensor<float> one = oneBuf.Get<float>();
        AscendC::Duplicate(row, 7.0f, this->nPad);
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCopyExtParams size{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0};
        AscendC::DataCopyPad(row, in[r * n], size, AscendC::DataCopyPadExtParams<float>{true, 0, static_cast<uint8_t>(nPad - n), 7.0f});
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::ReduceSum<float>(one, row, work, static_cast<int32_t>(this->nPad));
        AscendC::PipeBarrier<PIPE_ALL>();
        AscendC::DataCopyPad(res[r], one, AscendC::DataCopyExtParams{1, 4, 0, 0, 0});
        AscendC::PipeBarrier<PIPE_ALL>();
    }
};
__global__ __aicore__ void padded_reduce(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    PaddedReduce op;
    op.Setup(x, out, rows, cols);
    for (int64_t r = 0; r < rows; ++r) {
        op.One(r);
    }
}
