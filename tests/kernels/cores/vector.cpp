#include "common.h"

// One fault or one property each, chosen by `what`. Cores write rows of 16 floats.
extern "C" __global__ __aicore__ void shadowed(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t m, int32_t what) {
    Views views(x, z, n, m);
    GlobalTensor<float> in = views.in, out = views.out;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer, second;
    pipe.InitBuffer(buffer, 1024);
    pipe.InitBuffer(second, 1024);
    LocalTensor<float> t = buffer.Get<float>(), u = second.Get<float>();
    auto load = [&] {
        DataCopy(t, in, 8);
        PipeBarrier<PIPE_ALL>();
    };
    auto store = [&](const LocalTensor<float>& from, uint32_t count) {
        PipeBarrier<PIPE_ALL>();
        DataCopy(out, from, count);
    };
    switch (what) {
        case 0: load(); Adds(t, t, 1.0f, 16); store(t, 8); break;           // a tail computed and thrown away
        case 1: load(); Adds(t, t, 1.0f, 16); store(t, 16); break;          // and one that is kept
        case 2: load(); Add(u, t, t, 16); Muls(u, u, 2.0f, 16); store(u, 16); break;
        case 3: load(); out.SetValue(0, t.GetValue(8)); break;
        case 4: load(); ReduceSum(u, t, u, 16); break;
        case 5: load(); WholeReduceSum(u, t, 8, 1, 1, 1, 8); out.SetValue(0, u.GetValue(0)); break;
        case 6: load(); WholeReduceSum(u, t, 9, 1, 1, 1, 8); break;
        case 7: {  // through half and back
            load();
            LocalTensor<half> h = u.ReinterpretCast<half>();
            Cast(h, t, RoundMode::CAST_NONE, 16);
            Cast(t, h, RoundMode::CAST_NONE, 16);
            store(t, 16);
            break;
        }
        case 8: load(); Duplicate(t[8], 0.0f, 8); store(t, 16); break;
        case 9: load(); t.SetValue(8, 1.0f); out.SetValue(0, t.GetValue(8)); break;
        case 10: load(); DataCopy(u, t, 16); store(u, 16); break;            // through a copy in the unified buffer
        case 11: Duplicate(u, 1.0f, 16); load(); MulAddDst(u, t, t, 16); store(u, 16); break;
        case 12: Duplicate(t, 1.0f, 64); Duplicate(u, 0.0f, 64); { uint64_t mask[2] = {0xff, 0}; Add(u, t, t, mask, 1, {1, 1, 1, 8, 8, 8}); } store(u, 16); break;
        case 13: { uint64_t mask[2] = {0x7f, 0}; Duplicate(t, 1.0f, mask, 1, 1, 8); } store(t, 8); break;  // lane 7 is not written
        case 14: { LocalTensor<float> raw(TPosition::VECCALC, 4096, 16); Duplicate(raw, 5.0f, 16); store(raw, 16); break; }
        case 15: {  // a pool, and a pool in it, shared by two buffers at two times
            TBufPool<TPosition::VECCALC> pool;
            TBufPool<TPosition::VECCALC> nested;
            TBuf<> a, b;
            pipe.InitBufPool(pool, 2048);
            pool.InitBufPool(nested, 1024);
            nested.InitBuffer(a, 512);
            Duplicate(a.Get<float>(), 1.0f, 16);
            nested.Reset();
            nested.InitBuffer(b, 1024);
            Duplicate(b.Get<float>(), 2.0f, 16);
            store(b.Get<float>(), 16);
            break;
        }
        case 16: { TBufPool<TPosition::VECCALC> pool; TBuf<> a; pipe.InitBufPool(pool, 512); pool.InitBuffer(a, 1024); break; }
        case 17: { TQue<TPosition::A1, 1> cube; pipe.InitBuffer(cube, 1, 600 * 1024); break; }
        case 18: {  // L1 as a place to keep things
            TQue<TPosition::A1, 2> cube;
            pipe.InitBuffer(cube, 2, 1024);
            LocalTensor<float> a = cube.AllocTensor<float>();
            DataCopy(a, in, 8);
            cube.EnQue(a);
            a = cube.DeQue<float>();
            out.SetValue(0, static_cast<float>(static_cast<int>(a.GetPosition() == TPosition::A1)));
            cube.FreeTensor(a);
            break;
        }
        case 20: {  // nine tensors of one position at a time, eight of them before
            TQue<TPosition::VECIN, 9> queue;
            pipe.InitBuffer(queue, 9, 32);
            LocalTensor<float> all[9];
            for (int i = 0; i < 9; ++i) all[i] = queue.AllocTensor<float>();
            for (int i = 0; i < 9; ++i) queue.FreeTensor(all[i]);
            break;
        }
        case 21: {
            LocalMemAllocator<Hardware::UB> local;
            LocalTensor<float> a = local.Alloc<TPosition::VECIN, float, 16>(), b = local.Alloc<float, 16>();
            Duplicate(a, 1.0f, 16);
            Duplicate(b, 2.0f, 16);
            Add(a, a, b, 16);
            store(a, 16);
            break;
        }
        case 22: { TQue<TPosition::VECIN, 2> queue; pipe.InitBuffer(queue, 60, 32); TBuf<> more[5]; for (auto& one : more) pipe.InitBuffer(one, 32); break; }
        case 19: Duplicate(t, 1.0f, 8); Add(u, t, t, 4); store(u, 8); break;  // half of what is copied
    }
}

