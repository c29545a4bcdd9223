#pragma once
#include "unfold_tiling.h"
#include "kernel_operator.h"
template <typename T>
__aicore__ inline void UnfoldGradKernel(GM_ADDR grad, GM_ADDR out, const UnfoldTiling& t)
{
    using namespace AscendC;
    TPipe pipe;
    TQue<QuePosition::VECOUT, 1> outQ;
    TBuf<QuePosition::VECCALC> accBuf;
    GlobalTensor<T> g, o;
    g.SetGlobalBuffer((__gm__ T*)grad);
    o.SetGlobalBuffer((__gm__ T*)out);
    uint32_t padded = (t.length + 15) / 16 * 16;
    pipe.InitBuffer(outQ, 1, padded * sizeof(T));
    pipe.InitBuffer(accBuf, padded * sizeof(float));
    // lines along dim: outer x inner
    for (int32_t line = GetBlockIdx(); line < t.outer * t.inner; line += GetBlockNum()) {
        int32_t a = line / t.inner, b = line % t.inner;
        LocalTensor<float> acc = accBuf.Get<float>();
        Duplicate(acc, 0.0f, padded);
        PIPE_SYNC();
        for (int32_t w = 0; w < t.windows; ++w) {
            for (int32_t k = 0; k < t.size; ++k) {
                int64_t src = ((int64_t)(a * t.windows + w) * t.inner + b) * t.size + k;
                float v;
                if constexpr (std::is_same<T, bfloat16_t>::value) v = ToFloat(g.GetValue(src));
                else v = (float)g.GetValue(src);
                int32_t at = w * t.step + k;
                if (at < t.length) {
                    acc.SetValue(at, acc.GetValue(at) + v);
                }
            }
        }
        LocalTensor<T> res = outQ.AllocTensor<T>();
        if constexpr (std::is_same<T, float>::value) Adds(res, acc, 0.0f, padded);
        else Cast(res, acc, RoundMode::CAST_RINT, padded);
        outQ.EnQue(res);
        res = outQ.DeQue<T>();
        if (t.inner == 1) {
            DataCopyExtParams p{1, (uint32_t)(t.length * sizeof(T)), 0, 0, 0};
            DataCopyPad(o[(int64_t)a * t.length], res, p);
        } else {
            for (int32_t i = 0; i < t.length; ++i) {
                o.SetValue((int64_t)(a * t.length + i) * t.inner + b, res.GetValue(i));
            }
        }
        outQ.FreeTensor(res);
    }
}
