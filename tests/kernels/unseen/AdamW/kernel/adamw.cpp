#include "kernel_operator.h"
using namespace AscendC;

#pragma pack(push, 8)
struct AdamTiling {
    int64_t totalLength;
    int64_t blockLength;
    int32_t tileLength;
    float beta1, beta2, step, invBias2, eps;
};
#pragma pack(pop)

template <typename T> class AdamKernel {
public:
    __aicore__ inline AdamKernel() {}
    __aicore__ inline void Init(GM_ADDR var, GM_ADDR m, GM_ADDR v, GM_ADDR g, GM_ADDR varO, GM_ADDR mO, GM_ADDR vO, AdamTiling t)
    {
        t_ = t;
        const int64_t offset = t.blockLength * GetBlockIdx();
        len_ = t.totalLength - offset < t.blockLength ? t.totalLength - offset : t.blockLength;
        var_.SetGlobalBuffer((__gm__ T*)var + offset, len_);
        g_.SetGlobalBuffer((__gm__ T*)g + offset, len_);
        m_.SetGlobalBuffer((__gm__ float*)m + offset, len_);
        v_.SetGlobalBuffer((__gm__ float*)v + offset, len_);
        varO_.SetGlobalBuffer((__gm__ T*)varO + offset, len_);
        mO_.SetGlobalBuffer((__gm__ float*)mO + offset, len_);
        vO_.SetGlobalBuffer((__gm__ float*)vO + offset, len_);
        uint32_t n = t.tileLength;
        pipe.InitBuffer(qVar, 2, n * sizeof(T));
        pipe.InitBuffer(qG, 2, n * sizeof(T));
        pipe.InitBuffer(qM, 2, n * sizeof(float));
        pipe.InitBuffer(qV, 2, n * sizeof(float));
        pipe.InitBuffer(oVar, 2, n * sizeof(T));
        pipe.InitBuffer(oM, 2, n * sizeof(float));
        pipe.InitBuffer(oV, 2, n * sizeof(float));
        pipe.InitBuffer(tmp, 3 * n * sizeof(float));
    }
    __aicore__ inline void Process()
    {
        int64_t loops = (len_ + t_.tileLength - 1) / t_.tileLength;
        for (int64_t i = 0; i < loops; i++) {
            int64_t off = i * t_.tileLength;
            uint32_t n = i == loops - 1 ? static_cast<uint32_t>(len_ - off) : t_.tileLength;
            CopyIn(off, n);
            Compute(n);
            CopyOut(off, n);
        }
    }
private:
    template <typename U, typename Q>
    __aicore__ inline void Load(Q& q, GlobalTensor<U>& gm, int64_t off, uint32_t n)
    {
        LocalTensor<U> l = q.template AllocTensor<U>();
        DataCopyExtParams p{1, static_cast<uint32_t>(n * sizeof(U)), 0, 0, 0};
        DataCopyPadExtParams<U> pp{false, 0, 0, static_cast<U>(0)};
        DataCopyPad(l, gm[off], p, pp);
        q.EnQue(l);
    }
    template <typename U, typename Q>
    __aicore__ inline void Store(Q& q, GlobalTensor<U>& gm, int64_t off, uint32_t n)
    {
        LocalTensor<U> l = q.template DeQue<U>();
        DataCopyExtParams p{1, static_cast<uint32_t>(n * sizeof(U)), 0, 0, 0};
        DataCopyPad(gm[off], l, p);
        q.FreeTensor(l);
    }
    __aicore__ inline void CopyIn(int64_t off, uint32_t n)
    {
        Load<T>(qVar, var_, off, n);
        Load<T>(qG, g_, off, n);
        Load<float>(qM, m_, off, n);
        Load<float>(qV, v_, off, n);
    }
    __aicore__ inline void ToFloat(const LocalTensor<float>& d, const LocalTensor<T>& s, uint32_t n)
    {
        if constexpr (std::is_same_v<T, float>) {
            Adds(d, s, 0.0f, n);
        } else {
            Cast(d, s, RoundMode::CAST_NONE, n);
        }
    }
    __aicore__ inline void Compute(uint32_t n)
    {
        LocalTensor<T> var = qVar.template DeQue<T>();
        LocalTensor<T> g = qG.template DeQue<T>();
        LocalTensor<float> m = qM.template DeQue<float>();
        LocalTensor<float> v = qV.template DeQue<float>();
        LocalTensor<float> gf = tmp.Get<float>();
        LocalTensor<float> vf = tmp.GetWithOffset<float>(t_.tileLength, t_.tileLength * sizeof(float));
        LocalTensor<float> h = tmp.GetWithOffset<float>(t_.tileLength, 2 * t_.tileLength * sizeof(float));
        LocalTensor<T> vo = oVar.template AllocTensor<T>();
        LocalTensor<float> mo = oM.template AllocTensor<float>();
        LocalTensor<float> vvo = oV.template AllocTensor<float>();
        ToFloat(gf, g, n);
        ToFloat(vf, var, n);
        Muls(mo, m, t_.beta1, n);
        Muls(h, gf, 1.0f - t_.beta1, n);
        Add(mo, mo, h, n);
        Muls(vvo, v, t_.beta2, n);
        Mul(gf, gf, gf, n);
        Muls(gf, gf, 1.0f - t_.beta2, n);
        Add(vvo, vvo, gf, n);
        Muls(h, vvo, t_.invBias2, n);
        Sqrt(h, h, n);
        Adds(h, h, t_.eps, n);
        Muls(gf, mo, t_.step, n);
        Div(h, gf, h, n);
        Sub(vf, vf, h, n);
        if constexpr (std::is_same_v<T, float>) {
            Adds(vo, vf, 0.0f, n);
        } else {
            Cast(vo, vf, RoundMode::CAST_RINT, n);
        }
        oVar.EnQue(vo);
        oM.EnQue(mo);
        oV.EnQue(vvo);
        qVar.FreeTensor(var);
        qG.FreeTensor(g);
        qM.FreeTensor(m);
        qV.FreeTensor(v);
    }
    __aicore__ inline void CopyOut(int64_t off, uint32_t n)
    {
        Store<T>(oVar, varO_, off, n);
        Store<float>(oM, mO_, off, n);
        Store<float>(oV, vO_, off, n);
    }
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> qVar, qG, qM, qV;
    TQue<QuePosition::VECOUT, 2> oVar, oM, oV;
    TBuf<TPosition::VECCALC> tmp;
    GlobalTensor<T> var_, g_, varO_;
    GlobalTensor<float> m_, v_, mO_, vO_;
    AdamTiling t_;
    int64_t len_;
};

