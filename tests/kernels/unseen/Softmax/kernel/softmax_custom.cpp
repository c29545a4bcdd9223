#include "kernel_operator.h"
#include "softmax_tiling.h"
using namespace AscendC;
constexpr int32_t BUFFER_NUM = 2;

template <typename T> class SoftmaxKernel {
public:
    __aicore__ inline SoftmaxKernel(TPipe* p) : pipe(p) {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const SoftmaxTilingData* __restrict t)
    {
        cols = t->cols;
        colsAlign = t->colsAlign;
        uint32_t start = GetBlockIdx() * t->rowsPerCore;
        rows = start >= t->rows ? 0 : (t->rows - start < t->rowsPerCore ? t->rows - start : t->rowsPerCore);
        xGm.SetGlobalBuffer((__gm__ T*)x + (uint64_t)start * cols, (uint64_t)rows * cols);
        yGm.SetGlobalBuffer((__gm__ T*)y + (uint64_t)start * cols, (uint64_t)rows * cols);
        pipe->InitBuffer(inQ, BUFFER_NUM, colsAlign * sizeof(T));
        pipe->InitBuffer(outQ, BUFFER_NUM, colsAlign * sizeof(T));
        pipe->InitBuffer(fBuf, colsAlign * sizeof(float));
        pipe->InitBuffer(workBuf, colsAlign * sizeof(float));
        pipe->InitBuffer(redBuf, 32);
    }
    __aicore__ inline void Process()
    {
        for (uint32_t i = 0; i < rows; i++) {
            CopyIn(i);
            Compute();
            CopyOut(i);
        }
    }
private:
    __aicore__ inline void CopyIn(uint32_t i)
    {
        LocalTensor<T> xLocal = inQ.template AllocTensor<T>();
        DataCopyExtParams cp{1, (uint32_t)(cols * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> pp{false, 0, 0, (T)0};
        DataCopyPad(xLocal, xGm[(uint64_t)i * cols], cp, pp);
        inQ.EnQue(xLocal);
    }
    __aicore__ inline void Compute()
    {
        LocalTensor<T> xLocal = inQ.template DeQue<T>();
        LocalTensor<T> yLocal = outQ.template AllocTensor<T>();
        LocalTensor<float> f = fBuf.Get<float>();
        LocalTensor<float> work = workBuf.Get<float>();
        LocalTensor<float> red = redBuf.Get<float>();
        if constexpr (sizeof(T) == 4) {
            DataCopy(f, xLocal, colsAlign);
        } else {
            Cast(f, xLocal, RoundMode::CAST_NONE, cols);
        }
        PipeBarrier<PIPE_V>();
        ReduceMax(red, f, work, cols, false);
        float m = red.GetValue(0);
        Adds(f, f, -m, cols);
        Exp(f, f, cols);
        ReduceSum(red, f, work, cols);
        float s = red.GetValue(0);
        Muls(f, f, 1.0f / s, cols);
        if constexpr (sizeof(T) == 4) {
            DataCopy(yLocal, f, colsAlign);
        } else {
            Cast(yLocal, f, RoundMode::CAST_RINT, cols);
        }
        outQ.template EnQue<T>(yLocal);
        inQ.FreeTensor(xLocal);
    }
    __aicore__ inline void CopyOut(uint32_t i)
    {
        LocalTensor<T> yLocal = outQ.template DeQue<T>();
        DataCopyExtParams cp{1, (uint32_t)(cols * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[(uint64_t)i * cols], yLocal, cp);
        outQ.FreeTensor(yLocal);
    }
    TPipe* pipe;
    TQue<QuePosition::VECIN, BUFFER_NUM> inQ;
    TQue<QuePosition::VECOUT, BUFFER_NUM> outQ;
    TBuf<TPosition::VECCALC> fBuf, workBuf, redBuf;
    GlobalTensor<T> xGm, yGm;
    uint32_t rows, cols, colsAlign;
};

extern "C" __global__ __aicore__ void softmax_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    SoftmaxTilingData td;
    auto* src = reinterpret_cast<__gm__ uint32_t*>(tiling);
    auto* dst = reinterpret_cast<uint32_t*>(&td);
    for (size_t i = 0; i < sizeof(SoftmaxTilingData) / sizeof(uint32_t); ++i) {
        dst[i] = src[i];
    }
    TPipe pipe;
    if (td.dtype == 0) {
        SoftmaxKernel<float> op(&pipe);
        op.Init(x, y, &td);
        op.Process();
    } else {
        SoftmaxKernel<half> op(&pipe);
        op.Init(x, y, &td);
        op.Process();
    }
}

extern "C" void softmax_custom_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* y, uint8_t* ws, uint8_t* tiling)
{
    softmax_custom<<<blockDim, nullptr, stream>>>(x, y, ws, tiling);
}
