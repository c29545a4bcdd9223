#include "kernel_operator.h"
using namespace AscendC;

struct ArgmaxTiling {
    int32_t rows;
    int32_t cols;
    int32_t tile;
};

template <typename T>
class KernelArgmax {
public:
    __aicore__ inline KernelArgmax() = default;
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR out, ArgmaxTiling t)
    {
        tl = t;
        int32_t blk = GetBlockIdx(), num = GetBlockNum();
        int32_t base = tl.rows / num, extra = tl.rows % num;
        myRows = base + (blk < extra ? 1 : 0);
        startRow = blk * base + (blk < extra ? blk : extra);
        xGm.SetGlobalBuffer((__gm__ T*)x);
        oGm.SetGlobalBuffer((__gm__ int64_t*)out);
        pipe.InitBuffer(inQueue, 2, tl.tile * sizeof(T));
        pipe.InitBuffer(outQueue, 1, ((myRows * sizeof(int64_t) + 31) / 32 + 1) * 32);
        pipe.InitBuffer(wBuf, tl.tile * sizeof(float));
        pipe.InitBuffer(fBuf, tl.tile * sizeof(float));
        pipe.InitBuffer(rBuf, 64);
    }
    __aicore__ inline void Process()
    {
        if (myRows == 0) return;
        LocalTensor<int64_t> o = outQueue.AllocTensor<int64_t>();
        for (int32_t r = 0; r < myRows; ++r) {
            o.SetValue(r, OneRow(startRow + r));
        }
        outQueue.EnQue(o);
        o = outQueue.DeQue<int64_t>();
        DataCopyExtParams p{1, static_cast<uint32_t>(myRows * sizeof(int64_t)), 0, 0, 0};
        DataCopyPad(oGm[startRow], o, p);
        outQueue.FreeTensor(o);
    }
private:
    __aicore__ inline int64_t OneRow(int32_t row)
    {
        float best = -3.4e38f;
        int64_t at = 0;
        LocalTensor<float> r = rBuf.Get<float>();
        for (int32_t off = 0; off < tl.cols; off += tl.tile) {
            int32_t n = min(tl.tile, tl.cols - off);
            LocalTensor<T> in = inQueue.AllocTensor<T>();
            DataCopyExtParams p{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
            DataCopyPadExtParams<T> pad{true, 0, 0, 0};
            DataCopyPad(in, xGm[static_cast<int64_t>(row) * tl.cols + off], p, pad);
            inQueue.EnQue(in);
            in = inQueue.DeQue<T>();
            if constexpr (IsSameType<T, half>::value) {
                Cast(fBuf.Get<float>(), in, RoundMode::CAST_NONE, n);
                ReduceMax<float>(r, fBuf.Get<float>(), wBuf.Get<float>(), n, true);
            } else {
                ReduceMax<float>(r, in, wBuf.Get<float>(), n, true);
            }
            float v = r.GetValue(0);
            float idx = r.GetValue(1);
            uint32_t i = *reinterpret_cast<uint32_t*>(&idx);
            if (v > best) {
                best = v;
                at = off + i;
            }
            inQueue.FreeTensor(in);
        }
        return at;
    }
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    TBuf<QuePosition::VECCALC> wBuf, fBuf, rBuf;
    GlobalTensor<T> xGm;
    GlobalTensor<int64_t> oGm;
    ArgmaxTiling tl;
    int32_t myRows, startRow;
};

extern "C" __global__ __aicore__ void argmax_f32(GM_ADDR x, GM_ADDR out, ArgmaxTiling t)
{
    KernelArgmax<float> op;
    op.Init(x, out, t);
    op.Process();
}
extern "C" __global__ __aicore__ void argmax_f16(GM_ADDR x, GM_ADDR out, ArgmaxTiling t)
{
    KernelArgmax<half> op;
    op.Init(x, out, t);
    op.Process();
}
#ifndef ASCENDC_CPU_DEBUG
extern "C" void argmax_do(uint32_t blockDim, void* l2ctrl, void* stream, uint8_t* x, uint8_t* out, int32_t rows, int32_t cols, int32_t tile, bool isHalf)
{
    ArgmaxTiling t{rows, cols, tile};
    if (isHalf) {
        argmax_f16<<<blockDim, l2ctrl, stream>>>(x, out, t);
    } else {
        argmax_f32<<<blockDim, l2ctrl, stream>>>(x, out, t);
    }
}
#endif
