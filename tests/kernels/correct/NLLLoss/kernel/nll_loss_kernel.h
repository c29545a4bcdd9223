#ifndef NLL_LOSS_KERNEL_H
#define NLL_LOSS_KERNEL_H
#include <type_traits>

#include "kernel_operator.h"
#include "nll_loss_tiling.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr int64_t TILE_LENGTH = 1024;

// Picks input[n, target[n, s], s] for each position. Without reduction the positions are dealt out to the cores in
// tiles; with a reduction one core walks all tiles and adds them up in float.
template <typename T>
class KernelNllLoss {
public:
    __aicore__ inline KernelNllLoss() {}

    __aicore__ inline void Init(GM_ADDR input, GM_ADDR target, GM_ADDR weight, GM_ADDR out,
                                const NllLossTiling &lossTiling)
    {
        tiling = lossTiling;
        positions = tiling.batch * tiling.spatial;
        inputGm.SetGlobalBuffer((__gm__ T *)input);
        targetGm.SetGlobalBuffer((__gm__ int64_t *)target);
        weightGm.SetGlobalBuffer((__gm__ T *)weight);
        outGm.SetGlobalBuffer((__gm__ T *)out);
        pipe.InitBuffer(outQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(lossBuf, TILE_LENGTH * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        LocalTensor<float> loss = lossBuf.Get<float>();
        float lossSum = 0.0f;
        float divisor = 0.0f;
        int64_t tiles = (positions + TILE_LENGTH - 1) / TILE_LENGTH;
        for (int64_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {
            int64_t start = tile * TILE_LENGTH;
            int64_t rest = positions - start;
            uint32_t count = static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH);
            float tileLoss = 0.0f;
            float tileDivisor = 0.0f;
            for (uint32_t i = 0; i < count; ++i) {
                int64_t position = start + i;
                int64_t label = targetGm.GetValue(position);
                float weight = 0.0f;
                float value = 0.0f;
                if (label != tiling.ignoreIndex) {
                    weight = tiling.hasWeight ? Wide(weightGm.GetValue(label)) : 1.0f;
                    value = -Wide(inputGm.GetValue(InputOffset(position, label)));
                }
                tileLoss += weight * value;
                tileDivisor += weight;
                loss.SetValue(i, weight * value);
            }
            lossSum += tileLoss;
            divisor += tileDivisor;
            if (tiling.reduction == 0) {
                Store(loss, start, count);
            }
        }
        if (tiling.reduction != 0) {
            loss.SetValue(0, tiling.reduction == 1 ? lossSum / divisor : lossSum);
            Store(loss, 0, 1);
        }
    }

private:
    __aicore__ inline float Wide(T value) const
    {
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            return ToFloat(value);
        } else {
            return static_cast<float>(value);
        }
    }

    __aicore__ inline int64_t InputOffset(int64_t position, int64_t label) const
    {
        int64_t sample = position / tiling.spatial;
        int64_t place = position % tiling.spatial;
        return (sample * tiling.classes + label) * tiling.spatial + place;
    }

    __aicore__ inline void Store(LocalTensor<float> &loss, int64_t offset, uint32_t count)
    {
        LocalTensor<T> outLocal = outQueue.template AllocTensor<T>();
        if constexpr (std::is_same<T, float>::value) {
            Adds(outLocal, loss, 0.0f, count);
        } else {
            Cast(outLocal, loss, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(outLocal);
        outLocal = outQueue.template DeQue<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(outGm[offset], outLocal, copyParams);
        outQueue.FreeTensor(outLocal);
    }

    TPipe pipe;
    TQue<TPosition::VECOUT, BUFFER_NUM> outQueue;
    TBuf<TPosition::VECCALC> lossBuf;
    GlobalTensor<T> inputGm;
    GlobalTensor<int64_t> targetGm;
    GlobalTensor<T> weightGm;
    GlobalTensor<T> outGm;
    NllLossTiling tiling;
    int64_t positions;
};

#endif  // NLL_LOSS_KERNEL_H
