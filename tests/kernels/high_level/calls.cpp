// One call a kernel: sources and results are whole buffers of 2048 lanes, `what` says which call.
#include "kernel_operator.h"
#include "calls.h"
using namespace AscendC;

constexpr uint32_t LANES = 2048;
constexpr CumSumConfig COLUMNS{false, false, true};

template <class T> class Calls {
public:
    __aicore__ inline void Run(GM_ADDR in, GM_ADDR out, const CallCase& c) {
        GlobalTensor<T> from, to;
        from.SetGlobalBuffer((__gm__ T*)in);
        to.SetGlobalBuffer((__gm__ T*)out);
        TPipe pipe;
        TQue<TPosition::VECIN, 1> inq;
        TQue<TPosition::VECOUT, 1> outq;
        TBuf<TPosition::VECCALC> scratch;
        pipe.InitBuffer(inq, 1, 4 * LANES * sizeof(T));
        pipe.InitBuffer(outq, 1, 3 * LANES * sizeof(T));
        pipe.InitBuffer(scratch, 1024);
        LocalTensor<T> source = inq.template AllocTensor<T>();
        DataCopy(source, from, 4 * LANES);
        inq.EnQue(source);
        source = inq.template DeQue<T>();
        LocalTensor<T> result = outq.template AllocTensor<T>();
        Duplicate(result, T(0), 3 * LANES);
        tmp = scratch.Get<uint8_t>();
        for (int i = 0; i < 4; ++i) s[i] = source[i * LANES];
        for (int i = 0; i < 3; ++i) d[i] = result[i * LANES];
        Call(c);
        outq.EnQue(result);
        result = outq.template DeQue<T>();
        DataCopy(to, result, 3 * LANES);
        inq.FreeTensor(source);
        outq.FreeTensor(result);
    }

private:
    __aicore__ inline void Call(const CallCase& c) {
        const SoftMaxShapeInfo shape{c.m, c.k, c.m, c.used};
        SoftMaxTiling softmax;
        const uint32_t rows[2] = {c.m, c.used};
        switch (c.what) {
            case 0: SoftMax<T>(d[0], d[1], d[2], s[0], softmax, shape); break;
            case 1: SoftMax<T, false, false>(d[0], s[0], tmp, softmax, shape); break;
            case 2: SoftMax<T, false, false, true>(d[0], d[1], d[2], s[0], tmp, softmax, shape); break;
            case 3: SimpleSoftMax<T>(d[0], s[1], s[2], s[0], softmax, shape); break;
            case 4: SoftmaxFlashV2<T, true>(d[0], s[1], s[2], s[0], d[1], s[1], s[2], tmp, softmax, shape);
                    Adds(d[2], s[1], T(0), (int32_t)(c.m * 32 / sizeof(T))); break;
            case 5: SoftmaxFlash<T>(d[0], d[1], d[2], s[0], s[3], s[1], s[2], softmax, true, shape); break;
            case 6: { LogSoftMaxTiling log; log.srcM = c.m, log.srcK = c.k; LogSoftMax<T>(d[0], d[1], d[2], s[0], log); break; }
            case 7: SoftmaxGrad<T>(d[0], s[0], s[1], softmax, false, shape); break;
            case 8: SoftmaxGradFront<T>(d[0], s[0], s[1], tmp, softmax, shape); break;
            case 9: {
                LayerNormTiling t;
                t.bLength = 1, t.sLength = c.m, t.hLength = c.k, t.originalHLength = c.used;
                LayerNorm<T, false>(d[0], d[1], d[2], s[0], s[1], s[2], tmp, (T)1e-5f, t);
                break;
            }
            case 10: {
                RmsNormTiling t;
                t.bLength = 1, t.sLength = c.m, t.hLength = c.k, t.originalHLength = c.used;
                RmsNorm<T>(d[0], s[0], s[1], (T)1e-5f, t);
                break;
            }
            case 11: {
                GroupNormTiling t;
                t.n = 2, t.c = c.m, t.g = 2, t.hw = c.used;
                GroupNorm<T>(d[0], d[1], d[2], s[0], s[1], s[2], (T)1e-5f, t);
                break;
            }
            case 12: {
                LayerNormGradTiling t;
                t.bLength = 1, t.sLength = c.m, t.hLength = c.k, t.originalHLength = c.used;
                LayerNormGrad<T>(d[0], d[1], s[0], s[1], s[2][1024], s[2], s[3], tmp, (T)1e-5f, t);
                break;
            }
            case 13: {
                BatchNormTiling t;
                t.originalBLength = c.m, t.sLength = 1, t.hLength = c.k;
                BatchNorm<T>(d[0], d[1], d[2], s[0], s[1], s[2], tmp, (T)1e-5f, t);
                break;
            }
            case 14: {
                DeepNormTiling t;
                t.bLength = 1, t.sLength = c.m, t.hLength = c.k;
                DeepNorm<T>(d[0], d[1], d[2], s[0], s[1], s[3], s[2], tmp, (T)2.0f, (T)1e-5f, t);
                break;
            }
            case 15: Sum(d[0], s[0], SumParams{c.m, c.k, c.used}); break;
            case 16: Mean<T>(d[0], s[0], tmp, MeanParams{c.m, c.k, c.used}); break;
            case 17: ReduceSum<T, Pattern::Reduce::RA>(d[0], s[0], tmp, rows, true); break;
            case 18: ReduceMax<T, Pattern::Reduce::AR>(d[0], s[0], tmp, rows, true); break;
            case 19: ReduceProd<T, Pattern::Reduce::AR, true>(d[0], s[0], rows, true); break;
            case 20: CumSum<T>(d[0], d[1], s[0], tmp, CumSumInfo{c.m, c.k}); break;
            case 21: CumSum<T, COLUMNS>(d[0], d[1], s[0], CumSumInfo{c.m, c.k}); break;
            case 22: {
                LocalTensor<int32_t> index = d[1].template ReinterpretCast<int32_t>();
                LocalTensor<int32_t> none;
                LocalTensor<bool> finish;
                TopK<T>(d[0], index, s[0], none, finish, 5, TopkTiling{}, TopKInfo{(int32_t)c.m, (int32_t)c.k, (int32_t)c.used}, c.other == 0);
                break;
            }
            case 23: GeGLU(d[0], s[0], s[1], tmp, LANES); break;
            case 24: SwiGLU(d[0], s[0], s[1], 1.5f, LANES); break;
            case 25: ReGlu(d[0], s[0], s[1], LANES); break;
            case 26: Fmod(d[0], s[0], s[1], LANES); break;
            case 27: Power<T, false>(d[0], s[0], s[1], tmp, LANES); break;
            case 28: Lgamma(d[0], s[0], LANES); break;
            case 29: Digamma(d[0], s[0], tmp, LANES); break;
            case 30: Exp<T, 15, false>(d[0], s[0], LANES); break;
            case 31: {
                LocalTensor<uint8_t> mask = s[1].template ReinterpretCast<uint8_t>();
                DropOut(d[0], s[0], mask, tmp, 0.5f, DropOutShapeInfo{c.m, c.k, c.k});
                break;
            }
            case 32: { PadTiling t; t.srcHeight = c.m, t.srcWidth = c.k, t.srcOriWidth = c.used; Pad(d[0], s[0], PadParams{0, (uint16_t)(c.k - c.used), 7}, tmp, t); break; }
            case 33: { UnPadTiling t; t.srcHeight = c.m, t.srcWidth = c.k; UnPad(d[0], s[0], UnPadParams{0, (uint16_t)(c.k - c.used)}, t); break; }
            case 34: {
                LocalTensor<int8_t> q = d[1].template ReinterpretCast<int8_t>();
                q.SetSize(LANES);
                AscendQuant(q, s[0], tmp, 3.0f, 1.0f, LANES);
                LocalTensor<half> h = d[0].template ReinterpretCast<half>();
                AscendAntiQuant<int8_t, half, false>(h, q, (half)-1.0f, (half)0.25f, 16);
                break;
            }
            case 35: {
                LocalTensor<int32_t> q = s[0].template ReinterpretCast<int32_t>();
                AscendDequant(d[0], q, s[1], tmp, DequantParams{c.m, c.k, c.used});
                break;
            }
            case 36: AdjustSoftMaxRes<T, T>(s[0], s[1], 0xFF7FFFFF, (T)0.0f, shape); Adds(d[0], s[0], T(0), LANES); break;
            case 37: ClampMax(d[0], s[0], tmp, T(1), LANES); ClampMin(d[0], d[0], T(-1), LANES); break;
            case 38: FasterGeluV2(d[0], s[0], LANES); break;
            case 39: {
                const WelfordUpdateParam update{1, c.k, c.k, 0.5f};
                WelfordUpdate<T, float>(d[0], d[1], s[1], s[2], s[0], tmp, update);
                WelfordFinalizePara end;
                end.rnLength = 2, end.abLength = c.k, end.abRec = 1.0f / c.k, end.rRec = 0.5f / c.k;
                WelfordFinalize(d[2], d[2][8], d[0], d[1], tmp, end);
                break;
            }
            default: SoftMax<T>(d[0], d[1], d[2], s[0], softmax, SoftMaxShapeInfo{0, 0, 0, 0});
        }
    }
    LocalTensor<T> s[4], d[3];
    LocalTensor<uint8_t> tmp;
};

