// Operators that need more than one core, one pipe or one buffer at a time: barriers, atomics, flags, modes.
#include "common.h"

constexpr uint32_t PIECE = 256;

// The sum of all, in two phases: each core leaves its share in the workspace, after SyncAll the first adds them.
extern "C" __global__ __aicore__ void sum_two_phases(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TBuf<TPosition::VECCALC> work, shareBuffer;
    pipe.InitBuffer(inQueue, 2, PIECE * sizeof(float));
    pipe.InitBuffer(work, PIECE * sizeof(float));
    pipe.InitBuffer(shareBuffer, 32);
    const uint32_t total = shape.rows * shape.columns, cores = GetBlockNum(), self = GetBlockIdx();
    GlobalTensor<float> xGm, zGm, shares;
    xGm.SetGlobalBuffer((__gm__ float *)x, total);
    zGm.SetGlobalBuffer((__gm__ float *)z, 1);
    shares.SetGlobalBuffer((__gm__ float *)GetUserWorkspace(workspace), cores * 8);
    LocalTensor<float> share = shareBuffer.Get<float>(), t = work.Get<float>();
    Duplicate(share, 0.0f, 8);
    for (uint32_t at = self * PIECE; at < total; at += cores * PIECE) {
        const uint32_t count = total - at < PIECE ? total - at : PIECE;
        LocalTensor<float> in = inQueue.AllocTensor<float>();
        CopyIn(in, xGm[at], count);
        inQueue.EnQue(in);
        in = inQueue.DeQue<float>();
        ReduceSum(t, in, t, count);
        Add(share, share, t, 1);
        inQueue.FreeTensor(in);
    }
    Wait<HardEvent::V_MTE3>();
    DataCopy(shares[self * 8], share, 8);
    PipeBarrier<PIPE_ALL>();
    SyncAll();
    if (self == 0) {
        LocalTensor<float> all = inQueue.AllocTensor<float>();
        DataCopy(all, shares, cores * 8);
        inQueue.EnQue(all);
        all = inQueue.DeQue<float>();
        ReduceSum(share, all, t, cores * 8);
        inQueue.FreeTensor(all);
        Wait<HardEvent::V_MTE3>();
        CopyOut(zGm, share, 1);
    }
}

// The same with an atomic add of one float a core.
extern "C" __global__ __aicore__ void sum_atomic(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> work;
    pipe.InitBuffer(inQueue, 2, PIECE * sizeof(float));
    pipe.InitBuffer(outQueue, 1, 32);
    pipe.InitBuffer(work, PIECE * sizeof(float));
    const uint32_t total = shape.rows * shape.columns;
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, total);
    zGm.SetGlobalBuffer((__gm__ float *)z, 1);
    SetAtomicAdd<float>();
    for (uint32_t at = GetBlockIdx() * PIECE; at < total; at += GetBlockNum() * PIECE) {
        const uint32_t count = total - at < PIECE ? total - at : PIECE;
        LocalTensor<float> in = inQueue.AllocTensor<float>();
        CopyIn(in, xGm[at], count);
        inQueue.EnQue(in);
        in = inQueue.DeQue<float>();
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        ReduceSum(out, in, work.Get<float>(), count);
        inQueue.FreeTensor(in);
        outQueue.EnQue(out);
        out = outQueue.DeQue<float>();
        CopyOut(zGm, out, 1);
        outQueue.FreeTensor(out);
    }
    SetAtomicNone();
}

// The largest of all, for each of 8 columns, atomically.
extern "C" __global__ __aicore__ void max_atomic(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, 32);
    GlobalTensor<int32_t> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ int32_t *)x, shape.rows * 8);
    zGm.SetGlobalBuffer((__gm__ int32_t *)z, 8);
    for (uint32_t row = GetBlockIdx(); row < shape.rows; row += GetBlockNum()) {
        LocalTensor<int32_t> t = queue.AllocTensor<int32_t>();
        DataCopy(t, xGm[row * 8], 8);
        queue.EnQue(t);
        t = queue.DeQue<int32_t>();
        SetAtomicMax<int32_t>();
        DataCopy(zGm, t, 8);
        SetAtomicNone();
        queue.FreeTensor(t);
    }
}

