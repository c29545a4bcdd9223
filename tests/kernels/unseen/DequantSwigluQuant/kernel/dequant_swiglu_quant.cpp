#include "kernel_operator.h"
#include "dsq_tiling.h"
using namespace AscendC;

template <typename Q>
class Dsq {
public:
    __aicore__ inline Dsq() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR ws, GM_ADDR as, GM_ADDR qs, GM_ADDR y, GM_ADDR scale, const DsqTiling* tiling)
    {
        t = tiling;
        H = t->half_cols;
        Ha = t->half_align;
        xGm.SetGlobalBuffer((__gm__ int32_t*)x);
        wsGm.SetGlobalBuffer((__gm__ float*)ws);
        asGm.SetGlobalBuffer((__gm__ float*)as);
        qsGm.SetGlobalBuffer((__gm__ Q*)qs);
        yGm.SetGlobalBuffer((__gm__ int8_t*)y);
        sGm.SetGlobalBuffer((__gm__ float*)scale);
        pipe.InitBuffer(xQ, 2, 2 * Ha * sizeof(int32_t));
        pipe.InitBuffer(wQ, 1, 2 * Ha * sizeof(float));
        pipe.InitBuffer(qQ, 1, Ha * sizeof(float));
        pipe.InitBuffer(yQ, 2, Ha * sizeof(int8_t));
        pipe.InitBuffer(sQ, 2, 32);
        pipe.InitBuffer(calc, 4 * Ha * sizeof(float));
        pipe.InitBuffer(red, 64);
    }
    __aicore__ inline void Process()
    {
        LocalTensor<float> w = wQ.AllocTensor<float>();
        DataCopyExtParams p2{2, (uint32_t)(H * 4), 0, (uint32_t)((Ha - H) * 4 / 32), 0};
        DataCopyPadExtParams<float> pf{true, 0, (uint8_t)0, 0.0f};
        DataCopyPad(w, wsGm, p2, pf);
        wQ.EnQue(w);
        w = wQ.DeQue<float>();
        LocalTensor<float> q;
        if (t->has_quant) {
            LocalTensor<Q> raw = qQ.AllocTensor<Q>();
            uint32_t shift = sizeof(Q) == 4 ? 0 : Ha;
            DataCopyExtParams p1{1, (uint32_t)(H * sizeof(Q)), 0, 0, 0};
            DataCopyPadExtParams<Q> pq{false, 0, 0, (Q)0};
            DataCopyPad(raw[shift], qsGm, p1, pq);
            qQ.EnQue(raw);
            raw = qQ.DeQue<Q>();
            q = raw.template ReinterpretCast<float>();
            if constexpr (sizeof(Q) == 2) {
                Cast(q, raw[shift], RoundMode::CAST_NONE, H);
            }
        }
        for (uint32_t r = GetBlockIdx(); r < t->rows; r += GetBlockNum()) {
            Row(r, w, q);
        }
        wQ.FreeTensor(w);
        if (t->has_quant) {
            qQ.FreeTensor(q);
        }
    }
private:
    __aicore__ inline void Row(uint32_t r, LocalTensor<float>& w, LocalTensor<float>& q)
    {
        LocalTensor<int32_t> xi = xQ.AllocTensor<int32_t>();
        DataCopyExtParams p2{2, (uint32_t)(H * 4), 0, (uint32_t)((Ha - H) * 4 / 32), 0};
        DataCopyPadExtParams<int32_t> pi{false, 0, 0, 0};
        DataCopyPad(xi, xGm[(uint64_t)r * 2 * H], p2, pi);
        xQ.EnQue(xi);
        float act = asGm.GetValue(r);
        xi = xQ.DeQue<int32_t>();
        LocalTensor<float> a = calc.Get<float>(), b = a[Ha], g = a[2 * Ha], work = a[3 * Ha];
        Cast(a, xi, RoundMode::CAST_NONE, Ha);
        Cast(b, xi[Ha], RoundMode::CAST_NONE, Ha);
        xQ.FreeTensor(xi);
        Mul(a, a, w, H);
        Mul(b, b, w[Ha], H);
        Muls(a, a, act, H);
        Muls(b, b, act, H);
        LocalTensor<float> glu = t->activate_left ? a : b;
        LocalTensor<float> lin = t->activate_left ? b : a;
        Muls(g, glu, -1.0f, H);
        Exp(g, g, H);
        Adds(g, g, 1.0f, H);
        Div(g, glu, g, H);
        Mul(g, g, lin, H);
        if (t->has_quant) {
            Mul(g, g, q, H);
        }
        Abs(a, g, H);
        LocalTensor<float> rd = red.Get<float>();
        ReduceMax(rd, a, work, H, false);
        event_t ev = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(ev);
        WaitFlag<HardEvent::V_S>(ev);
        float mx = rd.GetValue(0);
        float scale = mx / 127.0f;
        LocalTensor<float> s = sQ.AllocTensor<float>();
        s.SetValue(0, scale);
        sQ.EnQue(s);
        LocalTensor<int8_t> y = yQ.AllocTensor<int8_t>();
        if (scale > 0.0f) {
            Duplicate(a, scale, H);
            Div(g, g, a, H);
        } else {
            Duplicate(g, 0.0f, H);
        }
        LocalTensor<int32_t> gi = a.ReinterpretCast<int32_t>();
        LocalTensor<half> gh = b.ReinterpretCast<half>();
        Cast(gi, g, RoundMode::CAST_RINT, H);
        SetDeqScale((half)1.0);
        Cast(gh, gi, RoundMode::CAST_NONE, H);
        Cast(y, gh, RoundMode::CAST_TRUNC, H);
        yQ.EnQue(y);
        y = yQ.DeQue<int8_t>();
        DataCopyExtParams py{1, H, 0, 0, 0};
        DataCopyPad(yGm[(uint64_t)r * H], y, py);
        yQ.FreeTensor(y);
        s = sQ.DeQue<float>();
        DataCopyExtParams ps{1, 4, 0, 0, 0};
        DataCopyPad(sGm[r], s, ps);
        sQ.FreeTensor(s);
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 2> xQ;
    TQue<TPosition::VECIN, 1> wQ, qQ;
    TQue<TPosition::VECOUT, 2> yQ, sQ;
    TBuf<TPosition::VECCALC> calc, red;
    GlobalTensor<int32_t> xGm;
    GlobalTensor<float> wsGm, asGm, sGm;
    GlobalTensor<Q> qsGm;
    GlobalTensor<int8_t> yGm;
    const DsqTiling* t;
    uint32_t H, Ha;
};
extern "C" __global__ __aicore__ void dsq(GM_ADDR x, GM_ADDR ws, GM_ADDR as, GM_ADDR qs, GM_ADDR y, GM_ADDR scale, GM_ADDR workspace, GM_ADDR tiling)
{
    GET_TILING_DATA_WITH_STRUCT(DsqTiling, td, tiling);
    if (td.quant_type == 0) {
        Dsq<float> op;
        op.Init(x, ws, as, qs, y, scale, &td);
        op.Process();
    } else if (td.quant_type == 1) {
        Dsq<half> op;
        op.Init(x, ws, as, qs, y, scale, &td);
        op.Process();
    } else {
        Dsq<bfloat16_t> op;
        op.Init(x, ws, as, qs, y, scale, &td);
        op.Process();
    }
}
void dsq_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* ws, uint8_t* as, uint8_t* qs, uint8_t* y, uint8_t* scale, uint8_t* tiling)
{
    dsq<<<blockDim, nullptr, stream>>>(x, ws, as, qs, y, scale, nullptr, tiling);
}
