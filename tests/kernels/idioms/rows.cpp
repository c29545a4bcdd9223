// Operators along rows: reductions, softmax, norms. Rows are dealt out to the cores; a row fits a tile.
#include "common.h"

constexpr uint32_t MOST = 1024;
constexpr uint32_t REPEAT = 64;  // floats

// Rows in, `width` results of each row out. The body gets the row, the output and the row's number.
template <class T, class Body> __aicore__ inline void EachRow(TPipe &pipe, GM_ADDR x, GM_ADDR z, const Shape &shape, uint32_t width, Body body)
{
    GlobalTensor<T> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ T *)x, shape.rows * shape.columns);
    zGm.SetGlobalBuffer((__gm__ T *)z, shape.rows * width);
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 2, MOST * sizeof(T));
    pipe.InitBuffer(outQueue, 2, MOST * sizeof(T));
    for (uint32_t row = GetBlockIdx(); row < shape.rows; row += GetBlockNum()) {
        LocalTensor<T> in = inQueue.AllocTensor<T>();
        CopyIn(in, xGm[row * shape.columns], shape.columns);
        inQueue.EnQue(in);
        in = inQueue.DeQue<T>();
        LocalTensor<T> out = outQueue.AllocTensor<T>();
        body(out, in, row);
        inQueue.FreeTensor(in);
        outQueue.EnQue(out);
        out = outQueue.DeQue<T>();
        CopyOut(zGm[row * width], out, width);
        outQueue.FreeTensor(out);
    }
}

extern "C" __global__ __aicore__ void row_sum(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> work;
    pipe.InitBuffer(work, MOST * sizeof(float));
    EachRow<float>(pipe, x, z, shape, 1, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t) {
        ReduceSum(out, in, work.Get<float>(), shape.columns);
    });
}

// The maximum and where it is, as two floats.
extern "C" __global__ __aicore__ void row_argmax(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> work, best;
    pipe.InitBuffer(work, MOST * sizeof(float));
    pipe.InitBuffer(best, 32);
    EachRow<float>(pipe, x, z, shape, 2, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t) {
        LocalTensor<float> found = best.Get<float>();
        ReduceMax(found, in, work.Get<float>(), shape.columns, true);
        Wait<HardEvent::V_S>();
        const uint32_t index = found.ReinterpretCast<uint32_t>().GetValue(1);
        const float value = found.GetValue(0);
        out.SetValue(0, value);
        out.SetValue(1, static_cast<float>(index));
        Wait<HardEvent::S_MTE3>();
    });
}

// Rows of 64 floats, all in one call.
extern "C" __global__ __aicore__ void whole_reduce(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 1, shape.rows * REPEAT * sizeof(float));
    const uint32_t padded = RoundUp(shape.rows, 8);
    pipe.InitBuffer(outQueue, 1, 3 * padded * sizeof(float));
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, shape.rows * REPEAT);
    zGm.SetGlobalBuffer((__gm__ float *)z, 3 * shape.rows);
    LocalTensor<float> in = inQueue.AllocTensor<float>();
    DataCopy(in, xGm, shape.rows * REPEAT);
    inQueue.EnQue(in);
    in = inQueue.DeQue<float>();
    LocalTensor<float> out = outQueue.AllocTensor<float>();
    WholeReduceSum(out, in, REPEAT, shape.rows, 1, 1, 8);
    WholeReduceMax(out[padded], in, REPEAT, shape.rows, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
    WholeReduceMin(out[2 * padded], in, REPEAT, shape.rows, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
    inQueue.FreeTensor(in);
    outQueue.EnQue(out);
    out = outQueue.DeQue<float>();
    DataCopyExtParams params{3, static_cast<uint32_t>(shape.rows * sizeof(float)), 0, 0, 0};
    DataCopyPad(zGm, out, params);
    outQueue.FreeTensor(out);
}

// 512 floats to one in three steps of eight. Columns: 512.
extern "C" __global__ __aicore__ void block_tree(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> first, second;
    pipe.InitBuffer(first, 64 * sizeof(float));
    pipe.InitBuffer(second, 64 * sizeof(float));
    EachRow<float>(pipe, x, z, shape, 1, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t) {
        LocalTensor<float> a = first.Get<float>(), b = second.Get<float>();
        BlockReduceSum(a, in, 8, 64, 1, 1, 8);
        BlockReduceSum(b, a, 1, 64, 1, 1, 8);
        BlockReduceSum(out, b, 1, 8, 1, 1, 8);
    });
}

