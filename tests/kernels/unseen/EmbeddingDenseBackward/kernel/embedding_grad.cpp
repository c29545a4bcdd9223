#include "kernel_operator.h"
using namespace AscendC;

// phase 1: every core takes tokens round robin and adds its row to the float workspace with an atomic add
// phase 2: after SyncAll the rows are scaled and cast
template <typename T>
class EmbeddingGrad {
public:
    __aicore__ inline void Init(GM_ADDR grad, GM_ADDR idx, GM_ADDR ws, GM_ADDR out, int64_t tokens, int64_t dim, int64_t weights, int64_t pad, int32_t scale)
    {
        tokens_ = tokens; dim_ = dim; weights_ = weights; pad_ = pad; scale_ = scale;
        gradGm.SetGlobalBuffer((__gm__ T*)grad);
        idxGm.SetGlobalBuffer((__gm__ int64_t*)idx);
        accGm.SetGlobalBuffer((__gm__ float*)ws);
        outGm.SetGlobalBuffer((__gm__ T*)out);
        dimAlign = (dim + 15) / 16 * 16;
        pipe.InitBuffer(inQ, 2, dimAlign * sizeof(T));
        pipe.InitBuffer(accQ, 2, dimAlign * sizeof(float));
        pipe.InitBuffer(rowQ, 1, dimAlign * sizeof(float));
        pipe.InitBuffer(outQ, 1, dimAlign * sizeof(T));
    }
    __aicore__ inline void Clear()
    {
        int64_t per = (weights_ + GetBlockNum() - 1) / GetBlockNum();
        int64_t from = per * GetBlockIdx();
        int64_t to = from + per < weights_ ? from + per : weights_;
        if (from < to) {
            InitGlobalMemory(accGm[from * dim_], static_cast<uint64_t>((to - from) * dim_), 0.0f);
        }
    }
    __aicore__ inline void Scatter()
    {
        for (int64_t t = GetBlockIdx(); t < tokens_; t += GetBlockNum()) {
            int64_t id = idxGm.GetValue(t);
            if (id == pad_) {
                continue;
            }
            LocalTensor<T> g = inQ.template AllocTensor<T>();
            DataCopyExtParams cp{1, static_cast<uint32_t>(dim_ * sizeof(T)), 0, 0, 0};
            DataCopyPadExtParams<T> pp{false, 0, 0, static_cast<T>(0)};
            DataCopyPad(g, gradGm[t * dim_], cp, pp);
            inQ.EnQue(g);
            g = inQ.template DeQue<T>();
            LocalTensor<float> a = accQ.template AllocTensor<float>();
            if constexpr (sizeof(T) == sizeof(float)) {
                Adds(a, g, 0.0f, static_cast<int32_t>(dim_));
            } else {
                Cast(a, g, RoundMode::CAST_NONE, static_cast<int32_t>(dim_));
            }
            accQ.EnQue(a);
            inQ.FreeTensor(g);
            a = accQ.template DeQue<float>();
            SetAtomicAdd<float>();
            DataCopyExtParams op{1, static_cast<uint32_t>(dim_ * sizeof(float)), 0, 0, 0};
            DataCopyPad(accGm[id * dim_], a, op);
            SetAtomicNone();
            accQ.FreeTensor(a);
        }
    }
    __aicore__ inline void Finish()
    {
        for (int64_t w = GetBlockIdx(); w < weights_; w += GetBlockNum()) {
            float factor = 1.0f;
            if (scale_) {
                int32_t count = 0;
                for (int64_t t = 0; t < tokens_; ++t) {
                    if (idxGm.GetValue(t) == w) {
                        ++count;
                    }
                }
                if (count > 0) {
                    factor = 1.0f / static_cast<float>(count);
                }
            }
            LocalTensor<float> r = rowQ.template AllocTensor<float>();
            DataCopyExtParams cp{1, static_cast<uint32_t>(dim_ * sizeof(float)), 0, 0, 0};
            DataCopyPadExtParams<float> pp{false, 0, 0, 0.0f};
            DataCopyPad(r, accGm[w * dim_], cp, pp);
            rowQ.EnQue(r);
            r = rowQ.template DeQue<float>();
            LocalTensor<T> o = outQ.template AllocTensor<T>();
            Muls(r, r, factor, static_cast<int32_t>(dim_));
            if constexpr (sizeof(T) == sizeof(float)) {
                Adds(o, r, 0.0f, static_cast<int32_t>(dim_));
            } else {
                Cast(o, r, RoundMode::CAST_RINT, static_cast<int32_t>(dim_));
            }
            outQ.EnQue(o);
            rowQ.FreeTensor(r);
            o = outQ.template DeQue<T>();
            DataCopyExtParams op{1, static_cast<uint32_t>(dim_ * sizeof(T)), 0, 0, 0};
            DataCopyPad(outGm[w * dim_], o, op);
            outQ.FreeTensor(o);
        }
    }
    __aicore__ inline void Process()
    {
        Clear();
        SyncAll();
        Scatter();
        SyncAll();
        Finish();
    }
private:
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inQ;
    TQue<TPosition::VECOUT, 2> accQ;
    TQue<TPosition::VECIN, 1> rowQ;
    TQue<TPosition::VECOUT, 1> outQ;
    GlobalTensor<T> gradGm, outGm;
    GlobalTensor<int64_t> idxGm;
    GlobalTensor<float> accGm;
    int64_t tokens_, dim_, weights_, pad_, dimAlign;
    int32_t scale_;
};

template <typename T>
__global__ __aicore__ void embedding_grad(GM_ADDR grad, GM_ADDR idx, GM_ADDR ws, GM_ADDR out, int64_t tokens, int64_t dim, int64_t weights, int64_t pad, int32_t scale)
{
    EmbeddingGrad<T> op;
    op.Init(grad, idx, ws, out, tokens, dim, weights, pad, scale);
    op.Process();
}
template __global__ __aicore__ void embedding_grad<half>(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR, int64_t, int64_t, int64_t, int64_t, int32_t);

extern "C" void embedding_grad_do(uint32_t blockDim, void* stream, uint8_t* grad, uint8_t* idx, uint8_t* ws, uint8_t* out, int64_t tokens, int64_t dim, int64_t weights, int64_t pad, int32_t scale, int32_t isHalf)
{
    if (isHalf)
        embedding_grad<half><<<blockDim, nullptr, stream>>>(grad, idx, ws, out, tokens, dim, weights, pad, scale);
    else
        embedding_grad<float><<<blockDim, nullptr, stream>>>(grad, idx, ws, out, tokens, dim, weights, pad, scale);
}
