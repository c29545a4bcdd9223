#include "kernel_operator.h"
template <typename T>
class VecBmm {
public:
    __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t batch, int32_t m, int32_t k, int32_t n)
    {
        this->batch = batch; this->m = m; this->k = k; this->n = n;
        ga.SetGlobalBuffer((__gm__ T*)a);
        gb.SetGlobalBuffer((__gm__ T*)b);
        gc.SetGlobalBuffer((__gm__ T*)c);
        nAlign = (n + 15) / 16 * 16;
        pipe.InitBuffer(qb, 2, nAlign * sizeof(T));
        pipe.InitBuffer(qc, 1, nAlign * sizeof(T));
        pipe.InitBuffer(acc, nAlign * sizeof(float));
        pipe.InitBuffer(bf, nAlign * sizeof(float));
    }
    __aicore__ inline void Process()
    {
        using namespace AscendC;
        int32_t total = batch * m;
        for (int32_t i = GetBlockIdx(); i < total; i += GetBlockNum()) {
            LocalTensor<float> sum = acc.Get<float>();
            LocalTensor<float> wide = bf.Get<float>();
            Duplicate<float>(sum, 0.0f, nAlign);
            for (int32_t j = 0; j < k; ++j) {
                LocalTensor<T> row = qb.template AllocTensor<T>();
                DataCopyExtParams cp{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
                DataCopyPadExtParams<T> pad{false, 0, 0, 0};
                DataCopyPad(row, gb[(static_cast<int64_t>(i / m) * k + j) * n], cp, pad);
                qb.EnQue(row);
                row = qb.template DeQue<T>();
                float s = static_cast<float>(ga.GetValue(static_cast<int64_t>(i) * k + j));
                if constexpr (std::is_same<T, half>::value) {
                    Cast(wide, row, RoundMode::CAST_NONE, n);
                    Axpy(sum, wide, s, n);
                } else {
                    Axpy(sum, row, s, n);
                }
                qb.FreeTensor(row);
            }
            LocalTensor<T> out = qc.template AllocTensor<T>();
            if constexpr (std::is_same<T, half>::value) {
                Cast(out, sum, RoundMode::CAST_RINT, n);
            } else {
                DataCopy(out, sum, nAlign);
            }
            qc.EnQue(out);
            out = qc.template DeQue<T>();
            DataCopyExtParams cp{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
            DataCopyPad(gc[static_cast<int64_t>(i) * n], out, cp);
            qc.FreeTensor(out);
        }
    }
private:
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::QuePosition::VECIN, 2> qb;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 1> qc;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> acc, bf;
    AscendC::GlobalTensor<T> ga, gb, gc;
    int32_t batch, m, k, n, nAlign;
};
extern "C" __global__ __aicore__ void bmm_float(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t bt, int32_t m, int32_t k, int32_t n) { VecBmm<float> op; op.Init(a, b, c, bt, m, k, n); op.Process(); }
extern "C" __global__ __aicore__ void bmm_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t bt, int32_t m, int32_t k, int32_t n) { VecBmm<half> op; op.Init(a, b, c, bt, m, k, n); op.Process(); }
