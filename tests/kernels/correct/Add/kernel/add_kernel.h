#ifndef ADD_KERNEL_H
#define ADD_KERNEL_H
#include <type_traits>

#include "add_tiling.h"
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr int64_t TILE_LENGTH = 4096;

// out = x + alpha * y. A row is the last dimension; rows are cut into tiles, and tiles are dealt out to the cores.
template <typename T>
class KernelAdd {
public:
    __aicore__ inline KernelAdd() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR out, const AddTiling &addTiling)
    {
        tiling = addTiling;
        tilesPerRow = (tiling.cols + TILE_LENGTH - 1) / TILE_LENGTH;
        xGm.SetGlobalBuffer((__gm__ T *)x);
        yGm.SetGlobalBuffer((__gm__ T *)y);
        outGm.SetGlobalBuffer((__gm__ T *)out);
        pipe.InitBuffer(xQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(yQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(outQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            pipe.InitBuffer(xFloatBuf, TILE_LENGTH * sizeof(float));
            pipe.InitBuffer(yFloatBuf, TILE_LENGTH * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        int64_t totalTiles = tiling.rows * tilesPerRow;
        for (int64_t tile = GetBlockIdx(); tile < totalTiles; tile += GetBlockNum()) {
            int64_t row = tile / tilesPerRow;
            int64_t start = (tile % tilesPerRow) * TILE_LENGTH;
            int64_t rest = tiling.cols - start;
            uint32_t count = static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH);
            CopyIn(row, start, count);
            Compute(count);
            CopyOut(row, start, count);
        }
    }

private:
    __aicore__ inline int64_t RowOffset(int64_t row, const int64_t *stride) const
    {
        int64_t d2 = row % tiling.shape[2];
        int64_t d1 = row / tiling.shape[2] % tiling.shape[1];
        int64_t d0 = row / tiling.shape[2] / tiling.shape[1];
        return d0 * stride[0] + d1 * stride[1] + d2 * stride[2];
    }

    __aicore__ inline void LoadOperand(LocalTensor<T> &local, GlobalTensor<T> &global, int64_t offset,
                                       int64_t lastStride, uint32_t count)
    {
        if (lastStride == 0) {
            Duplicate(local, global.GetValue(offset), count);
            return;
        }
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padParams{false, 0, 0, static_cast<T>(0)};
        DataCopyPad(local, global[offset], copyParams, padParams);
    }

    __aicore__ inline void CopyIn(int64_t row, int64_t start, uint32_t count)
    {
        LocalTensor<T> xLocal = xQueue.template AllocTensor<T>();
        LocalTensor<T> yLocal = yQueue.template AllocTensor<T>();
        int64_t xOffset = RowOffset(row, tiling.xStride) + start * tiling.xStride[3];
        int64_t yOffset = RowOffset(row, tiling.yStride) + start * tiling.yStride[3];
        LoadOperand(xLocal, xGm, xOffset, tiling.xStride[3], count);
        LoadOperand(yLocal, yGm, yOffset, tiling.yStride[3], count);
        xQueue.EnQue(xLocal);
        yQueue.EnQue(yLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = xQueue.template DeQue<T>();
        LocalTensor<T> yLocal = yQueue.template DeQue<T>();
        LocalTensor<T> outLocal = outQueue.template AllocTensor<T>();
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            // The vector unit has no bfloat16 arithmetic: go through float, and round alpha * y as the type does.
            LocalTensor<float> xFloat = xFloatBuf.Get<float>();
            LocalTensor<float> yFloat = yFloatBuf.Get<float>();
            Cast(yFloat, yLocal, RoundMode::CAST_NONE, count);
            Muls(yFloat, yFloat, tiling.alpha, count);
            Cast(yLocal, yFloat, RoundMode::CAST_RINT, count);
            Cast(yFloat, yLocal, RoundMode::CAST_NONE, count);
            Cast(xFloat, xLocal, RoundMode::CAST_NONE, count);
            Add(xFloat, xFloat, yFloat, count);
            Cast(outLocal, xFloat, RoundMode::CAST_RINT, count);
        } else {
            Muls(yLocal, yLocal, static_cast<T>(tiling.alpha), count);
            Add(outLocal, xLocal, yLocal, count);
        }
        outQueue.EnQue(outLocal);
        xQueue.FreeTensor(xLocal);
        yQueue.FreeTensor(yLocal);
    }

    __aicore__ inline void CopyOut(int64_t row, int64_t start, uint32_t count)
    {
        LocalTensor<T> outLocal = outQueue.template DeQue<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(outGm[row * tiling.cols + start], outLocal, copyParams);
        outQueue.FreeTensor(outLocal);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, BUFFER_NUM> xQueue;
    TQue<TPosition::VECIN, BUFFER_NUM> yQueue;
    TQue<TPosition::VECOUT, BUFFER_NUM> outQueue;
    TBuf<TPosition::VECCALC> xFloatBuf;
    TBuf<TPosition::VECCALC> yFloatBuf;
    GlobalTensor<T> xGm;
    GlobalTensor<T> yGm;
    GlobalTensor<T> outGm;
    AddTiling tiling;
    int64_t tilesPerRow;
};

#endif  // ADD_KERNEL_H
