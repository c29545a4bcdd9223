#ifndef TINY_ADD_H
#define TINY_ADD_H
#include "kernel_operator.h"

using namespace AscendC;

constexpr int64_t TILE = 256;

// out = x + y over one long row; tiles are dealt out to the cores.
class KernelTinyAdd {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR out, int64_t total)
    {
        length = total;
        xGm.SetGlobalBuffer((__gm__ float *)x, total);
        yGm.SetGlobalBuffer((__gm__ float *)y, total);
        outGm.SetGlobalBuffer((__gm__ float *)out, total);
        pipe.InitBuffer(xQueue, 2, TILE * sizeof(float));
        pipe.InitBuffer(yQueue, 2, TILE * sizeof(float));
        pipe.InitBuffer(outQueue, 2, TILE * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        for (int64_t start = GetBlockIdx() * TILE; start < length; start += GetBlockNum() * TILE) {
            uint32_t count = static_cast<uint32_t>(length - start < TILE ? length - start : TILE);
            CopyIn(start, count);
            Compute(count);
            CopyOut(start, count);
        }
    }

private:
    __aicore__ inline void CopyIn(int64_t start, uint32_t count)
    {
        LocalTensor<float> x = xQueue.AllocTensor<float>();
        LocalTensor<float> y = yQueue.AllocTensor<float>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
        DataCopyPad(x, xGm[start], params, pad);
        DataCopyPad(y, yGm[start], params, pad);
        xQueue.EnQue(x);
        yQueue.EnQue(y);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<float> x = xQueue.DeQue<float>();
        LocalTensor<float> y = yQueue.DeQue<float>();
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        Add(out, x, y, count);
        if (count != TILE) {
            Add(out, out, y, count);
        }
        outQueue.EnQue(out);
        xQueue.FreeTensor(x);
        yQueue.FreeTensor(y);
    }

    __aicore__ inline void CopyOut(int64_t start, uint32_t count)
    {
        LocalTensor<float> out = outQueue.DeQue<float>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
        DataCopyPad(outGm[start], out, params);
        outQueue.FreeTensor(out);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, 2> xQueue, yQueue;
    TQue<TPosition::VECOUT, 2> outQueue;
    GlobalTensor<float> xGm, yGm, outGm;
    int64_t length = 0;
};

#endif  // TINY_ADD_H
