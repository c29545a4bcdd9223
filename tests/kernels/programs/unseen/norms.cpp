// LayerNorm + RmsNorm high level
#include "kernel_operator.h"
#include "tiling/tiling_api.h"
#include "host.h"
using namespace AscendC;
constexpr int32_t BUFFER_NUM = 1;
__global__ __aicore__ void ln_kernel(GM_ADDR x, GM_ADDR g, GM_ADDR b, GM_ADDR o, GM_ADDR o2, uint32_t B, uint32_t S, uint32_t H, float eps, LayerNormTiling tiling, RmsNormTiling rt) {
    TPipe pipe;
    GlobalTensor<float> xg, gg, bg, og, og2;
    const uint32_t n = B * S * H;
    xg.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), n);
    gg.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(g), H);
    bg.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(b), H);
    og.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(o), n);
    og2.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(o2), n);
    TQue<TPosition::VECIN, 1> qx, qg, qb;
    TQue<TPosition::VECOUT, 1> qo, qm, qv;
    pipe.InitBuffer(qx, 1, n * 4);
    pipe.InitBuffer(qg, 1, H * 4);
    pipe.InitBuffer(qb, 1, H * 4);
    pipe.InitBuffer(qo, 2, n * 4);
    pipe.InitBuffer(qm, 1, ((B * S + 7) / 8) * 32);
    pipe.InitBuffer(qv, 1, ((B * S + 7) / 8) * 32);
    LocalTensor<float> lx = qx.AllocTensor<float>(), lg = qg.AllocTensor<float>(), lb = qb.AllocTensor<float>();
    DataCopy(lx, xg, n);
    DataCopy(lg, gg, H);
    DataCopy(lb, bg, H);
    qx.EnQue(lx);
    qg.EnQue(lg);
    qb.EnQue(lb);
    lx = qx.DeQue<float>();
    lg = qg.DeQue<float>();
    lb = qb.DeQue<float>();
    LocalTensor<float> lo = qo.AllocTensor<float>(), m = qm.AllocTensor<float>(), v = qv.AllocTensor<float>();
    LayerNorm<float, true>(lo, m, v, lx, lg, lb, eps, tiling);
    qo.EnQue<float>(lo);
    lo = qo.DeQue<float>();
    DataCopy(og, lo, n);
    qo.FreeTensor(lo);
    DataCopy(lx, xg, n);
    event_t e = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_V));
    SetFlag<HardEvent::MTE2_V>(e);
    WaitFlag<HardEvent::MTE2_V>(e);
    LocalTensor<float> l2 = qo.AllocTensor<float>();
    RmsNorm<float, false>(l2, lx, lg, eps, rt);
    qo.EnQue<float>(l2);
    l2 = qo.DeQue<float>();
    DataCopy(og2, l2, n);
    qo.FreeTensor(l2);
    qm.FreeTensor(m);
    qv.FreeTensor(v);
    qx.FreeTensor(lx);
    qg.FreeTensor(lg);
    qb.FreeTensor(lb);
}
int main() {
    Session S;
    const uint32_t B = 2, Q = 8, H = 64, n = B * Q * H;
    std::vector<float> x(n), g(H), b(H), w(n), w2(n);
    for (uint32_t i = 0; i < n; i++) x[i] = rnd(i) * 2;
    for (uint32_t i = 0; i < H; i++) g[i] = rnd(i + 7777), b[i] = rnd(i + 999);
    for (uint32_t r = 0; r < B * Q; r++) {
        double m = 0, v = 0, s = 0;
        for (uint32_t c = 0; c < H; c++) m += x[r * H + c], s += x[r * H + c] * x[r * H + c];
        m /= H;
        for (uint32_t c = 0; c < H; c++) v += (x[r * H + c] - m) * (x[r * H + c] - m);
        v /= H;
        for (uint32_t c = 0; c < H; c++) {
            w[r * H + c] = (x[r * H + c] - m) / sqrt(v + 1e-5) * g[c] + b[c];
            w2[r * H + c] = x[r * H + c] / sqrt(s / H + 1e-5) * g[c];
        }
    }
    optiling::LayerNormTiling t;
    optiling::RmsNormTiling rt;
    LayerNormTiling kt;
    RmsNormTiling krt;
    ge::Shape shape({B, Q, H, H});
    uint32_t mx = 0, mn = 0;
    GetLayerNormMaxMinTmpSize(shape, sizeof(float), true, true, false, mx, mn);
    GetLayerNormNDTilingInfo(shape, mn, sizeof(float), true, t);
    t.SaveToBuffer(&kt, sizeof(kt));
    ge::Shape rs({B, Q, H});
    uint32_t rmx = 0, rmn = 0;
    GetRmsNormMaxMinTmpSize(rs, sizeof(float), rmx, rmn, false);
    GetRmsNormTilingInfo(rs, rs, rmn, sizeof(float), rt, false);
    rt.SaveToBuffer(&krt, sizeof(krt));
    Dev<float> dx(x), dg(g), db(b), d1(w), d2(w2);
    ln_kernel<<<1, nullptr, S.s>>>(dx.u(), dg.u(), db.u(), d1.u(), d2.u(), B, Q, H, 1e-5f, kt, krt);
    S.sync();
    return cmp("ln", d1.get(), w, 1e-4) + cmp("rms", d2.get(), w2, 1e-4);
}
