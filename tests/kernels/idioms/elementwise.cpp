// Elementwise operators: queues with double buffering, tails, casts, masks, scratch buffers.
#include "common.h"

// z = x + y in any type; tiles are dealt out to the cores.
template <class T> class KernelAdd {
public:
    __aicore__ inline KernelAdd() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total)
    {
        perCore = RoundUp(CeilDiv(total, GetBlockNum()), 32 / sizeof(T));
        const uint32_t start = GetBlockIdx() * perCore;
        length = start >= total ? 0 : (total - start < perCore ? total - start : perCore);
        xGm.SetGlobalBuffer((__gm__ T *)x + start, length);
        yGm.SetGlobalBuffer((__gm__ T *)y + start, length);
        zGm.SetGlobalBuffer((__gm__ T *)z + start, length);
        pipe.InitBuffer(inX, BUFFERS, TILE * sizeof(T));
        pipe.InitBuffer(inY, BUFFERS, TILE * sizeof(T));
        pipe.InitBuffer(outZ, BUFFERS, TILE * sizeof(T));
    }
    __aicore__ inline void Process()
    {
        for (uint32_t at = 0; at < length; at += TILE) {
            const uint32_t count = length - at < TILE ? length - at : TILE;
            Load(at, count);
            Compute(count);
            Store(at, count);
        }
    }

private:
    __aicore__ inline void Load(uint32_t at, uint32_t count)
    {
        LocalTensor<T> a = inX.template AllocTensor<T>();
        LocalTensor<T> b = inY.template AllocTensor<T>();
        CopyIn(a, xGm[at], count);
        CopyIn(b, yGm[at], count);
        inX.EnQue(a);
        inY.EnQue(b);
    }
    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> a = inX.template DeQue<T>();
        LocalTensor<T> b = inY.template DeQue<T>();
        LocalTensor<T> c = outZ.template AllocTensor<T>();
        Add(c, a, b, count);
        outZ.template EnQue<T>(c);
        inX.FreeTensor(a);
        inY.FreeTensor(b);
    }
    __aicore__ inline void Store(uint32_t at, uint32_t count)
    {
        LocalTensor<T> c = outZ.template DeQue<T>();
        CopyOut(zGm[at], c, count);
        outZ.FreeTensor(c);
    }
    static constexpr uint32_t TILE = 512;
    static constexpr int32_t BUFFERS = 2;
    TPipe pipe;
    TQue<QuePosition::VECIN, BUFFERS> inX, inY;
    TQue<QuePosition::VECOUT, BUFFERS> outZ;
    GlobalTensor<T> xGm, yGm, zGm;
    uint32_t perCore, length;
};
template <class T> __aicore__ inline void RunAdd(KERNEL_ARGUMENTS)
{
    KernelAdd<T> op;
    op.Init(x, y, z, shape.rows * shape.columns);
    op.Process();
}
extern "C" __global__ __aicore__ void add_float(KERNEL_ARGUMENTS) { RunAdd<float>(LAUNCH_ARGUMENTS); }
extern "C" __global__ __aicore__ void add_half(KERNEL_ARGUMENTS) { RunAdd<half>(LAUNCH_ARGUMENTS); }
extern "C" __global__ __aicore__ void add_int32(KERNEL_ARGUMENTS) { RunAdd<int32_t>(LAUNCH_ARGUMENTS); }
extern "C" __global__ __aicore__ void add_int16(KERNEL_ARGUMENTS) { RunAdd<int16_t>(LAUNCH_ARGUMENTS); }

