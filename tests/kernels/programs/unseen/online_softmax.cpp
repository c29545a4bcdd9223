// online softmax with SoftmaxFlashV2 over key tiles, one head, P@V by vector
#include "kernel_operator.h"
#include "tiling/tiling_api.h"
#include "host.h"
using namespace AscendC;
constexpr SoftmaxConfig CFG = {false};
extern "C" __global__ __aicore__ void flash(GM_ADDR s, GM_ADDR v, GM_ADDR o, uint32_t R, uint32_t K, uint32_t D, SoftMaxTiling t) {
    TPipe pipe;
    TBuf<> bs, bp, bv, bo, bm, bsum, be, bt, bx;
    const uint32_t T = 64;
    pipe.InitBuffer(bs, R * T * 4);
    pipe.InitBuffer(bv, T * D * 4);
    pipe.InitBuffer(bo, R * D * 4);
    pipe.InitBuffer(bm, R * 32);
    pipe.InitBuffer(bsum, R * 32);
    pipe.InitBuffer(be, R * 32);
    pipe.InitBuffer(bt, 32768);
    pipe.InitBuffer(bx, R * D * 4);
    GlobalTensor<float> sg, vg, og;
    sg.SetGlobalBuffer((__gm__ float*)s);
    vg.SetGlobalBuffer((__gm__ float*)v);
    og.SetGlobalBuffer((__gm__ float*)o);
    auto ls = bs.Get<float>(), lv = bv.Get<float>(), lo = bo.Get<float>(), mx = bm.Get<float>(), sum = bsum.Get<float>(), ex = be.Get<float>();
    auto tmp = bt.Get<uint8_t>();
    Duplicate(lo, 0.f, R * D);
    for (uint32_t k = 0; k < K; k += T) {
        PipeBarrier<PIPE_ALL>();
        DataCopy(ls, sg[k], DataCopyParams((uint16_t)R, T / 8, (K - T) / 8, 0));
        DataCopy(lv, vg[k * D], T * D);
        PipeBarrier<PIPE_ALL>();
        SoftMaxShapeInfo info{R, T, R, T};
        if (k == 0) SoftmaxFlashV2<float, false, true, false, false>(ls, sum, mx, ls, ex, sum, mx, tmp, t, info);
        else SoftmaxFlashV2<float, true, true, false, false>(ls, sum, mx, ls, ex, sum, mx, tmp, t, info);
        PipeBarrier<PIPE_ALL>();
        for (uint32_t r = 0; r < R; r++) {
            if (k) {
                float e = ex.GetValue(r * 8);
                Muls(lo[r * D], lo[r * D], e, D);
                PipeBarrier<PIPE_V>();
            }
            for (uint32_t j = 0; j < T; j++) {
                Axpy(lo[r * D], lv[j * D], ls.GetValue(r * T + j), D);
                PipeBarrier<PIPE_V>();
            }
        }
    }
    for (uint32_t r = 0; r < R; r++) {
        Muls(lo[r * D], lo[r * D], 1.0f / sum.GetValue(r * 8), D);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(og, lo, R * D);
}
int main() {
    Session S;
    const uint32_t R = 8, K = 192, D = 32;
    std::vector<float> s(R * K), v(K * D), o(R * D);
    for (uint32_t i = 0; i < R * K; i++) s[i] = rnd(i) * 4;
    for (uint32_t i = 0; i < K * D; i++) v[i] = rnd(i + 99);
    for (uint32_t r = 0; r < R; r++) {
        double z = 0;
        for (uint32_t k = 0; k < K; k++) z += exp(s[r * K + k]);
        for (uint32_t d = 0; d < D; d++) {
            double a = 0;
            for (uint32_t k = 0; k < K; k++) a += exp(s[r * K + k]) / z * v[k * D + d];
            o[r * D + d] = a;
        }
    }
    optiling::SoftMaxTiling t;
    SoftMaxTiling k;
    ge::Shape sh({R, 64});
    AscendC::SoftMaxFlashV2TilingFunc(sh, 4, 4, AscendC::GetSoftMaxFlashV2MinTmpSize(sh, 4, 4, true, false), t, true, false);
    t.SaveToBuffer(&k, sizeof k);
    Dev<float> ds(s), dv(v), d(o);
    flash<<<1, nullptr, S.s>>>(ds.u(), dv.u(), d.u(), R, K, D, k);
    S.sync();
    return cmp("o", d.get(), o, 1e-4);
}