#define DEFINE_ADAM(NAME, TYPE)                                                                                         \
    extern "C" __global__ __aicore__ void NAME(GM_ADDR var, GM_ADDR m, GM_ADDR v, GM_ADDR g, GM_ADDR varO, GM_ADDR mO, \
                                               GM_ADDR vO, AdamTiling t)                                                \
    {                                                                                                                   \
        AdamKernel<TYPE> op;                                                                                            \
        op.Init(var, m, v, g, varO, mO, vO, t);                                                                         \
        op.Process();                                                                                                   \
    }
DEFINE_ADAM(adam_f32, float)
DEFINE_ADAM(adam_f16, half)
DEFINE_ADAM(adam_bf16, bfloat16_t)

extern "C" void adam_do(uint32_t blockDim, void* stream, int kind, uint8_t** p, int64_t total, int64_t blockLen, float b1, float b2, float step, float inv2, float eps)
{
    AdamTiling t{total, blockLen, 1024, b1, b2, step, inv2, eps};
    if (kind == 0) {
        adam_f32<<<blockDim, nullptr, stream>>>(p[0], p[1], p[2], p[3], p[4], p[5], p[6], t);
    } else if (kind == 1) {
        adam_f16<<<blockDim, nullptr, stream>>>(p[0], p[1], p[2], p[3], p[4], p[5], p[6], t);
    } else {
        adam_bf16<<<blockDim, nullptr, stream>>>(p[0], p[1], p[2], p[3], p[4], p[5], p[6], t);
    }
}