extern "C" __global__ __aicore__ void calls(GM_ADDR in, GM_ADDR out, CallCase c) {
    Calls<float> op;
    op.Run(in, out, c);
}
class HalfSoftMax {
public:
    // half data with float sums, as attention kernels have it
    __aicore__ inline void Run(GM_ADDR in, GM_ADDR out, GM_ADDR sums, const CallCase& c) {
        GlobalTensor<half> from, to;
        GlobalTensor<float> of;
        from.SetGlobalBuffer((__gm__ half*)in);
        to.SetGlobalBuffer((__gm__ half*)out);
        of.SetGlobalBuffer((__gm__ float*)sums);
        TPipe pipe;
        TBuf<TPosition::VECCALC> a, b, e;
        pipe.InitBuffer(a, c.m * c.k * 2);
        pipe.InitBuffer(b, c.m * 64);
        pipe.InitBuffer(e, 1024);
        LocalTensor<half> x = a.Get<half>();
        LocalTensor<float> sum = b.GetWithOffset<float>(c.m * 8, 0), max = b.GetWithOffset<float>(c.m * 8, c.m * 32);
        DataCopy(x, from, c.m * c.k);
        PipeBarrier<PIPE_ALL>();
        SoftMaxTiling softmax;
        softmax.srcM = c.m, softmax.srcK = c.k;
        SoftMax<half>(x, sum, max, x, e.Get<uint8_t>(), softmax);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, x, c.m * c.k);
        DataCopy(of, sum, c.m * 8);
    }
};
extern "C" __global__ __aicore__ void half_softmax(GM_ADDR in, GM_ADDR out, GM_ADDR sums, CallCase c) {
    HalfSoftMax op;
    op.Run(in, out, sums, c);
}
void calls_do(uint8_t* in, uint8_t* out, CallCase c) { calls<<<1, nullptr, nullptr>>>(in, out, c); }
void half_softmax_do(uint8_t* in, uint8_t* out, uint8_t* sums, CallCase c) { half_softmax<<<1, nullptr, nullptr>>>(in, out, sums, c); }
