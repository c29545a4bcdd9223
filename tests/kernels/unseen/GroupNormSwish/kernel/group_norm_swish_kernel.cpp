#include "kernel_operator.h"
#include "group_norm_swish_tiling.h"

using namespace AscendC;

template <typename T>
class GroupNormSwishKernel {
    static constexpr uint32_t TILE = 2048;
    static constexpr bool IS_FLOAT = std::is_same<T, float>::value;
public:
    __aicore__ inline GroupNormSwishKernel(GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y, GM_ADDR mean, GM_ADDR rstd, const GnsTiling &t) : t(t)
    {
        xGm.SetGlobalBuffer((__gm__ T *)x);
        wGm.SetGlobalBuffer((__gm__ T *)w);
        bGm.SetGlobalBuffer((__gm__ T *)b);
        yGm.SetGlobalBuffer((__gm__ T *)y);
        meanGm.SetGlobalBuffer((__gm__ T *)mean);
        rstdGm.SetGlobalBuffer((__gm__ T *)rstd);
        pipe.InitBuffer(inQ, 2, TILE * sizeof(T));
        pipe.InitBuffer(outQ, 2, TILE * sizeof(T));
        pipe.InitBuffer(statQ, 1, 64);
        pipe.InitBuffer(fBuf, TILE * 4);
        pipe.InitBuffer(gBuf, TILE * 4);
        pipe.InitBuffer(wBuf, TILE * 4);
        pipe.InitBuffer(rBuf, 32);
    }
    __aicore__ inline void Process()
    {
        for (int64_t g = GetBlockIdx(); g < t.batch * t.groups; g += GetBlockNum()) {
            int64_t base = g * t.groupSize;
            float mean = Reduce(base, 0.0f, false) / static_cast<float>(t.groupSize);
            float var = Reduce(base, mean, true) / static_cast<float>(t.groupSize);
            auto r = rBuf.Get<float>();
            Duplicate(r, var + t.eps, 8);
            Sqrt(r, r, 8);
            float rstd = 1.0f / r.GetValue(0);
            WriteStat(meanGm, g, mean);
            WriteStat(rstdGm, g, rstd);
            int64_t firstChannel = (g % t.groups) * t.channelsPerGroup;
            for (int64_t c = 0; c < t.channelsPerGroup; ++c) {
                float w = ReadScalar(wGm, firstChannel + c);
                float b = ReadScalar(bGm, firstChannel + c);
                Apply(base + c * t.inner, t.inner, mean, rstd * w, b);
            }
        }
    }
private:
    __aicore__ inline float ReadScalar(GlobalTensor<T> &gm, int64_t i)
    {
        if constexpr (std::is_same<T, bfloat16_t>::value) {
            return ToFloat(gm.GetValue(i));
        } else {
            return static_cast<float>(gm.GetValue(i));
        }
    }
    __aicore__ inline void WriteStat(GlobalTensor<T> &gm, int64_t i, float v)
    {
        LocalTensor<T> s = statQ.template AllocTensor<T>();
        if constexpr (IS_FLOAT) {
            Duplicate(s, v, 8);
        } else {
            auto f = rBuf.Get<float>();
            Duplicate(f, v, 8);
            Cast(s, f, RoundMode::CAST_RINT, 8);
        }
        statQ.EnQue(s);
        s = statQ.template DeQue<T>();
        DataCopyExtParams p{1, sizeof(T), 0, 0, 0};
        DataCopyPad(gm[i], s, p);
        statQ.FreeTensor(s);
    }
    __aicore__ inline LocalTensor<float> Load(int64_t off, uint32_t n)
    {
        LocalTensor<T> x = inQ.template AllocTensor<T>();
        DataCopyExtParams p{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> pp{true, 0, 0, static_cast<T>(0.0f)};
        DataCopyPad(x, xGm[off], p, pp);
        inQ.EnQue(x);
        x = inQ.template DeQue<T>();
        auto f = fBuf.Get<float>();
        if constexpr (IS_FLOAT) {
            Muls(f, x, 1.0f, n);
        } else {
            Cast(f, x, RoundMode::CAST_NONE, n);
        }
        inQ.FreeTensor(x);
        return f;
    }
    __aicore__ inline float Reduce(int64_t base, float mean, bool squared)
    {
        float sum = 0.0f;
        for (int64_t off = 0; off < t.groupSize; off += TILE) {
            uint32_t n = t.groupSize - off < TILE ? t.groupSize - off : TILE;
            auto f = Load(base + off, n);
            if (squared) {
                Adds(f, f, -mean, n);
                Mul(f, f, f, n);
            }
            ReduceSum<float>(rBuf.Get<float>(), f, wBuf.Get<float>(), n);
            sum += rBuf.Get<float>().GetValue(0);
        }
        return sum;
    }
    __aicore__ inline void Apply(int64_t start, int64_t len, float mean, float scale, float bias)
    {
        for (int64_t off = 0; off < len; off += TILE) {
            uint32_t n = len - off < TILE ? len - off : TILE;
            auto f = Load(start + off, n);
            auto g = gBuf.Get<float>();
            Adds(f, f, -mean, n);
            Muls(f, f, scale, n);
            Adds(f, f, bias, n);
            Muls(g, f, -t.swish, n);
            Exp(g, g, n);
            Adds(g, g, 1.0f, n);
            Div(f, f, g, n);
            LocalTensor<T> o = outQ.template AllocTensor<T>();
            if constexpr (IS_FLOAT) {
                Muls(o, f, 1.0f, n);
            } else {
                Cast(o, f, RoundMode::CAST_RINT, n);
            }
            outQ.EnQue(o);
            o = outQ.template DeQue<T>();
            DataCopyExtParams p{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
            DataCopyPad(yGm[start + off], o, p);
            outQ.FreeTensor(o);
        }
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inQ;
    TQue<TPosition::VECOUT, 2> outQ;
    TQue<TPosition::VECOUT, 1> statQ;
    TBuf<TPosition::VECCALC> fBuf, gBuf, wBuf, rBuf;
    GlobalTensor<T> xGm, wGm, bGm, yGm, meanGm, rstdGm;
    GnsTiling t;
};

#define ARGS GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y, GM_ADDR mean, GM_ADDR rstd, GnsTiling t
extern "C" __global__ __aicore__ void gns_float(ARGS) { GroupNormSwishKernel<float> k(x, w, b, y, mean, rstd, t); k.Process(); }
extern "C" __global__ __aicore__ void gns_half(ARGS) { GroupNormSwishKernel<half> k(x, w, b, y, mean, rstd, t); k.Process(); }
extern "C" __global__ __aicore__ void gns_bf16(ARGS) { GroupNormSwishKernel<bfloat16_t> k(x, w, b, y, mean, rstd, t); k.Process(); }

extern "C" void gns_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *w, uint8_t *b, uint8_t *y, uint8_t *mean, uint8_t *rstd, GnsTiling t, int dtype)
{
    switch (dtype) {
        case 0: gns_float<<<blockDim, nullptr, stream>>>(x, w, b, y, mean, rstd, t); break;
        case 1: gns_half<<<blockDim, nullptr, stream>>>(x, w, b, y, mean, rstd, t); break;
        default: gns_bf16<<<blockDim, nullptr, stream>>>(x, w, b, y, mean, rstd, t);
    }
}
