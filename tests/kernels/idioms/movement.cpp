// Operators that move data: gathers, scatters, transposes, strided copies, padding, scalar loops.
#include "common.h"

constexpr uint32_t WIDE = 1024;

// z[i] = x[y[i]]: whole rows, indices read as scalars.
extern "C" __global__ __aicore__ void gather_rows(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, WIDE * sizeof(float));
    GlobalTensor<float> xGm, zGm;
    GlobalTensor<int32_t> indices;
    xGm.SetGlobalBuffer((__gm__ float *)x, shape.rows * shape.columns);
    zGm.SetGlobalBuffer((__gm__ float *)z, shape.extra * shape.columns);
    indices.SetGlobalBuffer((__gm__ int32_t *)y, shape.extra);
    for (uint32_t i = GetBlockIdx(); i < shape.extra; i += GetBlockNum()) {
        const int32_t row = indices.GetValue(i);
        LocalTensor<float> t = queue.AllocTensor<float>();
        CopyIn(t, xGm[row * shape.columns], shape.columns);
        queue.EnQue(t);
        t = queue.DeQue<float>();
        CopyOut(zGm[i * shape.columns], t, shape.columns);
        queue.FreeTensor(t);
    }
}

// z[y[i]] += x[i]: rows that collide are added atomically.
extern "C" __global__ __aicore__ void scatter_add_rows(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, WIDE * sizeof(float));
    GlobalTensor<float> xGm, zGm;
    GlobalTensor<int32_t> indices;
    xGm.SetGlobalBuffer((__gm__ float *)x, shape.rows * shape.columns);
    zGm.SetGlobalBuffer((__gm__ float *)z, shape.extra * shape.columns);
    indices.SetGlobalBuffer((__gm__ int32_t *)y, shape.rows);
    for (uint32_t i = GetBlockIdx(); i < shape.rows; i += GetBlockNum()) {
        LocalTensor<float> t = queue.AllocTensor<float>();
        CopyIn(t, xGm[i * shape.columns], shape.columns);
        queue.EnQue(t);
        t = queue.DeQue<float>();
        SetAtomicAdd<float>();
        CopyOut(zGm[indices.GetValue(i) * shape.columns], t, shape.columns);
        SetAtomicNone();
        queue.FreeTensor(t);
    }
}

// Picks elements inside a tile by byte offsets.
extern "C" __global__ __aicore__ void gather_elements(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    const uint32_t n = shape.columns;
    TQue<QuePosition::VECIN, 1> inQueue, indexQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 1, n * sizeof(float));
    pipe.InitBuffer(indexQueue, 1, n * sizeof(int32_t));
    pipe.InitBuffer(outQueue, 1, n * sizeof(float));
    GlobalTensor<float> xGm, zGm;
    GlobalTensor<int32_t> yGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, n);
    yGm.SetGlobalBuffer((__gm__ int32_t *)y, n);
    zGm.SetGlobalBuffer((__gm__ float *)z, n);
    LocalTensor<float> in = inQueue.AllocTensor<float>();
    LocalTensor<int32_t> index = indexQueue.AllocTensor<int32_t>();
    CopyIn(in, xGm, n);
    CopyIn(index, yGm, n);
    inQueue.EnQue(in);
    indexQueue.EnQue(index);
    in = inQueue.DeQue<float>();
    index = indexQueue.DeQue<int32_t>();
    LocalTensor<float> out = outQueue.AllocTensor<float>();
    Muls(index, index, static_cast<int32_t>(sizeof(float)), n);
    Gather(out, in, index.ReinterpretCast<uint32_t>(), 0, n);
    inQueue.FreeTensor(in);
    indexQueue.FreeTensor(index);
    outQueue.EnQue(out);
    out = outQueue.DeQue<float>();
    CopyOut(zGm, out, n);
    outQueue.FreeTensor(out);
}

// A matrix of 16 x 16 halves at a time. Rows and columns: multiples of 16.
extern "C" __global__ __aicore__ void transpose_half(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 2, 512);
    pipe.InitBuffer(outQueue, 2, 512);
    GlobalTensor<half> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x, shape.rows * shape.columns);
    zGm.SetGlobalBuffer((__gm__ half *)z, shape.rows * shape.columns);
    const uint32_t across = shape.columns / 16, tiles = shape.rows / 16 * across;
    for (uint32_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {
        const uint32_t row = tile / across * 16, column = tile % across * 16;
        LocalTensor<half> in = inQueue.AllocTensor<half>();
        DataCopy(in, xGm[row * shape.columns + column], {16, 1, static_cast<uint16_t>(across - 1), 0});
        inQueue.EnQue(in);
        in = inQueue.DeQue<half>();
        LocalTensor<half> out = outQueue.AllocTensor<half>();
        Transpose(out, in);
        inQueue.FreeTensor(in);
        outQueue.EnQue(out);
        out = outQueue.DeQue<half>();
        DataCopy(zGm[column * shape.rows + row], out, {16, 1, 0, static_cast<uint16_t>(shape.rows / 16 - 1)});
        outQueue.FreeTensor(out);
    }
}