// Each core hands its tile to the next, through the workspace.
extern "C" __global__ __aicore__ void ring(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, PIECE * sizeof(float));
    const uint32_t self = GetBlockIdx(), cores = GetBlockNum();
    GlobalTensor<float> gm[3];
    gm[0].SetGlobalBuffer((__gm__ float *)x, cores * PIECE);
    gm[1].SetGlobalBuffer((__gm__ float *)workspace, cores * PIECE);
    gm[2].SetGlobalBuffer((__gm__ float *)z, cores * PIECE);
    for (uint32_t step = 0; step < 2; ++step) {
        LocalTensor<float> t = queue.AllocTensor<float>();
        DataCopy(t, gm[step][(step == 0 ? self : (self + 1) % cores) * PIECE], PIECE);
        queue.EnQue(t);
        t = queue.DeQue<float>();
        DataCopy(gm[step + 1][self * PIECE], t, PIECE);
        queue.FreeTensor(t);
        if (step == 0) SyncAll();
    }
}

// Two raw buffers in turn, ordered by flags alone.
extern "C" __global__ __aicore__ void ping_pong(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> ping, pong;
    pipe.InitBuffer(ping, PIECE * sizeof(float));
    pipe.InitBuffer(pong, PIECE * sizeof(float));
    LocalTensor<float> tiles[2] = {ping.Get<float>(), pong.Get<float>()};
    const uint32_t total = shape.rows * shape.columns;
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, total);
    zGm.SetGlobalBuffer((__gm__ float *)z, total);
    SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
    SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID1);
    uint32_t turn = 0;
    for (uint32_t at = 0; at < total; at += PIECE, turn ^= 1) {
        const event_t id = turn == 0 ? EVENT_ID0 : EVENT_ID1;
        const uint32_t count = total - at < PIECE ? total - at : PIECE;
        WaitFlag<HardEvent::MTE3_MTE2>(id);
        CopyIn(tiles[turn], xGm[at], count);
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        Muls(tiles[turn], tiles[turn], shape.scalar, count);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        CopyOut(zGm[at], tiles[turn], count);
        SetFlag<HardEvent::MTE3_MTE2>(id);
    }
    WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID1);
}

// Counter mode: a count for the whole call, then back to masks.
extern "C" __global__ __aicore__ void counter_mode(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    const uint32_t n = shape.columns, padded = RoundUp(n, 8) * sizeof(float);
    pipe.InitBuffer(inQueue, 1, padded);
    pipe.InitBuffer(outQueue, 1, padded);
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, n);
    zGm.SetGlobalBuffer((__gm__ float *)z, n);
    LocalTensor<float> in = inQueue.AllocTensor<float>();
    CopyIn(in, xGm, n);
    inQueue.EnQue(in);
    in = inQueue.DeQue<float>();
    LocalTensor<float> out = outQueue.AllocTensor<float>();
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(n);
    Muls<float, false>(out, in, shape.scalar, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    Add<float, false>(out, out, in, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8});
    SetMaskNorm();
    ResetMask();
    inQueue.FreeTensor(in);
    outQueue.EnQue(out);
    out = outQueue.DeQue<float>();
    CopyOut(zGm, out, n);
    outQueue.FreeTensor(out);
}

// Two phases that share one part of the unified buffer.
extern "C" __global__ __aicore__ void shared_pool(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC> first, second;
    const uint32_t n = shape.columns, bytes = RoundUp(n, 8) * sizeof(float);
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, n);
    zGm.SetGlobalBuffer((__gm__ float *)z, n);
    pipe.InitBufPool(first, 2 * bytes);
    pipe.InitBufPool(second, 2 * bytes, first);
    for (uint32_t phase = 0; phase < 2; ++phase) {
        TBufPool<TPosition::VECCALC> &pool = phase == 0 ? first : second;
        TQue<QuePosition::VECIN, 1> inQueue;
        TQue<QuePosition::VECOUT, 1> outQueue;
        pool.InitBuffer(inQueue, 1, bytes);
        pool.InitBuffer(outQueue, 1, bytes);
        LocalTensor<float> in = inQueue.AllocTensor<float>();
        CopyIn(in, phase == 0 ? xGm : zGm, n);
        inQueue.EnQue(in);
        in = inQueue.DeQue<float>();
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        Adds(out, in, 1.0f, n);
        inQueue.FreeTensor(in);
        outQueue.EnQue(out);
        out = outQueue.DeQue<float>();
        CopyOut(zGm, out, n);
        outQueue.FreeTensor(out);
        PipeBarrier<PIPE_ALL>();
        pool.Reset();
    }
}

