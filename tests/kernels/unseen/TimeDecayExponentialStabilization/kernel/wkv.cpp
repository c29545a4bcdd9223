#include "kernel_operator.h"
using namespace AscendC;
constexpr uint32_t CH = 256;
using F = LocalTensor<float>;

class Wkv {
public:
    __aicore__ inline void Init(GM_ADDR w, GM_ADDR k, GM_ADDR u, GM_ADDR v, GM_ADDR ms, GM_ADDR nu, GM_ADDR de, GM_ADDR y, GM_ADDR mo, GM_ADDR no, GM_ADDR dout, int32_t b, int32_t t, int32_t c)
    {
        B = b; T = t; C = c;
        auto set = [](GlobalTensor<float>& g, GM_ADDR a) { g.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(a)); };
        set(wG, w); set(kG, k); set(uG, u); set(vG, v); set(msG, ms); set(nuG, nu); set(deG, de); set(yG, y); set(moG, mo); set(noG, no); set(doG, dout);
        pipe.InitBuffer(stateQ, 1, 5 * CH * sizeof(float));
        pipe.InitBuffer(kvQ, 2, 2 * CH * sizeof(float));
        pipe.InitBuffer(outQ, 2, CH * sizeof(float));
        pipe.InitBuffer(endQ, 1, 3 * CH * sizeof(float));
        pipe.InitBuffer(tmp, 4 * CH * sizeof(float));
    }
    __aicore__ inline void Process()
    {
        int32_t chunks = C / CH;
        for (int32_t i = GetBlockIdx(); i < B * chunks; i += GetBlockNum()) {
            Chunk(i / chunks, (i % chunks) * CH);
        }
    }
private:
    __aicore__ inline void Chunk(int32_t b, int32_t c0)
    {
        F st = stateQ.AllocTensor<float>();
        DataCopy(st, wG[c0], CH);
        DataCopy(st[CH], uG[c0], CH);
        DataCopy(st[2 * CH], msG[b * C + c0], CH);
        DataCopy(st[3 * CH], nuG[b * C + c0], CH);
        DataCopy(st[4 * CH], deG[b * C + c0], CH);
        stateQ.EnQue(st);
        st = stateQ.DeQue<float>();
        F w = st, u = st[CH], ms = st[2 * CH], nu = st[3 * CH], de = st[4 * CH];
        Exp(w, w, CH);
        Muls(w, w, -1.0f, CH);
        for (int32_t t = 0; t < T; ++t) {
            const int64_t off = (static_cast<int64_t>(b) * T + t) * C + c0;
            F kv = kvQ.AllocTensor<float>();
            DataCopy(kv, kG[off], CH);
            DataCopy(kv[CH], vG[off], CH);
            kvQ.EnQue(kv);
            kv = kvQ.DeQue<float>();
            F k = kv, v = kv[CH];
            F a = tmp.Get<float>(), m = a[CH], e1 = a[2 * CH], e2 = a[3 * CH];
            F y = outQ.AllocTensor<float>();
            Add(a, k, u, CH);
            Step(ms, a, m, e1, e2);
            Combine(y, nu, v, e1, e2);
            Mul(a, e1, de, CH);
            Add(a, a, e2, CH);
            Div(y, y, a, CH);
            outQ.EnQue(y);
            Add(ms, ms, w, CH);
            Step(ms, k, m, e1, e2);
            Combine(nu, nu, v, e1, e2);
            Mul(de, e1, de, CH);
            Add(de, de, e2, CH);
            Adds(ms, m, 0.0f, CH);
            kvQ.FreeTensor(kv);
            y = outQ.DeQue<float>();
            DataCopy(yG[off], y, CH);
            outQ.FreeTensor(y);
        }
        F e = endQ.AllocTensor<float>();
        DataCopy(e, ms, 3 * CH);
        endQ.EnQue(e);
        stateQ.FreeTensor(st);
        e = endQ.DeQue<float>();
        DataCopy(moG[b * C + c0], e, CH);
        DataCopy(noG[b * C + c0], e[CH], CH);
        DataCopy(doG[b * C + c0], e[2 * CH], CH);
        endQ.FreeTensor(e);
    }
    // m = max(ms, a), e1 = exp(ms - m), e2 = exp(a - m)
    __aicore__ inline void Step(const F& ms, const F& a, const F& m, const F& e1, const F& e2)
    {
        Max(m, ms, a, CH);
        Sub(e1, ms, m, CH);
        Exp(e1, e1, CH);
        Sub(e2, a, m, CH);
        Exp(e2, e2, CH);
    }
    // d = e1 * s + e2 * v
    __aicore__ inline void Combine(const F& d, const F& s, const F& v, const F& e1, const F& e2)
    {
        F t = tmp.Get<float>();
        Mul(t, e2, v, CH);
        Mul(d, e1, s, CH);
        Add(d, d, t, CH);
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 1> stateQ;
    TQue<TPosition::VECIN, 2> kvQ;
    TQue<TPosition::VECOUT, 2> outQ;
    TQue<TPosition::VECOUT, 1> endQ;
    TBuf<TPosition::VECCALC> tmp;
    GlobalTensor<float> wG, kG, uG, vG, msG, nuG, deG, yG, moG, noG, doG;
    int32_t B, T, C;
};

extern "C" __global__ __aicore__ void wkv(GM_ADDR w, GM_ADDR k, GM_ADDR u, GM_ADDR v, GM_ADDR ms, GM_ADDR nu, GM_ADDR de, GM_ADDR y, GM_ADDR mo, GM_ADDR no, GM_ADDR dout, int32_t b, int32_t t, int32_t c)
{
    Wkv op;
    op.Init(w, k, u, v, ms, nu, de, y, mo, no, dout, b, t, c);
    op.Process();
}
extern "C" void wkv_do(uint32_t blockDim, void* stream, const std::vector<void*>& a, int32_t b, int32_t t, int32_t c)
{
#define A(i) reinterpret_cast<GM_ADDR>(a[i])
    wkv<<<blockDim, nullptr, stream>>>(A(0), A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10), b, t, c);
}
