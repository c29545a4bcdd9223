#include "kernel_operator.h"
using namespace AscendC;
constexpr int32_t BOXES = 512;

template <typename T, int MODE>
class Iou {
public:
    __aicore__ inline void Init(GM_ADDR boxes, GM_ADDR gts, GM_ADDR out, uint32_t nBox, uint32_t nGt)
    {
        this->nBox = nBox;
        this->nGt = nGt;
        boxGm.SetGlobalBuffer((__gm__ T *)boxes, nBox * 4);
        gtGm.SetGlobalBuffer((__gm__ T *)gts, nGt * 4);
        outGm.SetGlobalBuffer((__gm__ T *)out, (uint64_t)nBox * nGt);
        pipe.InitBuffer(boxQ, 1, BOXES * 4 * sizeof(T));
        pipe.InitBuffer(outQ, 2, BOXES * sizeof(T));
        pipe.InitBuffer(coord, BOXES * 4 * sizeof(float));
        pipe.InitBuffer(split, BOXES * 4 * sizeof(float));
        pipe.InitBuffer(offs, BOXES * sizeof(uint32_t));
        pipe.InitBuffer(work, BOXES * 5 * sizeof(float));
        pipe.InitBuffer(maskBuf, BOXES / 8);
    }
    __aicore__ inline void Process()
    {
        uint32_t tiles = (nBox + BOXES - 1) / BOXES;
        for (uint32_t t = GetBlockIdx(); t < tiles; t += GetBlockNum()) {
            uint32_t n = nBox - t * BOXES > BOXES ? BOXES : nBox - t * BOXES;
            LoadBoxes(t * BOXES, n);
            for (uint32_t g = 0; g < nGt; ++g) {
                One(g, t * BOXES, n);
            }
        }
    }
private:
    __aicore__ inline void LoadBoxes(uint32_t first, uint32_t n)
    {
        LocalTensor<T> in = boxQ.template AllocTensor<T>();
        DataCopyExtParams p{1, (uint32_t)(n * 4 * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> pad{false, 0, 0, (T)0};
        DataCopyPad(in, boxGm[first * 4], p, pad);
        boxQ.EnQue(in);
        in = boxQ.template DeQue<T>();
        LocalTensor<float> c = coord.Get<float>();
        if constexpr (sizeof(T) == 2) {
            Cast(c, in, RoundMode::CAST_NONE, n * 4);
        } else {
            Adds(c, in, 0.0f, n * 4);
        }
        LocalTensor<int32_t> o = offs.Get<int32_t>();
        LocalTensor<float> s = split.Get<float>();
        for (int32_t k = 0; k < 4; ++k) {
            CreateVecIndex(o, 0, n);
            Muls(o, o, 16, n);
            Adds(o, o, k * 4, n);
            Gather(s[k * BOXES], c, o.ReinterpretCast<uint32_t>(), 0, n);
        }
        LocalTensor<float> area = work.Get<float>()[4 * BOXES];
        LocalTensor<float> h = work.Get<float>()[3 * BOXES];
        Sub(area, s[2 * BOXES], s, n);
        Sub(h, s[3 * BOXES], s[BOXES], n);
        Mul(area, area, h, n);
        boxQ.FreeTensor(in);
    }
    __aicore__ inline float At(uint32_t i)
    {
        if constexpr (sizeof(T) == 2) {
            return static_cast<float>(gtGm.GetValue(i));
        } else {
            return gtGm.GetValue(i);
        }
    }
    __aicore__ inline void One(uint32_t g, uint32_t first, uint32_t n)
    {
        float x1 = At(g * 4), y1 = At(g * 4 + 1), x2 = At(g * 4 + 2), y2 = At(g * 4 + 3);
        float areaG = (x2 - x1) * (y2 - y1);
        LocalTensor<float> s = split.Get<float>();
        LocalTensor<float> w = work.Get<float>();
        LocalTensor<float> a = w, b = w[BOXES], c = w[2 * BOXES], area = w[4 * BOXES];
        Mins(a, s[2 * BOXES], x2, n);
        Maxs(b, s, x1, n);
        Sub(a, a, b, n);
        Maxs(a, a, 0.0f, n);
        Mins(b, s[3 * BOXES], y2, n);
        Maxs(c, s[BOXES], y1, n);
        Sub(b, b, c, n);
        LocalTensor<uint8_t> mask = maskBuf.Get<uint8_t>();
        uint32_t aligned = (n + 63) / 64 * 64;
        CompareScalar(mask, b, 0.0f, CMPMODE::GT, aligned);
        Select(b, mask, b, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
        Mul(a, a, b, n);
        if constexpr (MODE == 0) {
            Adds(b, area, areaG, n);
            Sub(b, b, a, n);
        } else {
            Duplicate(b, areaG, n);
        }
        Maxs(b, b, 1e-10f, n);
        LocalTensor<T> o = outQ.template AllocTensor<T>();
        if constexpr (sizeof(T) == 2) {
            Div(a, a, b, n);
            Cast(o, a, RoundMode::CAST_RINT, n);
        } else {
            Div(o, a, b, n);
        }
        outQ.EnQue(o);
        o = outQ.template DeQue<T>();
        DataCopyExtParams p{1, (uint32_t)(n * sizeof(T)), 0, 0, 0};
        DataCopyPad(outGm[(uint64_t)g * nBox + first], o, p);
        outQ.FreeTensor(o);
    }
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> boxQ;
    TQue<QuePosition::VECOUT, 2> outQ;
    TBuf<QuePosition::VECCALC> coord, split, offs, work, maskBuf;
    GlobalTensor<T> boxGm, gtGm, outGm;
    uint32_t nBox, nGt;
};

extern "C" __global__ __aicore__ void iou_custom(GM_ADDR b, GM_ADDR g, GM_ADDR o, uint32_t nb, uint32_t ng, uint32_t key)
{
#define RUN(T, M)                 \
    {                             \
        Iou<T, M> op;             \
        op.Init(b, g, o, nb, ng); \
        op.Process();             \
    }
    if (key == 0) RUN(float, 0)
    else if (key == 1) RUN(float, 1)
    else if (key == 2) RUN(half, 0)
    else RUN(half, 1)
}
extern "C" void iou_custom_do(uint32_t blockDim, void *stream, uint8_t *b, uint8_t *g, uint8_t *o, uint32_t nb, uint32_t ng, uint32_t key)
{
    iou_custom<<<blockDim, nullptr, stream>>>(b, g, o, nb, ng, key);
}
