#ifndef RMS_NORM_HPP
#define RMS_NORM_HPP
#include "kernel_operator.h"

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define ALIGN_UP(a, b) (CEIL_DIV(a, b) * (b))

struct RmsTiling {
    int64_t rows;
    int64_t cols;
    int64_t rowsPerTile;
    float eps;
    float invCols;
};

template <typename T, int DEPTH = 2>
class RmsNorm {
public:
    __aicore__ inline void Init(__gm__ uint8_t* x, __gm__ uint8_t* w, __gm__ uint8_t* y, const RmsTiling& t, AscendC::TPipe* pipe)
    {
        tiling_ = t;
        int64_t tiles = CEIL_DIV(t.rows, t.rowsPerTile);
        int64_t per = CEIL_DIV(tiles, AscendC::GetBlockNum());
        tileBegin_ = per * AscendC::GetBlockIdx();
        tileEnd_ = tileBegin_ + per < tiles ? tileBegin_ + per : tiles;
        xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x), t.rows * t.cols);
        wGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(w), t.cols);
        yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y), t.rows * t.cols);
        const uint32_t n = t.rowsPerTile * t.cols;
        pipe->InitBuffer(xQue_, DEPTH, n * sizeof(T));
        pipe->InitBuffer(yQue_, DEPTH, n * sizeof(T));
        pipe->InitBuffer(wQue_, 1, t.cols * sizeof(T));
        pipe->InitBuffer(xF_, n * sizeof(float));
        pipe->InitBuffer(sq_, t.cols * sizeof(float));
        pipe->InitBuffer(wF_, t.cols * sizeof(float));
        pipe->InitBuffer(part_, ALIGN_UP(CEIL_DIV(t.cols, 64), 8) * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        LoadWeight();
        for (int64_t tile = tileBegin_; tile < tileEnd_; ++tile) {
            int64_t first = tile * tiling_.rowsPerTile;
            int64_t nRows = first + tiling_.rowsPerTile <= tiling_.rows ? tiling_.rowsPerTile : tiling_.rows - first;
            CopyIn(first, nRows);
            Compute(nRows);
            CopyOut(first, nRows);
        }
    }

private:
    __aicore__ inline void LoadWeight()
    {
        auto w = wQue_.template AllocTensor<T>();
        AscendC::DataCopy(w, wGm_, tiling_.cols);
        wQue_.EnQue(w);
        w = wQue_.template DeQue<T>();
        AscendC::LocalTensor<float> wf = wF_.Get<float>();
        AscendC::Cast(wf, w, AscendC::RoundMode::CAST_NONE, tiling_.cols);
        wQue_.FreeTensor(w);
    }
    __aicore__ inline void CopyIn(int64_t first, int64_t n)
    {
        auto x = xQue_.template AllocTensor<T>();
        AscendC::DataCopy(x, xGm_[first * tiling_.cols], n * tiling_.cols);
        xQue_.EnQue(x);
    }
    __aicore__ inline float SumSquares(const AscendC::LocalTensor<float>& row)
    {
        AscendC::LocalTensor<float> sq = sq_.Get<float>();
        AscendC::LocalTensor<float> part = part_.Get<float>();
        AscendC::Mul(sq, row, row, tiling_.cols);
        AscendC::PipeBarrier<PIPE_V>();
        int32_t full = tiling_.cols / 64;
        int32_t rest = tiling_.cols % 64;
        float total = 0.0f;
        if (full > 0) {
            AscendC::WholeReduceSum<float>(part, sq, 64, full, 1, 1, 8);
        }
        if (rest > 0) {
            AscendC::WholeReduceSum<float>(part[0], sq[0], 64, full == 0 ? 0 : full, 1, 1, 8);
            AscendC::LocalTensor<float> tail = sq[full * 64];
            event_t e = static_cast<event_t>(GetTPipePtr()->FetchEventID(AscendC::HardEvent::V_S));
            AscendC::SetFlag<AscendC::HardEvent::V_S>(e);
            AscendC::WaitFlag<AscendC::HardEvent::V_S>(e);
            for (int32_t i = 0; i < full; ++i) {
                total += part.GetValue(i);
            }
            AscendC::WholeReduceSum<float>(part, tail, rest, 1, 1, 1, 8);
            AscendC::SetFlag<AscendC::HardEvent::V_S>(e);
            AscendC::WaitFlag<AscendC::HardEvent::V_S>(e);
            return total + part.GetValue(0);
        }
        event_t e = static_cast<event_t>(GetTPipePtr()->FetchEventID(AscendC::HardEvent::V_S));
        AscendC::SetFlag<AscendC::HardEvent::V_S>(e);
        AscendC::WaitFlag<AscendC::HardEvent::V_S>(e);
        for (int32_t i = 0; i < full; ++i) {
            total += part.GetValue(i);
        }
        return total;
    }
    __aicore__ inline void Compute(int64_t n)
    {
        auto x = xQue_.template DeQue<T>();
        auto y = yQue_.template AllocTensor<T>();
        AscendC::LocalTensor<float> xf = xF_.Get<float>();
        AscendC::LocalTensor<float> wf = wF_.Get<float>();
        AscendC::LocalTensor<float> part = part_.Get<float>();
        AscendC::Cast(xf, x, AscendC::RoundMode::CAST_NONE, n * tiling_.cols);
        xQue_.FreeTensor(x);
        for (int64_t r = 0; r < n; ++r) {
            AscendC::LocalTensor<float> row = xf[r * tiling_.cols];
            float ms = SumSquares(row) * tiling_.invCols + tiling_.eps;
            AscendC::Duplicate(part, ms, 8);
            AscendC::Sqrt(part, part, 8);
            float inv = 1.0f / part.GetValue(0);
            AscendC::Muls(row, row, inv, tiling_.cols);
            AscendC::Mul(row, row, wf, tiling_.cols);
        }
        AscendC::Cast(y, xf, AscendC::RoundMode::CAST_RINT, n * tiling_.cols);
        yQue_.EnQue(y);
    }
    __aicore__ inline void CopyOut(int64_t first, int64_t n)
    {
        auto y = yQue_.template DeQue<T>();
        AscendC::DataCopy(yGm_[first * tiling_.cols], y, n * tiling_.cols);
        yQue_.FreeTensor(y);
    }

    RmsTiling tiling_;
    int64_t tileBegin_, tileEnd_;
    AscendC::GlobalTensor<T> xGm_, wGm_, yGm_;
    AscendC::TQue<AscendC::TPosition::VECIN, DEPTH> xQue_;
    AscendC::TQue<AscendC::TPosition::VECIN, 1> wQue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, DEPTH> yQue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> xF_, sq_, wF_, part_;
};
#endif
