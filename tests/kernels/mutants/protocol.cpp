// One seeded fault a case: queues, flags, barriers, cores, loops. The comment behind `case` names the rule.
#include "common.h"

extern "C" __global__ __aicore__ void protocol_mutant(GM_ADDR x, GM_ADDR z, uint32_t n, int32_t which)
{
    Ground ground;
    ground.Init(x, z, n);
    TPipe &pipe = ground.pipe;
    GlobalTensor<float> &xGm = ground.xGm, &zGm = ground.zGm;
    TQue<TPosition::VECIN, 1> in, second;
    TQue<TPosition::VECOUT, 1> out;
    const int64_t core = GetBlockIdx();
    switch (which) {
        case 0: {  // queue-double-free
            pipe.InitBuffer(in, 1, 256);
            LocalTensor<float> t = in.AllocTensor<float>();
            in.FreeTensor(t);
            in.FreeTensor(t);
            break;
        }
        case 1: {  // queue-leak: the last tile is never freed
            pipe.InitBuffer(in, 2, 256);
            in.AllocTensor<float>();
            break;
        }
        case 2: {  // queue-no-free-buffer: never freed in a loop
            pipe.InitBuffer(in, 2, 256);
            for (uint32_t i = 0; i < 4; ++i) {
                LocalTensor<float> t = in.AllocTensor<float>();
                DataCopy(t, xGm[i * 64], 64);
                in.EnQue(t);
                t = in.DeQue<float>();
            }
            break;
        }
        case 3: {  // queue-deque-empty
            pipe.InitBuffer(in, 1, 256);
            LocalTensor<float> t = in.AllocTensor<float>();
            DataCopy(t, xGm, 64);
            t = in.DeQue<float>();
            break;
        }
        case 4: {  // queue-double-enque
            pipe.InitBuffer(in, 2, 256);
            LocalTensor<float> t = in.AllocTensor<float>();
            DataCopy(t, xGm, 64);
            in.EnQue(t);
            in.EnQue(t);
            break;
        }
        case 5: {  // queue-full: more waiting than its depth
            pipe.InitBuffer(in, 2, 256);
            for (uint32_t i = 0; i < 2; ++i) {
                LocalTensor<float> t = in.AllocTensor<float>();
                DataCopy(t, xGm, 64);
                in.EnQue(t);
            }
            break;
        }
        case 6: {  // queue-free-while-queued
            pipe.InitBuffer(in, 1, 256);
            LocalTensor<float> t = in.AllocTensor<float>();
            DataCopy(t, xGm, 64);
            in.EnQue(t);
            in.FreeTensor(t);
            break;
        }
        case 7: {  // queue-use-after-free
            pipe.InitBuffer(in, 1, 256);
            LocalTensor<float> t = in.AllocTensor<float>();
            DataCopy(t, xGm, 64);
            in.FreeTensor(t);
            in.EnQue(t);
            t = in.DeQue<float>();
            in.FreeTensor(t);
            break;
        }
        case 8: {  // queue-foreign-tensor
            pipe.InitBuffer(in, 1, 256);
            pipe.InitBuffer(second, 1, 256);
            LocalTensor<float> t = in.AllocTensor<float>();
            second.FreeTensor(t);
            break;
        }
        case 9: {  // queue-buffer-count
            pipe.InitBuffer(in, 65, 32);
            break;
        }
        case 10: {  // buffer-count: 70 of them
            TBuf<TPosition::VECCALC> many[70];
            for (auto &one : many) pipe.InitBuffer(one, 32);
            break;
        }
        case 11: {  // queue-live-tensors: nine tensors of one position at a time
            TQue<TPosition::VECIN, 1> queues[9];
            LocalTensor<float> held[9];
            for (int i = 0; i < 9; ++i) {
                pipe.InitBuffer(queues[i], 1, 256);
                held[i] = queues[i].AllocTensor<float>();
            }
            for (int i = 0; i < 9; ++i) queues[i].FreeTensor(held[i]);
            break;
        }
        case 12: WaitFlag<HardEvent::MTE2_V>(EVENT_ID0); break;  // flag-never-set
        case 13: {  // flag-set-twice
            SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
            SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
            WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
            break;
        }
        case 14: SetFlag<HardEvent::V_S>(EVENT_ID2); break;  // flag-unpaired
        case 15: {  // flag-never-set: waits for another id
            SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
            WaitFlag<HardEvent::MTE2_V>(EVENT_ID3);
            WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
            break;
        }
        case 16: {  // flag-never-set: waits for another event
            SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
            WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
            WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
            break;
        }
        case 17: SetFlag<HardEvent::V_S>(8); break;  // flag-id
        case 18: {  // flag-exhausted: never released
            for (int i = 0; i < 9; ++i) pipe.AllocEventID<HardEvent::MTE2_V>();
            break;
        }
        case 19: {  // missing-sync: copies in and computes with nothing between
            TBuf<TPosition::VECCALC> buffer;
            pipe.InitBuffer(buffer, 256);
            LocalTensor<float> t = buffer.Get<float>();
            DataCopy(t, xGm, 64);
            Adds(t, t, 1.0f, 64);
            break;
        }
        case 20: {  // missing-sync: computes and copies out with nothing between
            LocalTensor<float> t = ground.Ones(TILE);
            Adds(t, t, 1.0f, 64);
            DataCopy(zGm, t, 64);
            break;
        }
        case 21: {  // cross-core-overlap: each core writes the first tile
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopy(zGm, t, 64);
            break;
        }
        case 22: {  // cross-core-overlap: tiles of 64, but 72 are written
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopy(zGm[core * 64], t, 72);
            break;
        }
        case 23: {  // cross-core-race: reads the neighbour's tile without SyncAll
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopy(zGm[core * 64], t, 64);
            PipeBarrier<PIPE_ALL>();
            DataCopy(t, zGm[(core + 1) % GetBlockNum() * 64], 64);
            break;
        }
        case 24: {  // cross-core-overlap: one adds atomically, the other does not
            LocalTensor<float> t = ground.Ones(TILE);
            if (core == 0) SetAtomicAdd<float>();
            DataCopy(zGm, t, 64);
            SetAtomicNone();
            break;
        }
        case 25: zGm.SetValue(core, 1.0f); break;  // cache-line-shared
        case 26: {  // syncall-missing-core: a core without work returns early
            if (core == 1) return;
            SyncAll();
            break;
        }
        case 27: SyncAll(); break;  // syncall-too-many-blocks (launched with 49)
        case 28: {  // cross-core-hang: nobody sets it
            CrossCoreWaitFlag(3);
            break;
        }
        case 29: {  // endless-loop: the step is zero when the tail is
            const uint32_t step = n % 64;
            TBuf<TPosition::VECCALC> buffer;
            pipe.InitBuffer(buffer, 256);
            for (uint32_t i = 0; i < n; i += step) Duplicate(buffer.Get<float>(), 1.0f, 64);
            break;
        }
        case 30: {  // endless-loop: waits for a word that no core writes
            while (zGm.GetValue(0) == 0.0f) {}
            break;
        }
        case 31: {  // atomic-left-on
            LocalTensor<float> t = ground.Ones(TILE);
            SetAtomicAdd<float>();
            DataCopy(zGm, t, 64);
            break;
        }
        case 32: {  // mask-left-counter
            LocalTensor<float> t = ground.Ones(TILE);
            SetMaskCount();
            SetVectorMask<float, MaskMode::COUNTER>(100);
            Adds<float, false>(t, t, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
            break;
        }
        case 33: ASCENDC_ASSERT(n == 0, "no elements"); break;  // assertion
        case 34: {  // broadcast-shape
            LocalTensor<float> t = ground.Ones(TILE);
            const uint32_t to[2] = {4, 8}, from[2] = {3, 1};
            BroadCast<float, 2, 1>(t[64], t, to, from);
            break;
        }
        case 35: {  // wrong-core: vector work in a cube kernel
            KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
            TBuf<TPosition::VECCALC> buffer;
            pipe.InitBuffer(buffer, 256);
            Duplicate(buffer.Get<float>(), 1.0f, 8);
            DataCopy(zGm, buffer.Get<float>(), 8);
            break;
        }
        case 36: {  // queue-leak: dequeued, copied out, never freed
            pipe.InitBuffer(out, 1, 256);
            LocalTensor<float> t = out.AllocTensor<float>();
            Duplicate(t, 1.0f, 64);
            out.EnQue(t);
            t = out.DeQue<float>();
            DataCopy(zGm[core * 64], t, 64);
            break;
        }
    }
}

extern "C" void protocol_mutant_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *z, uint32_t n, int32_t which)
{
    protocol_mutant<<<blockDim, nullptr, stream>>>(x, z, n, which);
}
