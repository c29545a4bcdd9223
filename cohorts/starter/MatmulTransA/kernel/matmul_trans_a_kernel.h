#ifndef MATMUL_TRANS_A_KERNEL_H
#define MATMUL_TRANS_A_KERNEL_H
#include <type_traits>

#include "kernel_operator.h"
#include "matmul_trans_a_tiling.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr int64_t A_PITCH = 16;  // elements between rows of a tile of A: 32 bytes of a 16-bit type

// C = A^T * B on the vector unit. A tile of C (TILE_M x TILE_N) stays in float while tiles of K pass by: each scalar
// A[k, m] scales a row of B. Reading A by its rows makes the transpose free.
template <typename T>
class KernelMatmulTransA {
public:
    __aicore__ inline KernelMatmulTransA() {}

    __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR c, const MatmulTransATiling &matmulTiling)
    {
        tiling = matmulTiling;
        aGm.SetGlobalBuffer((__gm__ T *)a);
        bGm.SetGlobalBuffer((__gm__ T *)b);
        cGm.SetGlobalBuffer((__gm__ T *)c);
        pipe.InitBuffer(aQueue, BUFFER_NUM, TILE_K * A_PITCH * sizeof(T));
        pipe.InitBuffer(bQueue, BUFFER_NUM, TILE_K * TILE_N * sizeof(T));
        pipe.InitBuffer(cQueue, BUFFER_NUM, TILE_N * sizeof(T));
        pipe.InitBuffer(accBuf, TILE_M * TILE_N * sizeof(float));
        pipe.InitBuffer(aFloatBuf, TILE_K * A_PITCH * sizeof(float));
        pipe.InitBuffer(bFloatBuf, TILE_K * TILE_N * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        int64_t mTiles = (tiling.m + TILE_M - 1) / TILE_M;
        int64_t nTiles = (tiling.n + TILE_N - 1) / TILE_N;
        for (int64_t tile = GetBlockIdx(); tile < mTiles * nTiles; tile += GetBlockNum()) {
            int64_t mStart = tile / nTiles * TILE_M;
            int64_t nStart = tile % nTiles * TILE_N;
            int64_t mCount = tiling.m - mStart < TILE_M ? tiling.m - mStart : TILE_M;
            int64_t nCount = tiling.n - nStart < TILE_N ? tiling.n - nStart : TILE_N;
            ComputeTile(mStart, mCount, nStart, nCount);
        }
    }

private:
    __aicore__ inline void ComputeTile(int64_t mStart, int64_t mCount, int64_t nStart, int64_t nCount)
    {
        LocalTensor<float> acc = accBuf.Get<float>();
        for (int64_t kStart = 0; kStart < tiling.k; kStart += TILE_K) {
            int64_t kCount = tiling.k - kStart < TILE_K ? tiling.k - kStart : TILE_K;
            Duplicate(acc, 0.0f, TILE_M * TILE_N);
            CopyInA(kStart, kCount, mStart, mCount);
            CopyInB(kStart, kCount, nStart, nCount);
            Accumulate(acc, kCount, mCount, nCount);
        }
        for (int64_t i = 0; i < mCount; ++i) {
            CopyOut(acc, i, (mStart + i) * tiling.n + nStart, nCount);
        }
    }

    __aicore__ inline void CopyInA(int64_t kStart, int64_t kCount, int64_t mStart, int64_t mCount)
    {
        LocalTensor<T> aLocal = aQueue.template AllocTensor<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(mCount * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padParams{false, 0, 0, static_cast<T>(0)};
        for (int64_t i = 0; i < kCount; ++i) {
            DataCopyPad(aLocal[i * A_PITCH], aGm[(kStart + i) * tiling.m + mStart], copyParams, padParams);
        }
        aQueue.EnQue(aLocal);
    }

    __aicore__ inline void CopyInB(int64_t kStart, int64_t kCount, int64_t nStart, int64_t nCount)
    {
        LocalTensor<T> bLocal = bQueue.template AllocTensor<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(nCount * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padParams{false, 0, 0, static_cast<T>(0)};
        for (int64_t i = 0; i < kCount; ++i) {
            DataCopyPad(bLocal[i * TILE_N], bGm[(kStart + i) * tiling.n + nStart], copyParams, padParams);
        }
        bQueue.EnQue(bLocal);
    }

    __aicore__ inline void ToFloatTile(LocalTensor<float> &wide, LocalTensor<T> &narrow, uint32_t count)
    {
        if constexpr (std::is_same<T, float>::value) {
            Adds(wide, narrow, 0.0f, count);
        } else {
            Cast(wide, narrow, RoundMode::CAST_NONE, count);
        }
    }

    __aicore__ inline void Accumulate(LocalTensor<float> &acc, int64_t kCount, int64_t mCount, int64_t nCount)
    {
        LocalTensor<T> aLocal = aQueue.template DeQue<T>();
        LocalTensor<T> bLocal = bQueue.template DeQue<T>();
        LocalTensor<float> aFloat = aFloatBuf.Get<float>();
        LocalTensor<float> bFloat = bFloatBuf.Get<float>();
        ToFloatTile(aFloat, aLocal, static_cast<uint32_t>(kCount * A_PITCH));
        ToFloatTile(bFloat, bLocal, static_cast<uint32_t>(kCount * TILE_N));
        aQueue.FreeTensor(aLocal);
        bQueue.FreeTensor(bLocal);
        for (int64_t i = 0; i < mCount; ++i) {
            LocalTensor<float> accRow = acc[i * TILE_N];
            for (int64_t j = 0; j < kCount; ++j) {
                Axpy(accRow, bFloat[j * TILE_N], aFloat.GetValue(j * A_PITCH + i), static_cast<int32_t>(nCount));
            }
        }
    }

    __aicore__ inline void CopyOut(LocalTensor<float> &acc, int64_t row, int64_t offset, int64_t nCount)
    {
        LocalTensor<T> cLocal = cQueue.template AllocTensor<T>();
        LocalTensor<float> accRow = acc[row * TILE_N];
        if constexpr (std::is_same<T, float>::value) {
            Adds(cLocal, accRow, 0.0f, static_cast<int32_t>(nCount));
        } else {
            Cast(cLocal, accRow, RoundMode::CAST_RINT, static_cast<uint32_t>(nCount));
        }
        cQueue.EnQue(cLocal);
        cLocal = cQueue.template DeQue<T>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(nCount * sizeof(T)), 0, 0, 0};
        DataCopyPad(cGm[offset], cLocal, copyParams);
        cQueue.FreeTensor(cLocal);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, BUFFER_NUM> aQueue;
    TQue<TPosition::VECIN, BUFFER_NUM> bQueue;
    TQue<TPosition::VECOUT, BUFFER_NUM> cQueue;
    TBuf<TPosition::VECCALC> accBuf;
    TBuf<TPosition::VECCALC> aFloatBuf;
    TBuf<TPosition::VECCALC> bFloatBuf;
    GlobalTensor<T> aGm;
    GlobalTensor<T> bGm;
    GlobalTensor<T> cGm;
    MatmulTransATiling tiling;
};

#endif  // MATMUL_TRANS_A_KERNEL_H
