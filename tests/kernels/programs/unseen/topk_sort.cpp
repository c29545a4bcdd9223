// TopK high level + Sort/Concat/Extract + CreateVecIndex
#include "kernel_operator.h"
#include "tiling/tiling_api.h"
#include "host.h"
using namespace AscendC;
__global__ __aicore__ void topk_kernel(GM_ADDR x, GM_ADDR v, GM_ADDR idx, GM_ADDR sv, GM_ADDR si, int32_t outer, int32_t inner, int32_t k, TopkTiling tiling) {
    TPipe pipe;
    TBuf<> bx, bi, bv, bo, bt, bs, bc;
    int32_t kp = (k + 7) / 8 * 8;
    pipe.InitBuffer(bx, outer * inner * 4);
    pipe.InitBuffer(bi, inner * 4);
    pipe.InitBuffer(bv, outer * kp * 4);
    pipe.InitBuffer(bo, outer * kp * 4);
    pipe.InitBuffer(bt, 48 * 1024);
    pipe.InitBuffer(bs, inner * 8);
    pipe.InitBuffer(bc, inner * 8);
    GlobalTensor<float> xg, vg, sg;
    GlobalTensor<int32_t> ig;
    GlobalTensor<uint32_t> sig;
    xg.SetGlobalBuffer((__gm__ float*)x);
    vg.SetGlobalBuffer((__gm__ float*)v);
    ig.SetGlobalBuffer((__gm__ int32_t*)idx);
    sg.SetGlobalBuffer((__gm__ float*)sv);
    sig.SetGlobalBuffer((__gm__ uint32_t*)si);
    auto lx = bx.Get<float>();
    auto li = bi.Get<int32_t>();
    auto lv = bv.Get<float>();
    auto lo = bo.Get<int32_t>();
    auto tmp = bt.Get<uint8_t>();
    DataCopy(lx, xg, outer * inner);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    CreateVecIndex(li, (int32_t)0, inner);
    PipeBarrier<PIPE_V>();
    LocalTensor<bool> finish;
    TopKInfo info;
    info.outter = outer;
    info.inner = inner;
    info.n = inner;
    TopK<float, true, false, false, TopKMode::TOPK_NORMAL>(lv, lo, lx, li, finish, tmp, k, tiling, info, true);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopyPad(vg, lv, {(uint16_t)outer, (uint32_t)(k * 4), 0, 0, 0});
    DataCopyPad(ig, lo, {(uint16_t)outer, (uint32_t)(k * 4), 0, 0, 0});
    PipeBarrier<PIPE_ALL>();
  // sort first row in full
    LocalTensor<float> concat, sorted = bs.Get<float>(), ctmp = bc.Get<float>();
    LocalTensor<float> stmp = bt.Get<float>();
    LocalTensor<uint32_t> ui = li.ReinterpretCast<uint32_t>();
    Concat(concat, lx, ctmp, inner / 16);
    Sort<float, true>(sorted, concat, ui, stmp, inner / 32);
    LocalTensor<float> ev = bx.Get<float>();
    LocalTensor<uint32_t> ei = bi.Get<uint32_t>();
    PipeBarrier<PIPE_ALL>();
    Extract(ev, ei, sorted, inner / 32);
    PipeBarrier<PIPE_ALL>();
    DataCopy(sg, ev, inner);
    DataCopy(sig, ei, inner);
}
// Each size function that has parameters of its own, called as documentation has it.
uint32_t sizes(const platform_ascendc::PlatformAscendC& platform) {
    const ge::Shape shape({4, 64});
    uint32_t most = 0, least = 0, sum = 0;
    GetLayerNormMaxMinTmpSize(shape, 4, false, true, false, most, least);
    sum += least;
    GetNormalizeMaxMinTmpSize(shape, 4, 4, false, true, false, most, least);
    sum += least;
    GetWelfordUpdateMaxMinTmpSize(shape, 2, 4, false, true, most, least);
    sum += least;
    GetWelfordFinalizeMaxMinTmpSize(shape, 4, false, most, least);
    sum += least;
    GetGroupNormMaxMinTmpSize(shape, 4, false, 2, most, least);
    sum += least;
    if (!GetDeepNormMaxMinTmpSize(shape, 4, false, false, most, least)) return 0;
    if (!GetBatchNormMaxMinTmpSize(shape, shape, 4, false, most, least)) return 0;
    GetAscendDequantMaxMinTmpSize(shape, 4, most, least);
    GetBroadCastMaxMinTmpSize(platform, ge::Shape({4, 1}), shape, 4, false, most, least);
    return sum + least + GetSortTmpSize(platform, 256, 4) + GetConcatTmpSize(platform, 256, 4);
}
int main() {
    Session S;
    if (!sizes(*platform_ascendc::PlatformAscendCManager::GetInstance())) return 1;
    int O = 4, I = 256, K = 10;
    std::vector<float> x(O * I), v(O * K), sv(I);
    std::vector<int32_t> id(O * K);
    std::vector<uint32_t> si(I);
    for (int i = 0; i < O * I; i++) x[i] = rnd(i) + i * 1e-6f;
    for (int r = 0; r < O; r++) {
        std::vector<int> p(I);
        for (int i = 0; i < I; i++) p[i] = i;
        std::stable_sort(p.begin(), p.end(), [&](int a, int b) { return x[r * I + a] > x[r * I + b]; });
        for (int j = 0; j < K; j++) v[r * K + j] = x[r * I + p[j]], id[r * K + j] = p[j];
        if (!r) for (int j = 0; j < I; j++) sv[j] = x[p[j]], si[j] = p[j];
    }
    optiling::TopkTiling ot;
    TopkTiling kt;
    auto plat = platform_ascendc::PlatformAscendCManager::GetInstance();
    uint32_t mx = 0, mn = 0;
    AscendC::GetTopKMaxMinTmpSize(*plat, I, O, false, true, TopKMode::TOPK_NORMAL, true, sizeof(float), mx, mn);
    printf("tmp %u %u\n", mx, mn);
    AscendC::TopKTilingFunc(*plat, I, O, K, sizeof(float), true, TopKMode::TOPK_NORMAL, true, ot);
    ot.SaveToBuffer(&kt, ot.GetDataSize());
    Dev<float> dx(x), dv(std::vector<float>(O * K)), ds(std::vector<float>(I, 0.f));
    Dev<int32_t> di(std::vector<int32_t>(O * K, 0));
    Dev<uint32_t> dsi(std::vector<uint32_t>(I, 0u));
    topk_kernel<<<1, nullptr, S.s>>>(dx.u(), dv.u(), di.u(), ds.u(), dsi.u(), O, I, K, kt);
    S.sync();
    return cmp("v", dv.get(), v, 0) + cmp("i", di.get(), id, 0) + cmp("sv", ds.get(), sv, 0) + cmp("si", dsi.get(), si, 0);
}