extern "C" __global__ __aicore__ void crossed(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t m, int32_t what) {
    Views views(x, z, n, m);
    GlobalTensor<float> in = views.in, out = views.out;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> t = buffer.Get<float>();
    const uint32_t self = GetBlockIdx(), all = GetBlockNum();
    Duplicate(t, 1.0f + self, 64);
    PipeBarrier<PIPE_ALL>();
    switch (what) {
        case 0: DataCopy(out[self * 16], t, 16); break;
        case 1: DataCopy(out[self * 8], t, 16); break;                       // the next core's row, too
        case 2: SetAtomicAdd<float>(); DataCopy(out, t, 16); SetAtomicNone(); break;
        case 3: DataCopy(out[self * 16], t, 16); SyncAll(); DataCopy(t, out[(self + 1) % all * 16], 16); break;
        case 4: DataCopy(out[self * 16], t, 16); PipeBarrier<PIPE_ALL>(); DataCopy(t, out[(self + 1) % all * 16], 16); break;
        case 5: out.SetValue(self, 1.0f); break;                             // one cache line
        case 6: out.SetValue(self * 16, 1.0f); break;
        case 7: {  // columns: 8 floats of every row of 8 * all
            DataCopyExtParams p{4, 32, 0, static_cast<uint32_t>((all - 1) * 32), 0};
            DataCopyPad(out[self * 8], t, p);
            break;
        }
        case 8: {  // columns of 9
            DataCopyExtParams p{4, 36, 0, static_cast<uint32_t>((all - 1) * 32 - 4), 0};
            DataCopyPad(out[self * 8], t, p);
            break;
        }
        case 9: if (self == 0) DataCopy(out, t, 64); SyncAll(); if (self == 1) DataCopy(out, t, 64); break;
        case 10: SyncAll(); if (self == 0) DataCopy(out, t, 64); if (self == 1) DataCopy(out[32], t, 64 - 32); break;  // unordered after a barrier
        case 11: {  // in turn, as deterministic sums do
            GlobalTensor<int32_t> workspace;
            LocalTensor<int32_t> scratch = buffer.Get<int32_t>();
            InitDetermineComputeWorkspace(workspace, scratch);
            WaitPreBlock(workspace, scratch);
            out.SetValue(0, out.GetValue(0) * 2 + self);
            NotifyNextBlock(workspace, scratch);
            break;
        }
        case 12: {  // core 0 tells the others
            GlobalTensor<int32_t> workspace;
            LocalTensor<int32_t> scratch = buffer.Get<int32_t>();
            if (self == 0) {
                DataCopy(out, t, 16);
                for (uint32_t k = 1; k < all; ++k) IBSet(workspace, scratch, 0, k);
            } else {
                IBWait(workspace, scratch, 0, self);
                DataCopy(t, out, 16);
                out.SetValue(self * 16, t.GetValue(0));
            }
            break;
        }
        case 13: if (self % 2 == 0) CrossCoreWaitFlag(7); break;
        case 14: DataCopy(t, in[self * 8], 16); PipeBarrier<PIPE_ALL>(); DataCopy(out[self * 8], t, 8); break;  // overlapping reads hurt nobody
        case 15: out.SetValue(0, out.GetValue(0) * 2 + self); break;         // depends on the order
        case 16: InitGlobalMemory(out, 16, 1.0f); break;
        case 17: for (uint32_t i = 0;; ++i) { if (t.GetValue(i % 8) < 0) break; } break;
        case 18: if (self == 0) Duplicate(t, 1.0f, 100000); break;
    }
}