extern "C" __global__ __aicore__ void softmax(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> work, single;
    pipe.InitBuffer(work, MOST * sizeof(float));
    pipe.InitBuffer(single, 32);
    EachRow<float>(pipe, x, z, shape, shape.columns, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t) {
        LocalTensor<float> one = single.Get<float>();
        ReduceMax(one, in, work.Get<float>(), shape.columns);
        Wait<HardEvent::V_S>();
        const float highest = one.GetValue(0);
        Wait<HardEvent::S_V>();
        Adds(out, in, -highest, shape.columns);
        Exp(out, out, shape.columns);
        ReduceSum(one, out, work.Get<float>(), shape.columns);
        Wait<HardEvent::V_S>();
        const float factor = 1.0f / one.GetValue(0);
        Wait<HardEvent::S_V>();
        Muls(out, out, factor, shape.columns);
    });
}

extern "C" __global__ __aicore__ void log_softmax_half(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> work, wideBuffer, single;
    pipe.InitBuffer(work, MOST * sizeof(float));
    pipe.InitBuffer(wideBuffer, MOST * sizeof(float));
    pipe.InitBuffer(single, 64);
    EachRow<half>(pipe, x, z, shape, shape.columns, [&](LocalTensor<half> out, LocalTensor<half> in, uint32_t) {
        LocalTensor<float> wide = wideBuffer.Get<float>(), t = work.Get<float>(), one = single.Get<float>();
        Cast(wide, in, RoundMode::CAST_NONE, shape.columns);
        ReduceMax(one, wide, t, shape.columns);
        Wait<HardEvent::V_S>();
        const float highest = one.GetValue(0);
        Adds(wide, wide, -highest, shape.columns);
        Exp(t, wide, shape.columns);
        ReduceSum(one, t, t, shape.columns);
        Ln(one, one, 1);
        Wait<HardEvent::V_S>();
        const float sum = one.GetValue(0);
        Adds(wide, wide, -sum, shape.columns);
        Cast(out, wide, RoundMode::CAST_RINT, shape.columns);
    });
}

// y: gamma, then beta.
extern "C" __global__ __aicore__ void layer_norm(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    const uint32_t n = shape.columns, padded = RoundUp(n, 8);
    TBuf<TPosition::VECCALC> work, single;
    TQue<QuePosition::VECIN, 1> weights;
    pipe.InitBuffer(work, MOST * sizeof(float));
    pipe.InitBuffer(single, 32);
    pipe.InitBuffer(weights, 1, 2 * padded * sizeof(float));
    GlobalTensor<float> yGm;
    yGm.SetGlobalBuffer((__gm__ float *)y, 2 * n);
    LocalTensor<float> both = weights.AllocTensor<float>();
    DataCopyExtParams params{2, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
    DataCopyPad(both, yGm, params, pad);
    weights.EnQue(both);
    both = weights.DeQue<float>();
    EachRow<float>(pipe, x, z, shape, n, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t) {
        LocalTensor<float> t = work.Get<float>(), one = single.Get<float>();
        Muls(t, in, 1.0f / n, n);
        ReduceSum(one, t, t, n);
        Wait<HardEvent::V_S>();
        const float mean = one.GetValue(0);
        Wait<HardEvent::S_V>();
        Adds(out, in, -mean, n);
        Mul(t, out, out, n);
        Muls(t, t, 1.0f / n, n);
        ReduceSum(one, t, t, n);
        Adds(one, one, shape.scalar, 1);
        Rsqrt(one, one, 1);
        Wait<HardEvent::V_S>();
        const float scale = one.GetValue(0);
        Wait<HardEvent::S_V>();
        Muls(out, out, scale, n);
        Mul(out, out, both, n);
        Add(out, out, both[padded], n);
    });
    weights.FreeTensor(both);
}

extern "C" __global__ __aicore__ void rms_norm_half(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> wideBuffer, work, single;
    pipe.InitBuffer(wideBuffer, MOST * sizeof(float));
    pipe.InitBuffer(work, MOST * sizeof(float));
    pipe.InitBuffer(single, 32);
    EachRow<half>(pipe, x, z, shape, shape.columns, [&](LocalTensor<half> out, LocalTensor<half> in, uint32_t) {
        LocalTensor<float> wide = wideBuffer.Get<float>(), t = work.Get<float>(), one = single.Get<float>();
        Cast(wide, in, RoundMode::CAST_NONE, shape.columns);
        Mul(t, wide, wide, shape.columns);
        ReduceSum(one, t, t, shape.columns);
        Wait<HardEvent::V_S>();
        const float mean = one.GetValue(0) / static_cast<float>(shape.columns);
        one.SetValue(0, mean + shape.scalar);
        Wait<HardEvent::S_V>();
        Sqrt(one, one, 1);
        Reciprocal(one, one, 1);
        Wait<HardEvent::V_S>();
        Muls(wide, wide, one.GetValue(0), shape.columns);
        Cast(out, wide, RoundMode::CAST_RINT, shape.columns);
    });
}

