#ifndef INPLACE_INDEX_ADD_WITH_SORTED_KERNEL_H
#define INPLACE_INDEX_ADD_WITH_SORTED_KERNEL_H
#include <type_traits>

#include "inplace_index_add_with_sorted_tiling.h"
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr int64_t TILE_LENGTH = 4096;

// A core owns whole rows of the output (a row is `inner` elements at one place of the axis), so duplicates in the
// indices meet in one core and add up in their order.
template <typename T, typename AlphaT>
class KernelIndexAdd {
public:
    __aicore__ inline KernelIndexAdd() {}

    __aicore__ inline void Init(GM_ADDR var, GM_ADDR value, GM_ADDR indices, GM_ADDR pos, GM_ADDR alpha, GM_ADDR out,
                                const IndexAddTiling &addTiling)
    {
        tiling = addTiling;
        varGm.SetGlobalBuffer((__gm__ T *)var);
        valueGm.SetGlobalBuffer((__gm__ T *)value);
        indexGm.SetGlobalBuffer((__gm__ int32_t *)indices, tiling.indexCount);
        posGm.SetGlobalBuffer((__gm__ int32_t *)pos, tiling.indexCount);
        outGm.SetGlobalBuffer((__gm__ T *)out);
        factor = static_cast<T>(1);
        if (tiling.hasAlpha) {
            alphaGm.SetGlobalBuffer((__gm__ AlphaT *)alpha, 1);
            factor = static_cast<T>(alphaGm.GetValue(0));
        }
        pipe.InitBuffer(valueQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(varQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
        pipe.InitBuffer(outQueue, BUFFER_NUM, TILE_LENGTH * sizeof(T));
    }

    __aicore__ inline void Process()
    {
        int64_t rows = tiling.outer * tiling.axisLength;
        for (int64_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
            for (int64_t start = 0; start < tiling.inner; start += TILE_LENGTH) {
                int64_t rest = tiling.inner - start;
                UpdateTile(row, start, static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH));
            }
        }
    }

private:
    __aicore__ inline LocalTensor<T> Load(TQue<TPosition::VECIN, BUFFER_NUM> &queue, GlobalTensor<T> &global,
                                          int64_t offset, uint32_t count)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padParams{false, 0, 0, static_cast<T>(0)};
        DataCopyPad(local, global[offset], copyParams, padParams);
        queue.EnQue(local);
        return queue.template DeQue<T>();
    }

    __aicore__ inline void UpdateTile(int64_t row, int64_t start, uint32_t count)
    {
        int64_t outerIdx = row / tiling.axisLength;
        int64_t place = row % tiling.axisLength;
        LocalTensor<T> sum = Load(varQueue, varGm, row * tiling.inner + start, count);
        if (outerIdx < tiling.valueOuter) {
            for (int64_t j = 0; j < tiling.indexCount; ++j) {
                int64_t index = indexGm.GetValue(j);
                if (index > place) {
                    break;  // the indices are sorted
                }
                if (index < place) {
                    continue;
                }
                int64_t valueRow = posGm.GetValue(j);
                LocalTensor<T> value = Load(valueQueue, valueGm, valueRow * tiling.inner + start, count);
                Muls(value, value, factor, count);
                Add(sum, sum, value, count);
                valueQueue.FreeTensor(value);
            }
        }
        LocalTensor<T> outLocal = outQueue.template AllocTensor<T>();
        Adds(outLocal, sum, static_cast<T>(0), count);
        outQueue.EnQue(outLocal);
        varQueue.FreeTensor(sum);
        CopyOut(row * tiling.inner + start, count);
    }

    __aicore__ inline void CopyOut(int64_t offset, uint32_t count)
    {
        LocalTensor<T> outLocal = outQueue.template DeQue<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(outGm[offset], outLocal, copyParams);
        outQueue.FreeTensor(outLocal);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, BUFFER_NUM> valueQueue;
    TQue<TPosition::VECIN, BUFFER_NUM> varQueue;
    TQue<TPosition::VECOUT, BUFFER_NUM> outQueue;
    GlobalTensor<T> varGm;
    GlobalTensor<T> valueGm;
    GlobalTensor<T> outGm;
    GlobalTensor<int32_t> indexGm;
    GlobalTensor<int32_t> posGm;
    GlobalTensor<AlphaT> alphaGm;
    IndexAddTiling tiling;
    T factor;
};

#endif  // INPLACE_INDEX_ADD_WITH_SORTED_KERNEL_H
