#pragma once
#include "kernel_operator.h"
// out = x + 1 in tiles of 128 by the three stages; the last tile is taken for a full one.
class TailStages {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR out, uint32_t amount)
    {
        amount_ = amount;
        source_.SetGlobalBuffer((__gm__ half *)x);
        target_.SetGlobalBuffer((__gm__ half *)out);
        pipe_.InitBuffer(queueIn_, 2, kChunk * sizeof(half));
        pipe_.InitBuffer(queueOut_, 2, kChunk * sizeof(half));
    }
    __aicore__ inline void Process()
    {
        for (uint32_t c = 0; c < CeilDivide(amount_, kChunk); c++) {
            In(c);
            Work();
            Out(c);
        }
    }

private:
    static constexpr uint32_t kChunk = 128;
    __aicore__ inline uint32_t CeilDivide(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
    __aicore__ inline void In(uint32_t index)
    {
        auto local = queueIn_.AllocTensor<half>();
        AscendC::DataCopy(local, source_[index * kChunk], kChunk);
        queueIn_.EnQue(local);
    }
    __aicore__ inline void Work()
    {
        auto local = queueIn_.DeQue<half>();
        auto result = queueOut_.AllocTensor<half>();
        AscendC::Adds(result, local, static_cast<half>(1.0f), static_cast<int32_t>(kChunk));
        queueOut_.EnQue(result);
        queueIn_.FreeTensor(local);
    }
    __aicore__ inline void Out(uint32_t index)
    {
        auto result = queueOut_.DeQue<half>();
        AscendC::DataCopy(target_[index * kChunk], result, kChunk);
        queueOut_.FreeTensor(result);
    }
    AscendC::TPipe pipe_;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> queueIn_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 2> queueOut_;
    AscendC::GlobalTensor<half> source_;
    AscendC::GlobalTensor<half> target_;
    uint32_t amount_;
};
__global__ __aicore__ void tail_stages(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    TailStages stages;
    stages.Init(x, out, rows * cols);
    stages.Process();
}