// One input, one output, float, whole tiles of at most TILE elements; the body computes a tile.
constexpr uint32_t TILE = 1024;
template <class From, class To, class Body> __aicore__ inline void EachTile(TPipe &pipe, GM_ADDR x, GM_ADDR z, uint32_t total, Body body)
{
    GlobalTensor<From> xGm;
    GlobalTensor<To> zGm;
    xGm.SetGlobalBuffer((__gm__ From *)x, total);
    zGm.SetGlobalBuffer((__gm__ To *)z, total);
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 2, TILE * sizeof(From));
    pipe.InitBuffer(outQueue, 2, TILE * sizeof(To));
    for (uint32_t at = GetBlockIdx() * TILE; at < total; at += GetBlockNum() * TILE) {
        const uint32_t count = total - at < TILE ? total - at : TILE;
        LocalTensor<From> in = inQueue.AllocTensor<From>();
        CopyIn(in, xGm[at], count);
        inQueue.EnQue(in);
        in = inQueue.DeQue<From>();
        LocalTensor<To> out = outQueue.AllocTensor<To>();
        body(out, in, count);
        inQueue.FreeTensor(in);
        outQueue.EnQue(out);
        out = outQueue.DeQue<To>();
        CopyOut(zGm[at], out, count);
        outQueue.FreeTensor(out);
    }
}

// bfloat16 has no arithmetic: up to float, compute, down again.
extern "C" __global__ __aicore__ void scale_bfloat16(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> wide;
    pipe.InitBuffer(wide, TILE * sizeof(float));
    EachTile<bfloat16_t, bfloat16_t>(pipe, x, z, shape.rows * shape.columns,
                                     [&](LocalTensor<bfloat16_t> out, LocalTensor<bfloat16_t> in, uint32_t count) {
                                         LocalTensor<float> t = wide.Get<float>();
                                         Cast(t, in, RoundMode::CAST_NONE, count);
                                         Muls(t, t, shape.scalar, count);
                                         Cast(out, t, RoundMode::CAST_RINT, count);
                                     });
}

extern "C" __global__ __aicore__ void silu(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> scratch;
    pipe.InitBuffer(scratch, TILE * sizeof(float));
    EachTile<float, float>(pipe, x, z, shape.rows * shape.columns, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t count) {
        LocalTensor<float> t = scratch.Get<float>();
        Muls(t, in, -1.0f, count);
        Exp(t, t, count);
        Adds(t, t, 1.0f, count);
        Div(out, in, t, count);
    });
}

extern "C" __global__ __aicore__ void gelu_by_hand(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<> scratch;
    pipe.InitBuffer(scratch, TILE * sizeof(float));
    EachTile<float, float>(pipe, x, z, shape.rows * shape.columns, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t count) {
        LocalTensor<float> t = scratch.Get<float>();
        Mul(t, in, in, count);
        PipeBarrier<PIPE_V>();
        Mul(t, t, in, count);
        Muls(t, t, 0.044715f, count);
        Add(t, t, in, count);
        Muls(t, t, 0.7978845608f, count);
        Tanh(out, t, count);
        Adds(out, out, 1.0f, count);
        Mul(out, out, in, count);
        Muls(out, out, 0.5f, count);
    });
}

// float to int8 by way of half, clamped.
extern "C" __global__ __aicore__ void quantize(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> wide, narrow;
    pipe.InitBuffer(wide, TILE * sizeof(float));
    pipe.InitBuffer(narrow, TILE * sizeof(half));
    EachTile<float, int8_t>(pipe, x, z, shape.rows * shape.columns, [&](LocalTensor<int8_t> out, LocalTensor<float> in, uint32_t count) {
        LocalTensor<float> t = wide.Get<float>();
        LocalTensor<half> h = narrow.Get<half>();
        Muls(t, in, shape.scalar, count);
        Maxs(t, t, -128.0f, count);
        Mins(t, t, 127.0f, count);
        Cast(h, t, RoundMode::CAST_RINT, count);
        Cast(out, h, RoundMode::CAST_RINT, count);
    });
}

extern "C" __global__ __aicore__ void bits(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    EachTile<uint16_t, uint16_t>(pipe, x, z, shape.rows * shape.columns, [&](LocalTensor<uint16_t> out, LocalTensor<uint16_t> in, uint32_t count) {
        Not(out, in, count);
        And(out, out, in, count);
        Or(out, out, in, count);
    });
}