// How often each of 32 values comes: counted in a local tensor, added up atomically.
extern "C" __global__ __aicore__ void histogram(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> inQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 1, PIECE * sizeof(int32_t));
    pipe.InitBuffer(outQueue, 1, 32 * sizeof(int32_t));
    const uint32_t total = shape.columns;
    GlobalTensor<int32_t> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ int32_t *)x, total);
    zGm.SetGlobalBuffer((__gm__ int32_t *)z, 32);
    LocalTensor<int32_t> counts = outQueue.AllocTensor<int32_t>();
    Duplicate(counts, static_cast<int32_t>(0), 32);
    Wait<HardEvent::V_S>();
    for (uint32_t at = GetBlockIdx() * PIECE; at < total; at += GetBlockNum() * PIECE) {
        const uint32_t count = total - at < PIECE ? total - at : PIECE;
        LocalTensor<int32_t> in = inQueue.AllocTensor<int32_t>();
        CopyIn(in, xGm[at], count);
        inQueue.EnQue(in);
        in = inQueue.DeQue<int32_t>();
        Wait<HardEvent::MTE2_S>();
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t value = static_cast<uint32_t>(in.GetValue(i));
            counts.SetValue(value, counts.GetValue(value) + 1);
        }
        inQueue.FreeTensor(in);
    }
    Wait<HardEvent::S_MTE3>();
    outQueue.EnQue(counts);
    counts = outQueue.DeQue<int32_t>();
    SetAtomicAdd<int32_t>();
    DataCopy(zGm, counts, 32);
    SetAtomicNone();
    outQueue.FreeTensor(counts);
}

// Each core stores one number as a scalar, in a cache line of its own, and cleans the cache.
extern "C" __global__ __aicore__ void scalar_lines(KERNEL_ARGUMENTS)
{
    GlobalTensor<int32_t> zGm;
    zGm.SetGlobalBuffer((__gm__ int32_t *)z, GetBlockNum() * 16);
    zGm.SetValue(GetBlockIdx() * 16, static_cast<int32_t>(GetBlockIdx() * GetBlockIdx()));
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(zGm[GetBlockIdx() * 16]);
}

// z = x y without the cube: a row of z is a sum of scaled rows of y. extra: the inner size.
extern "C" __global__ __aicore__ void matmul_by_rows(KERNEL_ARGUMENTS)
{
    TPipe pipe;
    const uint32_t k = shape.extra, n = shape.columns;
    TQue<QuePosition::VECIN, 1> leftQueue, rightQueue;
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(leftQueue, 1, RoundUp(k, 8) * sizeof(float));
    pipe.InitBuffer(rightQueue, 2, RoundUp(n, 8) * sizeof(float));
    pipe.InitBuffer(outQueue, 1, RoundUp(n, 8) * sizeof(float));
    GlobalTensor<float> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, shape.rows * k);
    yGm.SetGlobalBuffer((__gm__ float *)y, k * n);
    zGm.SetGlobalBuffer((__gm__ float *)z, shape.rows * n);
    for (uint32_t row = GetBlockIdx(); row < shape.rows; row += GetBlockNum()) {
        LocalTensor<float> left = leftQueue.AllocTensor<float>();
        CopyIn(left, xGm[row * k], k);
        leftQueue.EnQue(left);
        left = leftQueue.DeQue<float>();
        LocalTensor<float> out = outQueue.AllocTensor<float>();
        Duplicate(out, 0.0f, n);
        Wait<HardEvent::MTE2_S>();
        for (uint32_t i = 0; i < k; ++i) {
            LocalTensor<float> right = rightQueue.AllocTensor<float>();
            CopyIn(right, yGm[i * n], n);
            rightQueue.EnQue(right);
            right = rightQueue.DeQue<float>();
            Axpy(out, right, left.GetValue(i), n);
            rightQueue.FreeTensor(right);
        }
        leftQueue.FreeTensor(left);
        outQueue.EnQue(out);
        out = outQueue.DeQue<float>();
        CopyOut(zGm[row * n], out, n);
        outQueue.FreeTensor(out);
    }
}

extern "C" void cores_do(int32_t which, uint32_t blockDim, void *stream, KERNEL_ARGUMENTS)
{
    switch (which) {
        case 0: sum_two_phases<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 1: sum_atomic<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 2: max_atomic<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 3: ring<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 4: ping_pong<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 5: counter_mode<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 6: shared_pool<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 7: histogram<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 8: scalar_lines<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
        case 9: matmul_by_rows<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS); break;
    }
}