// x and y beside each other, rows of any length: strided stores in bytes.
extern "C" __global__ __aicore__ void concat_columns(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, 16 * 1024);
    const uint32_t left = shape.columns, right = shape.extra, whole = left + right;
    GlobalTensor<half> gm[2], zGm;
    gm[0].SetGlobalBuffer((__gm__ half *)x, shape.rows * left);
    gm[1].SetGlobalBuffer((__gm__ half *)y, shape.rows * right);
    zGm.SetGlobalBuffer((__gm__ half *)z, shape.rows * whole);
    for (uint32_t part = 0; part < 2; ++part) {
        const uint32_t width = part == 0 ? left : right;
        LocalTensor<half> t = queue.AllocTensor<half>();
        DataCopyExtParams in{static_cast<uint16_t>(shape.rows), static_cast<uint32_t>(width * sizeof(half)), 0, 0, 0};
        DataCopyPadExtParams<half> pad{false, 0, 0, static_cast<half>(0)};
        DataCopyPad(t, gm[part], in, pad);
        queue.EnQue(t);
        t = queue.DeQue<half>();
        DataCopyExtParams out = in;
        out.dstStride = static_cast<uint32_t>((whole - width) * sizeof(half));
        DataCopyPad(zGm[part * left], t, out);
        queue.FreeTensor(t);
    }
}

// Every second block of 8 floats.
extern "C" __global__ __aicore__ void slice_blocks(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    const uint32_t blocks = shape.columns / 16;
    pipe.InitBuffer(queue, 1, blocks * 32);
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, shape.columns);
    zGm.SetGlobalBuffer((__gm__ float *)z, blocks * 8);
    LocalTensor<float> t = queue.AllocTensor<float>();
    DataCopyParams params{static_cast<uint16_t>(blocks), 1, 1, 0};
    DataCopy(t, xGm, params);
    queue.EnQue(t);
    t = queue.DeQue<float>();
    DataCopy(zGm, t, blocks * 8);
    queue.FreeTensor(t);
}

// Even and odd elements apart, by the fixed patterns of GatherMask. Columns: a multiple of 64.
extern "C" __global__ __aicore__ void deinterleave(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    const uint32_t n = shape.columns;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 1, n * sizeof(float));
    pipe.InitBuffer(outQueue, 1, n * sizeof(float));
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, n);
    zGm.SetGlobalBuffer((__gm__ float *)z, n);
    LocalTensor<float> in = inQueue.AllocTensor<float>();
    DataCopy(in, xGm, n);
    inQueue.EnQue(in);
    in = inQueue.DeQue<float>();
    LocalTensor<float> out = outQueue.AllocTensor<float>();
    uint64_t even = 0, odd = 0;
    GatherMaskParams params{1, static_cast<uint16_t>(n / 64), 8, 0};
    GatherMask(out, in, 1, false, 0, params, even);
    GatherMask(out[n / 2], in, 2, false, 0, params, odd);
    inQueue.FreeTensor(in);
    outQueue.EnQue(out);
    out = outQueue.DeQue<float>();
    DataCopy(zGm, out, n);
    outQueue.FreeTensor(out);
}

// Rows backwards, scalar by scalar.
extern "C" __global__ __aicore__ void reverse_row(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    const uint32_t n = shape.columns;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 2, WIDE * sizeof(int32_t));
    pipe.InitBuffer(outQueue, 2, WIDE * sizeof(int32_t));
    GlobalTensor<int32_t> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ int32_t *)x, shape.rows * n);
    zGm.SetGlobalBuffer((__gm__ int32_t *)z, shape.rows * n);
    for (uint32_t row = GetBlockIdx(); row < shape.rows; row += GetBlockNum()) {
        LocalTensor<int32_t> in = inQueue.AllocTensor<int32_t>();
        CopyIn(in, xGm[row * n], n);
        inQueue.EnQue(in);
        in = inQueue.DeQue<int32_t>();
        LocalTensor<int32_t> out = outQueue.AllocTensor<int32_t>();
        Wait<HardEvent::MTE2_S>();
        for (uint32_t i = 0; i < n; ++i) out.SetValue(n - 1 - i, in.GetValue(i));
        Wait<HardEvent::S_MTE3>();
        inQueue.FreeTensor(in);
        outQueue.EnQue(out);
        out = outQueue.DeQue<int32_t>();
        CopyOut(zGm[row * n], out, n);
        outQueue.FreeTensor(out);
    }
}

