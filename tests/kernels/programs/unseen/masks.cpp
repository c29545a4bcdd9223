// masked ops: mask arrays with repeats, Counter mode, Compare/Select modes, CompareScalar, GatherMask
#include "kernel_operator.h"
#include "host.h"
using namespace AscendC;
class KernelHardShrinkCompact {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR c, uint32_t n) {
        n_ = n;
        xg.SetGlobalBuffer((__gm__ half*)x, n);
        yg.SetGlobalBuffer((__gm__ half*)y, n);
        zg.SetGlobalBuffer((__gm__ half*)z, n);
        cg.SetGlobalBuffer((__gm__ int32_t*)c, 8);
        pipe.InitBuffer(qx, 2, n * 2);
        pipe.InitBuffer(qy, 2, n * 2);
        pipe.InitBuffer(qz, 1, n * 2);
        pipe.InitBuffer(mask, n / 8 < 32 ? 32 : n / 8);
        pipe.InitBuffer(tmp, n * 2);
    }
    __aicore__ inline void Process() {
        LocalTensor<half> x = qx.AllocTensor<half>();
        DataCopy(x, xg, n_);
        qx.EnQue(x);
        x = qx.DeQue<half>();
        LocalTensor<half> y = qy.AllocTensor<half>(), z = qz.AllocTensor<half>(), t = tmp.Get<half>();
        LocalTensor<uint8_t> m = mask.Get<uint8_t>();
        Abs(t, x, n_);
        CompareScalar(m, t, (half)0.5, CMPMODE::GT, n_);
        Select(y, m, x, (half)0, SELMODE::VSEL_TENSOR_SCALAR_MODE, n_);
        uint64_t rsvd = 0;
        GatherMaskParams gp;
        gp.src0BlockStride = 1;
        gp.repeatTimes = 1;
        gp.src0RepeatStride = 8;
        gp.src1RepeatStride = 1;
        LocalTensor<uint16_t> m16 = m.ReinterpretCast<uint16_t>();
        Duplicate(z, (half)0, n_);
        PipeBarrier<PIPE_V>();
        GatherMask(z, x, m16, true, n_, gp, rsvd);
        ResetMask();
    // double every even element by mask array over full repeats, in place
        uint64_t bits[2] = {0x5555555555555555ULL, 0x5555555555555555ULL};
        Muls(y, y, (half)2, bits, n_ / 128, {1, 1, 8, 8});
    // counter mode: add 1 to the first 100
        SetMaskCount();
        SetVectorMask<half, MaskMode::COUNTER>(0, 100);
        Adds<half, false>(y, y, (half)1, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
        PipeBarrier<PIPE_V>();
        SetMaskNorm();
        ResetMask();
        cg.SetValue(0, (int32_t)rsvd);
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE>(cg);
        qy.EnQue(y);
        qz.EnQue(z);
        y = qy.DeQue<half>();
        z = qz.DeQue<half>();
        DataCopy(yg, y, n_);
        DataCopy(zg, z, n_);
        qy.FreeTensor(y);
        qz.FreeTensor(z);
        qx.FreeTensor(x);
    }
private:
    TPipe pipe;
    uint32_t n_;
    GlobalTensor<half> xg, yg, zg;
    GlobalTensor<int32_t> cg;
    TQue<QuePosition::VECIN, 2> qx;
    TQue<QuePosition::VECOUT, 2> qy;
    TQue<QuePosition::VECOUT, 1> qz;
    TBuf<QuePosition::VECCALC> mask, tmp;
};
extern "C" __global__ __aicore__ void shrink(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR c, uint32_t n) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    KernelHardShrinkCompact op;
    op.Init(x, y, z, c, n);
    op.Process();
}
int main() {
    Session S;
    const int n = 512;
    std::vector<half> x(n);
    for (int i = 0; i < n; i++) x[i] = (half)rnd(i);
    std::vector<float> y(n), z(n, 0);
    int c = 0;
    for (int i = 0; i < n; i++) {
        float v = x[i];
        bool k = fabs(v) > 0.5f;
        if (k) z[c++] = v;
        y[i] = k ? v : 0;
        if (i % 2 == 0) y[i] *= 2;
        if (i < 100) y[i] += 1;
    }
    Dev<half> dx(x), dy(x), dz(x);
    Dev<int32_t> dc(std::vector<int32_t>(8, 0));
    shrink<<<1, nullptr, S.s>>>(dx.u(), dy.u(), dz.u(), dc.u(), n);
    S.sync();
    return cmp("y", dy.get(), y, 1e-3) + cmp("z", dz.get(), z, 0) + cmp("c", dc.get(), std::vector<int>{c}, 0);
}
