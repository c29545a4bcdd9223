#ifndef SUM_KERNEL_H
#define SUM_KERNEL_H
#include <type_traits>

#include "kernel_operator.h"
#include "sum_tiling.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr int64_t TILE_LENGTH = 2048;
constexpr uint32_t BLOCK_ELEMENTS = 16;  // a 32-byte block of a 16-bit type, two of float

// Sum over one axis. With inner > 1 a tile of neighbouring columns is added up slice by slice; with inner == 1 the
// line lies contiguous in memory and becomes one number.
template <typename T>
class KernelSum {
public:
    __aicore__ inline KernelSum() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR out, const SumTiling &sumTiling)
    {
        tiling = sumTiling;
        xGm.SetGlobalBuffer((__gm__ T *)x);
        outGm.SetGlobalBuffer((__gm__ T *)out);
        pipe.InitBuffer(xQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(outQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(sumBuf, TILE_LENGTH * sizeof(float));
        pipe.InitBuffer(xFloatBuf, TILE_LENGTH * sizeof(float));
        pipe.InitBuffer(workBuf, TILE_LENGTH * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        if (tiling.inner == 1) {
            for (int64_t line = GetBlockIdx(); line < tiling.outer; line += GetBlockNum()) {
                SumLine(line);
            }
            return;
        }
        int64_t tilesPerSlice = (tiling.inner + TILE_LENGTH - 1) / TILE_LENGTH;
        int64_t totalTiles = tiling.outer * tilesPerSlice;
        for (int64_t tile = GetBlockIdx(); tile < totalTiles; tile += GetBlockNum()) {
            int64_t column = (tile % tilesPerSlice) * TILE_LENGTH;
            int64_t rest = tiling.inner - column;
            SumColumns(tile / tilesPerSlice, column, static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH));
        }
    }

private:
    __aicore__ inline void CopyIn(int64_t offset, uint32_t count)
    {
        LocalTensor<T> xLocal = xQueue.template AllocTensor<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padParams{false, 0, 0, static_cast<T>(0)};
        DataCopyPad(xLocal, xGm[offset], copyParams, padParams);
        xQueue.EnQue(xLocal);
    }

    __aicore__ inline void SumColumns(int64_t outerIdx, int64_t column, uint32_t count)
    {
        LocalTensor<float> sumLocal = sumBuf.Get<float>();
        LocalTensor<float> xFloat = xFloatBuf.Get<float>();
        Duplicate(sumLocal, 0.0f, count);
        for (int64_t step = 0; step < tiling.length; ++step) {
            CopyIn((outerIdx * tiling.length + step) * tiling.inner + column, count);
            LocalTensor<T> xLocal = xQueue.template DeQue<T>();
            if constexpr (std::is_same<T, float>::value) {
                Add(sumLocal, sumLocal, xLocal, count);
            } else {
                Cast(xFloat, xLocal, RoundMode::CAST_NONE, count);
                Add(sumLocal, sumLocal, xFloat, count);
            }
            xQueue.FreeTensor(xLocal);
        }
        Store(sumLocal, outerIdx * tiling.inner + column, count);
    }

    __aicore__ inline void SumLine(int64_t line)
    {
        LocalTensor<float> sumLocal = sumBuf.Get<float>();
        LocalTensor<float> xFloat = xFloatBuf.Get<float>();
        LocalTensor<float> work = workBuf.Get<float>();
        float total = 0.0f;
        for (int64_t start = 0; start < tiling.length; start += TILE_LENGTH) {
            int64_t rest = tiling.length - start;
            uint32_t count = static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH);
            CopyIn(line * tiling.length + start, count);
            LocalTensor<T> xLocal = xQueue.template DeQue<T>();
            if constexpr (std::is_same<T, float>::value) {
                Adds(xFloat, xLocal, 0.0f, count);
            } else {
                Cast(xFloat, xLocal, RoundMode::CAST_NONE, count);
            }
            ReduceSum(sumLocal, xFloat, work, count);
            total += sumLocal.GetValue(0);
            xQueue.FreeTensor(xLocal);
        }
        Duplicate(sumLocal, total, BLOCK_ELEMENTS);
        Store(sumLocal, line, 1);
    }

    __aicore__ inline void Store(LocalTensor<float> &sumLocal, int64_t offset, uint32_t count)
    {
        LocalTensor<T> outLocal = outQueue.template AllocTensor<T>();
        if constexpr (std::is_same<T, float>::value) {
            Adds(outLocal, sumLocal, 0.0f, count);
        } else {
            Cast(outLocal, sumLocal, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(outLocal);
        outLocal = outQueue.template DeQue<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(outGm[offset], outLocal, copyParams);
        outQueue.FreeTensor(outLocal);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, BUFFER_NUM> xQueue;
    TQue<TPosition::VECOUT, BUFFER_NUM> outQueue;
    TBuf<TPosition::VECCALC> sumBuf;
    TBuf<TPosition::VECCALC> xFloatBuf;
    TBuf<TPosition::VECCALC> workBuf;
    GlobalTensor<T> xGm;
    GlobalTensor<T> outGm;
    SumTiling tiling;
};

#endif  // SUM_KERNEL_H
