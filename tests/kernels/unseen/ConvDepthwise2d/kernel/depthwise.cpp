#include "kernel_operator.h"
using namespace AscendC;
struct DwTiling { int32_t N, C, H, W, K, S, P, OH, OW, hasBias; };
class Depthwise {
public:
    __aicore__ inline Depthwise(const DwTiling& tt, TPipe* pipe) : t(tt)
    {
        rowPad = (t.W + 2 * t.P + 7) / 8 * 8;
        outPad = (t.OW + 7) / 8 * 8;
        pipe->InitBuffer(inBuf, rowPad * sizeof(float));
        pipe->InitBuffer(outBuf, outPad * sizeof(float));
    }
    __aicore__ inline void Run(GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y)
    {
        GlobalTensor<float> xg, wg, bg, yg;
        xg.SetGlobalBuffer((__gm__ float*)x);
        wg.SetGlobalBuffer((__gm__ float*)w);
        bg.SetGlobalBuffer((__gm__ float*)b);
        yg.SetGlobalBuffer((__gm__ float*)y);
        LocalTensor<float> in = inBuf.Get<float>(), out = outBuf.Get<float>();
        int32_t rows = t.N * t.C * t.OH;
        for (int32_t r = GetBlockIdx(); r < rows; r += GetBlockNum()) {
            int32_t oh = r % t.OH, plane = r / t.OH, c = plane % t.C;
            Duplicate(out, t.hasBias ? bg.GetValue(c) : 0.0f, outPad);
            PipeBarrier<PIPE_ALL>();
            for (int32_t kh = 0; kh < t.K; ++kh) {
                int32_t ih = oh * t.S - t.P + kh;
                if (ih < 0 || ih >= t.H) continue;
                Duplicate(in, 0.0f, rowPad);
                SetFlag<HardEvent::V_S>(EVENT_ID0);
                WaitFlag<HardEvent::V_S>(EVENT_ID0);
                for (int32_t j = 0; j < t.W; ++j) {
                    in.SetValue(t.P + j, xg.GetValue((plane * t.H + ih) * t.W + j));
                }
                for (int32_t kw = 0; kw < t.K; ++kw) {
                    float wv = wg.GetValue((c * t.K + kh) * t.K + kw);
                    for (int32_t ow = 0; ow < t.OW; ++ow) {
                        out.SetValue(ow, out.GetValue(ow) + wv * in.GetValue(ow * t.S + kw));
                    }
                }
            }
            SetFlag<HardEvent::S_MTE3>(EVENT_ID1);
            WaitFlag<HardEvent::S_MTE3>(EVENT_ID1);
            DataCopyExtParams p{1, (uint32_t)(t.OW * sizeof(float)), 0, 0, 0};
            DataCopyPad(yg[(int64_t)r * t.OW], out, p);
            SetFlag<HardEvent::MTE3_V>(EVENT_ID2);
            WaitFlag<HardEvent::MTE3_V>(EVENT_ID2);
        }
    }
private:
    DwTiling t;
    int32_t rowPad, outPad;
    TBuf<TPosition::VECCALC> inBuf, outBuf;
};
extern "C" __global__ __aicore__ void depthwise_kernel(GM_ADDR x, GM_ADDR w, GM_ADDR b, GM_ADDR y, DwTiling t)
{
    TPipe pipe;
    Depthwise op(t, &pipe);
    op.Run(x, w, b, y);
}
extern "C" void depthwise_do(uint32_t n, void* s, uint8_t* x, uint8_t* w, uint8_t* b, uint8_t* y, const int32_t* v)
{
    DwTiling t{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9]};
    depthwise_kernel<<<n, nullptr, s>>>(x, w, b, y, t);
}