extern "C" __global__ __aicore__ void piped(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t m, int32_t what) {
    Views views(x, z, n, m);
    GlobalTensor<float> in = views.in, out = views.out;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    TQue<TPosition::VECIN, 1> source;
    TQue<TPosition::VECOUT, 1> target;
    pipe.InitBuffer(buffer, 4096);
    pipe.InitBuffer(source, 2, 256);
    pipe.InitBuffer(target, 2, 256);
    LocalTensor<float> t = buffer.Get<float>();
    const event_t id = static_cast<event_t>(pipe.FetchEventID(HardEvent::MTE2_V));
    switch (what) {
        case 0:  // by hand, all pairs
            for (int i = 0; i < 3; ++i) {
                if (i) WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID1);
                DataCopy(t, in, 16);
                SetFlag<HardEvent::MTE2_V>(id);
                WaitFlag<HardEvent::MTE2_V>(id);
                Adds(t, t, 1.0f, 16);
                SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
                WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
                DataCopy(out, t, 16);
                if (i < 2) SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID1);
            }
            break;
        case 1: DataCopy(t, in, 16); Adds(t, t, 1.0f, 16); PipeBarrier<PIPE_ALL>(); DataCopy(out, t, 16); break;
        case 2: DataCopy(t, in, 16); PipeBarrier<PIPE_ALL>(); Adds(t, t, 1.0f, 16); DataCopy(out, t, 16); break;
        case 3:  // the second load may overtake the store
            for (int i = 0; i < 2; ++i) {
                DataCopy(t, in, 16);
                SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
                WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
                DataCopy(out, t, 16);
            }
            break;
        case 4: SetFlag<HardEvent::V_MTE3>(EVENT_ID0); break;
        case 5: WaitFlag<HardEvent::V_MTE3>(EVENT_ID0); break;
        case 6: SetFlag<HardEvent::V_MTE3>(EVENT_ID0); SetFlag<HardEvent::V_MTE3>(EVENT_ID0); WaitFlag<HardEvent::V_MTE3>(EVENT_ID0); break;
        case 7: SetFlag<HardEvent::V_MTE3>(8); break;
        case 8: for (int i = 0; i < 9; ++i) pipe.AllocEventID<HardEvent::V_S>(); break;
        case 9:  // queues hand everything over, and a TBuf is the vector unit's own
            for (int i = 0; i < 4; ++i) {
                LocalTensor<float> a = source.AllocTensor<float>();
                DataCopy(a, in, 16);
                source.EnQue(a);
                a = source.DeQue<float>();
                LocalTensor<float> b = target.AllocTensor<float>();
                Adds(t, a, 1.0f, 16);
                Adds(b, t, 1.0f, 16);
                source.FreeTensor(a);
                target.EnQue(b);
                b = target.DeQue<float>();
                DataCopy(out, b, 16);
                target.FreeTensor(b);
            }
            break;
        case 10: {  // a TBuf that rides along with a queue: MTE2 fills both before EnQue
            LocalTensor<float> a = source.AllocTensor<float>();
            DataCopy(t, in, 16);
            DataCopy(a, in, 16);
            source.EnQue(a);
            a = source.DeQue<float>();
            Add(a, a, t, 16);
            source.FreeTensor(a);
            break;
        }
        case 11: Duplicate(t, 1.0f, 16); out.SetValue(0, t.GetValue(0)); break;  // auto-sync covers it
        case 12: DataCopy(t, in, 16); set_flag(PIPE_MTE2, PIPE_V, EVENT_ID3); wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID3); Adds(t, t, 1.0f, 16); break;
        case 13: DataCopy(t, in, 16); Duplicate(t[64], 1.0f, 16); break;    // two places of one buffer
        case 14: DataCopy(t, in, 16); DataCopy(t[16], in, 16); SetFlag<HardEvent::MTE2_S>(EVENT_ID0); WaitFlag<HardEvent::MTE2_S>(EVENT_ID0);
                 SetFlag<HardEvent::S_V>(EVENT_ID0); WaitFlag<HardEvent::S_V>(EVENT_ID0); Adds(t, t, 1.0f, 32); break;  // by way of the scalar unit
    }
}

extern "C" void vector_do(int32_t kernel, uint32_t blocks, void* stream, uint8_t* x, uint8_t* z, uint32_t n, uint32_t m, int32_t what) {
    if (kernel == 0) shadowed<<<blocks, nullptr, stream>>>(x, z, n, m, what);
    if (kernel == 1) crossed<<<blocks, nullptr, stream>>>(x, z, n, m, what);
    if (kernel == 2) piped<<<blocks, nullptr, stream>>>(x, z, n, m, what);
}