// One row of zeros with a one for each label.
extern "C" __global__ __aicore__ void one_hot(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(outQueue, 2, WIDE * sizeof(float));
    GlobalTensor<int32_t> labels;
    GlobalTensor<float> zGm;
    labels.SetGlobalBuffer((__gm__ int32_t *)x, shape.rows);
    zGm.SetGlobalBuffer((__gm__ float *)z, shape.rows * shape.columns);
    for (uint32_t row = GetBlockIdx(); row < shape.rows; row += GetBlockNum()) {
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        Duplicate(out, 0.0f, shape.columns);
        Wait<HardEvent::V_S>();
        out.SetValue(labels.GetValue(row), 1.0f);
        Wait<HardEvent::S_MTE3>();
        outQueue.EnQue(out);
        out = outQueue.DeQue<float>();
        CopyOut(zGm[row * shape.columns], out, shape.columns);
        outQueue.FreeTensor(out);
    }
}

// first + step * i, a tile at a time.
extern "C" __global__ __aicore__ void arange(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(outQueue, 2, WIDE * sizeof(int32_t));
    GlobalTensor<int32_t> zGm;
    zGm.SetGlobalBuffer((__gm__ int32_t *)z, shape.columns);
    for (uint32_t at = GetBlockIdx() * WIDE; at < shape.columns; at += GetBlockNum() * WIDE) {
        const uint32_t count = shape.columns - at < WIDE ? shape.columns - at : WIDE;
        LocalTensor<int32_t> out = outQueue.AllocTensor<int32_t>();
        CreateVecIndex(out, static_cast<int32_t>(at), count);
        Muls(out, out, static_cast<int32_t>(shape.extra), count);
        outQueue.EnQue(out);
        out = outQueue.DeQue<int32_t>();
        CopyOut(zGm[at], out, count);
        outQueue.FreeTensor(out);
    }
}

// Each row with a column of `scalar` left and right: padding on the way in. Columns + 2 <= 8.
extern "C" __global__ __aicore__ void pad_rows(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, shape.rows * 32);
    const uint32_t whole = shape.columns + 2;
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, shape.rows * shape.columns);
    zGm.SetGlobalBuffer((__gm__ float *)z, shape.rows * whole);
    LocalTensor<float> t = queue.AllocTensor<float>();
    DataCopyExtParams in{static_cast<uint16_t>(shape.rows), static_cast<uint32_t>(shape.columns * sizeof(float)), 0, 0, 0};
    DataCopyPadExtParams<float> pad{true, 1, 1, shape.scalar};
    DataCopyPad(t, xGm, in, pad);
    queue.EnQue(t);
    t = queue.DeQue<float>();
    DataCopyExtParams out{static_cast<uint16_t>(shape.rows), static_cast<uint32_t>(whole * sizeof(float)), 0, 0, 0};
    DataCopyPad(zGm, t, out);
    queue.FreeTensor(t);
}

// Running sums down the columns: whole rows are added.
extern "C" __global__ __aicore__ void cumsum_columns(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> sums;
    pipe.InitBuffer(inQueue, 2, WIDE * sizeof(float));
    pipe.InitBuffer(outQueue, 2, WIDE * sizeof(float));
    pipe.InitBuffer(sums, WIDE * sizeof(float));
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, shape.rows * shape.columns);
    zGm.SetGlobalBuffer((__gm__ float *)z, shape.rows * shape.columns);
    LocalTensor<float> sum = sums.Get<float>();
    Duplicate(sum, 0.0f, shape.columns);
    for (uint32_t row = 0; row < shape.rows; ++row) {
        LocalTensor<float> in = inQueue.AllocTensor<float>();
        CopyIn(in, xGm[row * shape.columns], shape.columns);
        inQueue.EnQue(in);
        in = inQueue.DeQue<float>();
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        Add(sum, sum, in, shape.columns);
        PipeBarrier<PIPE_V>();
        DataCopy(out, sum, RoundUp(shape.columns, 8));
        inQueue.FreeTensor(in);
        outQueue.EnQue(out);
        out = outQueue.DeQue<float>();
        CopyOut(zGm[row * shape.columns], out, shape.columns);
        outQueue.FreeTensor(out);
    }
}

extern "C" void movement_do(int32_t which, uint32_t blockDim, void *stream, KERNEL_ARGUMENTS)
{
    switch (which) {
        case 0: gather_rows<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 1: scatter_add_rows<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 2: gather_elements<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 3: transpose_half<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 4: concat_columns<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 5: slice_blocks<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 6: deinterleave<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 7: reverse_row<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 8: one_hot<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 9: arange<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 10: pad_rows<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 11: cumsum_columns<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
    }
}
