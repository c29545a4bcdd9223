#include "kernel_operator.h"

using AscendC::GlobalTensor;
using AscendC::LocalTensor;
using AscendC::RoundMode;
using AscendC::TPosition;

struct MsdbTiling {
    uint32_t rows;      // B*H*T
    uint32_t t;         // last dim
    uint32_t heads;
    float scale;        // 1/(1-p)
    uint32_t drop;
};

template <typename T, typename O>
class MsdbKernel {
public:
    __aicore__ inline MsdbKernel(MsdbTiling tl) : tl_(tl), pad_((tl.t + 31) / 32 * 32) {}
    __aicore__ inline void Init(GM_ADDR g, GM_ADDR p, GM_ADDR m, GM_ADDR d, GM_ADDR o)
    {
        g_.SetGlobalBuffer((__gm__ T*)g);
        p_.SetGlobalBuffer((__gm__ T*)p);
        m_.SetGlobalBuffer((__gm__ uint8_t*)m);
        d_.SetGlobalBuffer((__gm__ uint8_t*)d);
        o_.SetGlobalBuffer((__gm__ O*)o);
        pipe_.InitBuffer(inQ_, 2, 2 * pad_ * sizeof(T));
        pipe_.InitBuffer(mQ_, 2, 2 * pad_);
        pipe_.InitBuffer(outQ_, 2, pad_ * sizeof(O));
        pipe_.InitBuffer(buf_, 6 * pad_ * sizeof(float) + 32);
    }
    __aicore__ inline void Process()
    {
        const uint32_t nb = AscendC::GetBlockNum();
        for (uint32_t r = AscendC::GetBlockIdx(); r < tl_.rows; r += nb) {
            CopyIn(r);
            Compute();
            CopyOut(r);
        }
    }

private:
    template <typename U>
    __aicore__ inline void Bring(const LocalTensor<U>& dst, const GlobalTensor<U>& src)
    {
        AscendC::DataCopyPad(dst, src, AscendC::DataCopyExtParams(1, tl_.t * sizeof(U), 0, 0, 0),
                             AscendC::DataCopyPadExtParams<U>(false, 0, 0, U(0)));
    }
    __aicore__ inline void CopyIn(uint32_t r)
    {
        LocalTensor<T> in = inQ_.template AllocTensor<T>();
        Bring(in, g_[uint64_t(r) * tl_.t]);
        Bring(in[pad_], p_[uint64_t(r) * tl_.t]);
        inQ_.EnQue(in);
        LocalTensor<uint8_t> mk = mQ_.template AllocTensor<uint8_t>();
        uint32_t batch = r / (tl_.heads * tl_.t);
        uint32_t q = r % tl_.t;
        Bring(mk, m_[uint64_t(batch * tl_.t + q) * tl_.t]);
        Bring(mk[pad_], d_[uint64_t(r) * tl_.t]);
        mQ_.EnQue(mk);
    }
    __aicore__ inline void Compute()
    {
        const int32_t n = tl_.t;
        LocalTensor<float> all = buf_.Get<float>();
        LocalTensor<float> g = all, p = all[pad_], m = all[2 * pad_], d = all[3 * pad_], w = all[4 * pad_];
        LocalTensor<half> h = all[5 * pad_].template ReinterpretCast<half>();
        LocalTensor<float> res = all[6 * pad_];
        LocalTensor<T> in = inQ_.template DeQue<T>();
        LocalTensor<uint8_t> mk = mQ_.template DeQue<uint8_t>();
        if constexpr (sizeof(T) == 4) {
            AscendC::Adds(g, in, 0.0f, n);
            AscendC::Adds(p, in[pad_], 0.0f, n);
        } else {
            AscendC::Cast(g, in, RoundMode::CAST_NONE, n);
            AscendC::Cast(p, in[pad_], RoundMode::CAST_NONE, n);
        }
        AscendC::Cast(h, mk, RoundMode::CAST_NONE, n);
        AscendC::Cast(m, h, RoundMode::CAST_NONE, n);
        if (tl_.drop) {
            AscendC::Cast(h, mk[pad_], RoundMode::CAST_NONE, n);
            AscendC::Cast(d, h, RoundMode::CAST_NONE, n);
            AscendC::Muls(d, d, tl_.scale, n);
            AscendC::Mul(g, g, d, n);
        }
        AscendC::Mul(d, p, g, n);
        AscendC::ReduceSum(res, d, w, n);
        AscendC::SetFlag<AscendC::HardEvent::V_S>(EVENT_ID0);
        AscendC::WaitFlag<AscendC::HardEvent::V_S>(EVENT_ID0);
        const float s = res.GetValue(0);
        AscendC::Adds(g, g, -s, n);
        AscendC::Mul(g, g, p, n);
        AscendC::Mul(g, g, m, n);
        LocalTensor<O> out = outQ_.template AllocTensor<O>();
        if constexpr (sizeof(O) == 4) {
            AscendC::Adds(out, g, 0.0f, n);
        } else {
            AscendC::Cast(out, g, RoundMode::CAST_RINT, n);
        }
        outQ_.EnQue(out);
        inQ_.FreeTensor(in);
        mQ_.FreeTensor(mk);
    }
    __aicore__ inline void CopyOut(uint32_t r)
    {
        LocalTensor<O> out = outQ_.template DeQue<O>();
        AscendC::DataCopyPad(o_[uint64_t(r) * tl_.t], out, AscendC::DataCopyExtParams(1, tl_.t * sizeof(O), 0, 0, 0));
        outQ_.FreeTensor(out);
    }
    MsdbTiling tl_;
    uint32_t pad_;
    AscendC::TPipe pipe_;
    AscendC::TQue<TPosition::VECIN, 1> inQ_, mQ_;
    AscendC::TQue<TPosition::VECOUT, 1> outQ_;
    AscendC::TBuf<TPosition::VECCALC> buf_;
    GlobalTensor<T> g_, p_;
    GlobalTensor<uint8_t> m_, d_;
    GlobalTensor<O> o_;
};

template <typename T, typename O>
__global__ __aicore__ void msdb(GM_ADDR g, GM_ADDR p, GM_ADDR m, GM_ADDR d, GM_ADDR o, MsdbTiling tl)
{
    MsdbKernel<T, O> k(tl);
    k.Init(g, p, m, d, o);
    k.Process();
}

extern "C" void msdb_do(uint32_t blocks, void* stream, void* g, void* p, void* m, void* d, void* o, uint32_t rows, uint32_t t, uint32_t heads, float scale, int drop, int kind)
{
    MsdbTiling tl{rows, t, heads, scale, static_cast<uint32_t>(drop)};
    auto G = static_cast<uint8_t*>(g), P = static_cast<uint8_t*>(p), M = static_cast<uint8_t*>(m), D = static_cast<uint8_t*>(d), O = static_cast<uint8_t*>(o);
    if (kind == 0) {
        msdb<float, float><<<blocks, nullptr, stream>>>(G, P, M, D, O, tl);
    } else if (kind == 1 && drop) {
        msdb<half, float><<<blocks, nullptr, stream>>>(G, P, M, D, O, tl);
    } else if (kind == 1) {
        msdb<half, half><<<blocks, nullptr, stream>>>(G, P, M, D, O, tl);
    } else if (drop) {
        msdb<bfloat16_t, float><<<blocks, nullptr, stream>>>(G, P, M, D, O, tl);
    } else {
        msdb<bfloat16_t, bfloat16_t><<<blocks, nullptr, stream>>>(G, P, M, D, O, tl);
    }
}
