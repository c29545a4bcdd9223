#ifndef CUMSUM_KERNEL_H
#define CUMSUM_KERNEL_H
#include <type_traits>

#include "cumsum_tiling.h"
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr int64_t TILE_LENGTH = 2048;

// Running sum. With inner > 1 a tile of neighbouring columns is scanned at once by the vector unit, step by step along
// the scanned axis. With inner == 1 the line lies contiguous in memory and the scalar unit walks it.
template <typename T>
class KernelCumsum {
public:
    __aicore__ inline KernelCumsum() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR out, const CumsumTiling &cumsumTiling)
    {
        tiling = cumsumTiling;
        xGm.SetGlobalBuffer((__gm__ T *)x);
        outGm.SetGlobalBuffer((__gm__ T *)out);
        pipe.InitBuffer(xQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(outQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(sumBuf, TILE_LENGTH * sizeof(SumType));
        pipe.InitBuffer(xFloatBuf, TILE_LENGTH * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        if (tiling.inner == 1) {
            for (int64_t line = GetBlockIdx(); line < tiling.outer; line += GetBlockNum()) {
                ScanLine(line * tiling.length);
            }
            return;
        }
        int64_t tilesPerSlice = (tiling.inner + TILE_LENGTH - 1) / TILE_LENGTH;
        int64_t totalTiles = tiling.outer * tilesPerSlice;
        for (int64_t tile = GetBlockIdx(); tile < totalTiles; tile += GetBlockNum()) {
            int64_t column = (tile % tilesPerSlice) * TILE_LENGTH;
            int64_t rest = tiling.inner - column;
            uint32_t count = static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH);
            ScanColumns(tile / tilesPerSlice * tiling.length * tiling.inner + column, count);
        }
    }

private:
    // bfloat16 has no vector arithmetic of its own.
    using SumType = typename std::conditional<std::is_same<T, bfloat16_t>::value, float, T>::type;

    __aicore__ inline void CopyIn(int64_t offset, uint32_t count)
    {
        LocalTensor<T> xLocal = xQueue.template AllocTensor<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padParams{false, 0, 0, static_cast<T>(0)};
        DataCopyPad(xLocal, xGm[offset], copyParams, padParams);
        xQueue.EnQue(xLocal);
    }

    __aicore__ inline void CopyOut(int64_t offset, uint32_t count)
    {
        LocalTensor<T> outLocal = outQueue.template DeQue<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(outGm[offset], outLocal, copyParams);
        outQueue.FreeTensor(outLocal);
    }

    __aicore__ inline void ScanColumns(int64_t offset, uint32_t count)
    {
        LocalTensor<SumType> sumLocal = sumBuf.Get<SumType>();
        Duplicate(sumLocal, static_cast<SumType>(0), count);
        for (int64_t step = 0; step < tiling.length; ++step) {
            CopyIn(offset + step * tiling.inner, count);
            AddStep(sumLocal, count);
            CopyOut(offset + step * tiling.inner, count);
        }
    }

    __aicore__ inline void AddStep(LocalTensor<SumType> &sumLocal, uint32_t count)
    {
        LocalTensor<T> xLocal = xQueue.template DeQue<T>();
        LocalTensor<T> outLocal = outQueue.template AllocTensor<T>();
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            LocalTensor<float> xFloat = xFloatBuf.Get<float>();
            Cast(xFloat, xLocal, RoundMode::CAST_NONE, count);
            Add(sumLocal, sumLocal, xFloat, count);
            Cast(outLocal, sumLocal, RoundMode::CAST_RINT, count);
        } else {
            Add(sumLocal, sumLocal, xLocal, count);
            Adds(outLocal, sumLocal, static_cast<T>(0), count);
        }
        outQueue.EnQue(outLocal);
        xQueue.FreeTensor(xLocal);
    }

    __aicore__ inline void ScanLine(int64_t offset)
    {
        // Float keeps the running sum accurate over long lines.
        float sum = 0.0f;
        for (int64_t start = 0; start < tiling.length; start += TILE_LENGTH) {
            int64_t rest = tiling.length - start;
            uint32_t count = static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH);
            CopyIn(offset + start, count);
            LocalTensor<T> xLocal = xQueue.template DeQue<T>();
            LocalTensor<T> outLocal = outQueue.template AllocTensor<T>();
            for (uint32_t i = 0; i < count; ++i) {
                if constexpr (std::is_same<T, bfloat16_t>::value) {
                    sum = sum + ToFloat(xLocal.GetValue(i));
                    outLocal.SetValue(i, ToBfloat16(sum));
                } else {
                    sum = sum + static_cast<float>(xLocal.GetValue(i));
                    outLocal.SetValue(i, static_cast<T>(sum));
                }
            }
            outQueue.EnQue(outLocal);
            xQueue.FreeTensor(xLocal);
            CopyOut(offset + start, count);
        }
    }

    TPipe pipe;
    TQue<TPosition::VECIN, BUFFER_NUM> xQueue;
    TQue<TPosition::VECOUT, BUFFER_NUM> outQueue;
    TBuf<TPosition::VECCALC> sumBuf;
    TBuf<TPosition::VECCALC> xFloatBuf;
    GlobalTensor<T> xGm;
    GlobalTensor<T> outGm;
    CumsumTiling tiling;
};

#endif  // CUMSUM_KERNEL_H
