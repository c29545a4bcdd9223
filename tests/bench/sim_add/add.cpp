// An elementwise sum as everybody writes it: double-buffered tiles on eight cores.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kTile = 2048;

class KernelAdd {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total)
    {
        length = total / GetBlockNum();
        xGm.SetGlobalBuffer((__gm__ float *)x + length * GetBlockIdx(), length);
        yGm.SetGlobalBuffer((__gm__ float *)y + length * GetBlockIdx(), length);
        zGm.SetGlobalBuffer((__gm__ float *)z + length * GetBlockIdx(), length);
        pipe.InitBuffer(xQueue, 2, kTile * sizeof(float));
        pipe.InitBuffer(yQueue, 2, kTile * sizeof(float));
        pipe.InitBuffer(zQueue, 2, kTile * sizeof(float));
    }
    __aicore__ inline void Process()
    {
        for (uint32_t tile = 0; tile < length / kTile; ++tile) {
            CopyIn(tile);
            Compute();
            CopyOut(tile);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t tile)
    {
        LocalTensor<float> x = xQueue.AllocTensor<float>();
        LocalTensor<float> y = yQueue.AllocTensor<float>();
        DataCopy(x, xGm[tile * kTile], kTile);
        DataCopy(y, yGm[tile * kTile], kTile);
        xQueue.EnQue(x);
        yQueue.EnQue(y);
    }
    __aicore__ inline void Compute()
    {
        LocalTensor<float> x = xQueue.DeQue<float>();
        LocalTensor<float> y = yQueue.DeQue<float>();
        LocalTensor<float> z = zQueue.AllocTensor<float>();
        Add(z, x, y, kTile);
        zQueue.EnQue<float>(z);
        xQueue.FreeTensor(x);
        yQueue.FreeTensor(y);
    }
    __aicore__ inline void CopyOut(uint32_t tile)
    {
        LocalTensor<float> z = zQueue.DeQue<float>();
        DataCopy(zGm[tile * kTile], z, kTile);
        zQueue.FreeTensor(z);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, 2> xQueue, yQueue;
    TQue<QuePosition::VECOUT, 2> zQueue;
    GlobalTensor<float> xGm, yGm, zGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total)
{
    KernelAdd op;
    op.Init(x, y, z, total);
    op.Process();
}

extern "C" void add_do(uint32_t blocks, void *stream, uint8_t *x, uint8_t *y, uint8_t *z, uint32_t total)
{
    add_custom<<<blocks, nullptr, stream>>>(x, y, z, total);
}