// Each row's sum goes into one place of a tile, the tile out at once: eight rows a core.
extern "C" __global__ __aicore__ void row_sums_collected(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> work;
    pipe.InitBuffer(inQueue, 1, MOST * sizeof(float));
    pipe.InitBuffer(outQueue, 1, 32);
    pipe.InitBuffer(work, MOST * sizeof(float));
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, shape.rows * shape.columns);
    zGm.SetGlobalBuffer((__gm__ float *)z, shape.rows);
    for (uint32_t first = GetBlockIdx() * 8; first < shape.rows; first += GetBlockNum() * 8) {
        const uint32_t count = shape.rows - first < 8 ? shape.rows - first : 8;
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        for (uint32_t i = 0; i < count; ++i) {
            LocalTensor<float> in = inQueue.AllocTensor<float>();
            CopyIn(in, xGm[(first + i) * shape.columns], shape.columns);
            inQueue.EnQue(in);
            in = inQueue.DeQue<float>();
            LocalTensor<float> t = work.Get<float>();
            ReduceSum(t, in, t, shape.columns);
            Wait<HardEvent::V_S>();
            out.SetValue(i, t.GetValue(0));
            Wait<HardEvent::S_V>();
            inQueue.FreeTensor(in);
        }
        Wait<HardEvent::S_MTE3>();
        outQueue.EnQue(out);
        out = outQueue.DeQue<float>();
        CopyOut(zGm[first], out, count);
        outQueue.FreeTensor(out);
    }
}

// Scales each row by y: one factor a row, spread over a block of 8 by Brcb. Rows: a multiple of 8, columns: 64.
extern "C" __global__ __aicore__ void scale_rows(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    const uint32_t total = shape.rows * REPEAT;
    TQue<QuePosition::VECIN, 1> inQueue, factorQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> spread;
    pipe.InitBuffer(inQueue, 1, total * sizeof(float));
    pipe.InitBuffer(factorQueue, 1, shape.rows * sizeof(float));
    pipe.InitBuffer(outQueue, 1, total * sizeof(float));
    pipe.InitBuffer(spread, shape.rows * 32);
    GlobalTensor<float> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, total);
    yGm.SetGlobalBuffer((__gm__ float *)y, shape.rows);
    zGm.SetGlobalBuffer((__gm__ float *)z, total);
    LocalTensor<float> in = inQueue.AllocTensor<float>(), factors = factorQueue.AllocTensor<float>();
    DataCopy(in, xGm, total);
    DataCopy(factors, yGm, shape.rows);
    inQueue.EnQue(in);
    factorQueue.EnQue(factors);
    in = inQueue.DeQue<float>();
    factors = factorQueue.DeQue<float>();
    LocalTensor<float> wide = spread.Get<float>(), out = outQueue.AllocTensor<float>();
    Brcb(wide, factors, static_cast<uint8_t>(shape.rows / 8), {1, 8});
    const uint64_t mask = REPEAT;
    Mul(out, in, wide, mask, static_cast<uint8_t>(shape.rows), {1, 1, 0, 8, 8, 1});
    inQueue.FreeTensor(in);
    factorQueue.FreeTensor(factors);
    outQueue.EnQue(out);
    out = outQueue.DeQue<float>();
    DataCopy(zGm, out, total);
    outQueue.FreeTensor(out);
}

// Running sums along each row, one scalar after the other.
extern "C" __global__ __aicore__ void cumsum_scalar(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    EachRow<float>(pipe, x, z, shape, shape.columns, [&](LocalTensor<float> out, LocalTensor<float> in, uint32_t) {
        Wait<HardEvent::MTE2_S>();
        float sum = 0.0f;
        for (uint32_t i = 0; i < shape.columns; ++i) {
            sum += in.GetValue(i);
            out.SetValue(i, sum);
        }
        Wait<HardEvent::S_MTE3>();
    });
}

extern "C" void rows_do(int32_t which, uint32_t blockDim, void *stream, KERNEL_ARGUMENTS)
{
    switch (which) {
        case 0: row_sum<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 1: row_argmax<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 2: whole_reduce<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 3: block_tree<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 4: softmax<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 5: log_softmax_half<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 6: layer_norm<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 7: rms_norm_half<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 8: row_sums_collected<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 9: scale_rows<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 10: cumsum_scalar<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
    }
}