// Where x is above the scalar: x, else minus x. Compare takes whole repeats of 256 bytes.
extern "C" __global__ __aicore__ void flip_below(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> maskBuffer, minusBuffer;
    pipe.InitBuffer(maskBuffer, TILE / 8);
    pipe.InitBuffer(minusBuffer, TILE * sizeof(float));
    EachTile<float, float>(pipe, x, z, shape.rows * shape.columns, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t count) {
        LocalTensor<uint8_t> mask = maskBuffer.Get<uint8_t>();
        LocalTensor<float> minus = minusBuffer.Get<float>();
        const uint32_t whole = RoundUp(count, 64);
        // The last repeat holds lanes that nobody loaded.
        if (whole != count) {
            Adds(minus, in, 0.0f, count);
            Duplicate(in, 0.0f, whole);
            Adds(in, minus, 0.0f, count);
        }
        Muls(minus, in, -1.0f, whole);
        CompareScalar(mask, in, shape.scalar, CMPMODE::GT, whole);
        Select(out, mask, in, minus, SELMODE::VSEL_TENSOR_TENSOR_MODE, whole);
    });
}

// Doubles every other block of 8 floats: masks, repeats and strides. Columns: a multiple of 128.
extern "C" __global__ __aicore__ void double_even_blocks(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    EachTile<float, float>(pipe, x, z, shape.rows * shape.columns, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t count) {
        Adds(out, in, 0.0f, count);
        const uint64_t mask = 64;
        Add(out, in, in, mask, static_cast<uint8_t>(count / 128), {2, 2, 2, 16, 16, 16});
    });
}

// a * x + y in one rounding, in place of y.
extern "C" __global__ __aicore__ void axpy(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    const uint32_t total = shape.rows * shape.columns;
    GlobalTensor<float> yGm;
    yGm.SetGlobalBuffer((__gm__ float *)y, total);
    TQue<QuePosition::VECIN, 1> yQueue;
    pipe.InitBuffer(yQueue, 1, TILE * sizeof(float));
    uint32_t at = GetBlockIdx() * TILE;
    EachTile<float, float>(pipe, x, z, total, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t count) {
        LocalTensor<float> b = yQueue.AllocTensor<float>();
        CopyIn(b, yGm[at], count);
        yQueue.EnQue(b);
        b = yQueue.DeQue<float>();
        Adds(out, b, 0.0f, count);
        Axpy(out, in, shape.scalar, count);
        yQueue.FreeTensor(b);
        at += GetBlockNum() * TILE;
    });
}

// A queue that is filled by a copy and emptied by a copy: nothing is computed.
extern "C" __global__ __aicore__ void pass_through(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, TILE);
    const uint32_t total = shape.rows * shape.columns;
    GlobalTensor<int8_t> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ int8_t *)x, total);
    zGm.SetGlobalBuffer((__gm__ int8_t *)z, total);
    for (uint32_t at = GetBlockIdx() * TILE; at < total; at += GetBlockNum() * TILE) {
        const uint32_t count = total - at < TILE ? total - at : TILE;
        LocalTensor<int8_t> t = queue.AllocTensor<int8_t>();
        CopyIn(t, xGm[at], count);
        queue.EnQue(t);
        t = queue.DeQue<int8_t>();
        CopyOut(zGm[at], t, count);
        queue.FreeTensor(t);
    }
}

extern "C" void elementwise_do(int32_t which, uint32_t blockDim, void *stream, KERNEL_ARGUMENTS)
{
    switch (which) {
        case 0: add_float<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 1: add_half<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 2: add_int32<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 3: add_int16<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 4: scale_bfloat16<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 5: silu<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 6: gelu_by_hand<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 7: quantize<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 8: bits<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 9: flip_below<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 10: double_even_blocks<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 11: axpy<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 12: pass_through<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
    }
}
