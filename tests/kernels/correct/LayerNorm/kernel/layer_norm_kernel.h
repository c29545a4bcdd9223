#ifndef LAYER_NORM_KERNEL_H
#define LAYER_NORM_KERNEL_H
#include <type_traits>

#include "kernel_operator.h"
#include "layer_norm_tiling.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr int64_t TILE_LENGTH = 2048;
constexpr uint32_t ONE_BLOCK = 8;  // floats in 32 bytes

// A row is normalised in three sweeps over its tiles: mean, variance, output. All arithmetic is in float.
template <typename T>
class KernelLayerNorm {
public:
    __aicore__ inline KernelLayerNorm() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR out, const LayerNormTiling &normTiling)
    {
        tiling = normTiling;
        tileNum = (tiling.cols + TILE_LENGTH - 1) / TILE_LENGTH;
        invCols = 1.0f / static_cast<float>(tiling.cols);
        xGm.SetGlobalBuffer((__gm__ T *)x);
        weightGm.SetGlobalBuffer((__gm__ T *)weight);
        biasGm.SetGlobalBuffer((__gm__ T *)bias);
        outGm.SetGlobalBuffer((__gm__ T *)out);
        pipe.InitBuffer(inQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(outQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(valueBuf, TILE_LENGTH * sizeof(float));
        pipe.InitBuffer(affineBuf, TILE_LENGTH * sizeof(float));
        pipe.InitBuffer(workBuf, TILE_LENGTH * sizeof(float));
        pipe.InitBuffer(resultBuf, ONE_BLOCK * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        for (int64_t row = GetBlockIdx(); row < tiling.rows; row += GetBlockNum()) {
            float mean = RowMean(row);
            float rstd = RowRstd(row, mean);
            Normalize(row, mean, rstd);
        }
    }

private:
    __aicore__ inline uint32_t TileCount(int64_t tile) const
    {
        int64_t rest = tiling.cols - tile * TILE_LENGTH;
        return static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH);
    }

    // Brings `count` elements from global memory into `local` as float.
    __aicore__ inline void Load(LocalTensor<float> &local, GlobalTensor<T> &global, int64_t offset, uint32_t count)
    {
        LocalTensor<T> inLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padParams{false, 0, 0, static_cast<T>(0)};
        DataCopyPad(inLocal, global[offset], copyParams, padParams);
        inQueue.EnQue(inLocal);
        inLocal = inQueue.template DeQue<T>();
        if constexpr (std::is_same<T, float>::value) {
            Adds(local, inLocal, 0.0f, count);
        } else {
            Cast(local, inLocal, RoundMode::CAST_NONE, count);
        }
        inQueue.FreeTensor(inLocal);
    }

    __aicore__ inline float RowMean(int64_t row)
    {
        LocalTensor<float> value = valueBuf.Get<float>();
        LocalTensor<float> work = workBuf.Get<float>();
        LocalTensor<float> result = resultBuf.Get<float>();
        float sum = 0.0f;
        for (int64_t tile = 0; tile < tileNum; ++tile) {
            uint32_t count = TileCount(tile);
            Load(value, xGm, row * tiling.cols + tile * TILE_LENGTH, count);
            ReduceSum(result, value, work, count);
            sum += result.GetValue(0);
        }
        return sum * invCols;
    }

    __aicore__ inline float RowRstd(int64_t row, float mean)
    {
        LocalTensor<float> value = valueBuf.Get<float>();
        LocalTensor<float> work = workBuf.Get<float>();
        LocalTensor<float> result = resultBuf.Get<float>();
        float sum = 0.0f;
        for (int64_t tile = 0; tile < tileNum; ++tile) {
            uint32_t count = TileCount(tile);
            Load(value, xGm, row * tiling.cols + tile * TILE_LENGTH, count);
            Adds(value, value, -mean, count);
            Mul(value, value, value, count);
            ReduceSum(result, value, work, count);
            sum += result.GetValue(0);
        }
        Duplicate(result, sum * invCols + tiling.epsilon, ONE_BLOCK);
        Sqrt(result, result, ONE_BLOCK);
        return 1.0f / result.GetValue(0);
    }

    __aicore__ inline void Normalize(int64_t row, float mean, float rstd)
    {
        LocalTensor<float> value = valueBuf.Get<float>();
        LocalTensor<float> affine = affineBuf.Get<float>();
        for (int64_t tile = 0; tile < tileNum; ++tile) {
            int64_t start = tile * TILE_LENGTH;
            uint32_t count = TileCount(tile);
            Load(value, xGm, row * tiling.cols + start, count);
            Adds(value, value, -mean, count);
            Muls(value, value, rstd, count);
            if (tiling.hasWeight) {
                Load(affine, weightGm, start, count);
                Mul(value, value, affine, count);
            }
            if (tiling.hasBias) {
                Load(affine, biasGm, start, count);
                Add(value, value, affine, count);
            }
            LocalTensor<T> outLocal = outQueue.template AllocTensor<T>();
            if constexpr (std::is_same<T, float>::value) {
                Adds(outLocal, value, 0.0f, count);
            } else {
                Cast(outLocal, value, RoundMode::CAST_RINT, count);
            }
            outQueue.EnQue(outLocal);
            CopyOut(row * tiling.cols + start, count);
        }
    }

    __aicore__ inline void CopyOut(int64_t offset, uint32_t count)
    {
        LocalTensor<T> outLocal = outQueue.template DeQue<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(outGm[offset], outLocal, copyParams);
        outQueue.FreeTensor(outLocal);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, BUFFER_NUM> inQueue;
    TQue<TPosition::VECOUT, BUFFER_NUM> outQueue;
    TBuf<TPosition::VECCALC> valueBuf;
    TBuf<TPosition::VECCALC> affineBuf;
    TBuf<TPosition::VECCALC> workBuf;
    TBuf<TPosition::VECCALC> resultBuf;
    GlobalTensor<T> xGm;
    GlobalTensor<T> weightGm;
    GlobalTensor<T> biasGm;
    GlobalTensor<T> outGm;
    LayerNormTiling tiling;
    int64_t tileNum;
    float invCols;
};

#endif  // LAYER_NORM_KERNEL_H
