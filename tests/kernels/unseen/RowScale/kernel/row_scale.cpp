#include "kernel_operator.h"
using namespace AscendC;
struct RowScaleTiling { uint32_t rows, cols, colsAlign, tileRows, hasBias; };
class RowScaleOp {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR s, GM_ADDR b, GM_ADDR y, RowScaleTiling t)
    {
        this->t = t;
        xGm.SetGlobalBuffer((__gm__ float*)x);
        sGm.SetGlobalBuffer((__gm__ float*)s);
        bGm.SetGlobalBuffer((__gm__ float*)b);
        yGm.SetGlobalBuffer((__gm__ float*)y);
        pipe.InitBuffer(xq, 2, t.tileRows * t.colsAlign * sizeof(float));
        pipe.InitBuffer(yq, 2, t.tileRows * t.colsAlign * sizeof(float));
        pipe.InitBuffer(bq, 1, t.colsAlign * sizeof(float));
    }
    __aicore__ inline void Process()
    {
        if (t.hasBias) {
            LocalTensor<float> b = bq.AllocTensor<float>();
            DataCopyPad(b, bGm, DataCopyExtParams{1, static_cast<uint32_t>(t.cols * sizeof(float)), 0, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0.0f});
            bq.EnQue(b);
            bias = bq.DeQue<float>();
        }
        uint32_t tiles = (t.rows + t.tileRows - 1) / t.tileRows;
        for (uint32_t i = GetBlockIdx(); i < tiles; i += GetBlockNum()) {
            uint32_t first = i * t.tileRows;
            uint32_t n = t.rows - first < t.tileRows ? t.rows - first : t.tileRows;
            In(first, n);
            Work(first, n);
            Out(first, n);
        }
        if (t.hasBias) {
            bq.FreeTensor(bias);
        }
    }
private:
    __aicore__ inline void In(uint32_t first, uint32_t n)
    {
        LocalTensor<float> x = xq.AllocTensor<float>();
        DataCopyExtParams p{static_cast<uint16_t>(n), static_cast<uint32_t>(t.cols * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pp{true, 0, static_cast<uint8_t>(t.colsAlign - t.cols), 0.0f};
        DataCopyPad(x, xGm[first * t.cols], p, pp);
        xq.EnQue(x);
    }
    __aicore__ inline void Work(uint32_t first, uint32_t n)
    {
        LocalTensor<float> x = xq.DeQue<float>();
        LocalTensor<float> y = yq.AllocTensor<float>();
        for (uint32_t r = 0; r < n; ++r) {
            float s = sGm.GetValue(first + r);
            Muls(y[r * t.colsAlign], x[r * t.colsAlign], s, t.colsAlign);
            PipeBarrier<PIPE_V>();
            if (t.hasBias) {
                Add(y[r * t.colsAlign], y[r * t.colsAlign], bias, t.colsAlign);
            }
        }
        PipeBarrier<PIPE_V>();
        uint32_t all = n * t.colsAlign;
        uint32_t repeats = all / 64, rest = all % 64;
        UnaryRepeatParams u{1, 1, 8, 8};
        if (repeats > 0) {
            Relu(y, y, 64, static_cast<uint8_t>(repeats), u);
            Mins(y, y, 6.0f, 64, static_cast<uint8_t>(repeats), u);
        }
        if (rest > 0) {
            Relu(y[repeats * 64], y[repeats * 64], rest, 1, u);
            Mins(y[repeats * 64], y[repeats * 64], 6.0f, rest, 1, u);
        }
        yq.EnQue(y);
        xq.FreeTensor(x);
    }
    __aicore__ inline void Out(uint32_t first, uint32_t n)
    {
        LocalTensor<float> y = yq.DeQue<float>();
        DataCopyExtParams p{static_cast<uint16_t>(n), static_cast<uint32_t>(t.cols * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGm[first * t.cols], y, p);
        yq.FreeTensor(y);
    }
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> xq;
    TQue<QuePosition::VECOUT, 2> yq;
    TQue<QuePosition::VECIN, 1> bq;
    LocalTensor<float> bias;
    GlobalTensor<float> xGm, sGm, bGm, yGm;
    RowScaleTiling t;
};
extern "C" __global__ __aicore__ void row_scale_kernel(GM_ADDR x, GM_ADDR s, GM_ADDR b, GM_ADDR y, RowScaleTiling t)
{
    RowScaleOp op;
    op.Init(x, s, b, y, t);
    op.Process();
}
extern "C" void row_scale_do(uint32_t n, void* st, uint8_t* x, uint8_t* s, uint8_t* b, uint8_t* y, uint32_t rows, uint32_t cols, uint32_t hasBias)
{
    uint32_t align = (cols + 7) / 8 * 8;
    uint32_t tileRows = 1024 / align < 1 ? 1 : 1024 / align;
    if (tileRows > 32) tileRows = 32;
    row_scale_kernel<<<n, nullptr, st>>>(x, s, b, y, RowScaleTiling{rows, cols, align, tileRows, hasBias});
}
