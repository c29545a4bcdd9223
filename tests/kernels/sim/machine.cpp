#include "common.h"

// One fault or one property of the machine each, chosen by `what`.
extern "C" __global__ __aicore__ void machine(GM_ADDR x, GM_ADDR z, uint32_t n, int32_t what) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    TBuf<TPosition::VECCALC> buffer;
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)x, n);
    out.SetGlobalBuffer((__gm__ float*)z, n);
    pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> t = buffer.Get<float>();
    switch (what) {
        case 0: {  // padding that is not specified is poison, specified padding is there
            DataCopyExtParams params{2, static_cast<uint32_t>(5 * sizeof(float)), 0, 0, 0};
            DataCopyPadExtParams<float> pad{true, 0, 1, 7.0f};
            DataCopyPad(t, in, params, pad);
            PipeBarrier<PIPE_ALL>(); DataCopy(out, t, 16);
            break;
        }
        case 1: PipeBarrier<PIPE_ALL>(); DataCopy(out, t, 16); break;  // never written
        case 2: DataCopy(t, in, 13); PipeBarrier<PIPE_ALL>(); DataCopy(out, t, 16); break;
        case 3: pipe.InitBuffer(queue, 1, 256); { auto a = queue.DeQue<float>(); Adds(a, a, 1.0f, 8); } break;
        case 4: pipe.InitBuffer(queue, 1, 256); queue.AllocTensor<float>(); queue.AllocTensor<float>(); break;
        case 5: pipe.InitBuffer(queue, 2, 256); queue.AllocTensor<float>(); break;
        case 6: { TBuf<> large; pipe.InitBuffer(large, 200 * 1024); break; }
        case 7: Add(t[1], t, t, 8); break;
        case 8: Adds(t, t, 1.0f, 100000); break;
        case 9: DataCopy(t, in[n], 8); PipeBarrier<PIPE_ALL>(); DataCopy(out, t, 8); break;
        case 10: Duplicate(t, 1.0f, 16); PipeBarrier<PIPE_ALL>(); DataCopy(out[n - 8], t, 16); break;
        case 11: WaitFlag<HardEvent::V_S>(EVENT_ID0); break;
        case 12: {  // each core writes its number; after SyncAll each reads its neighbour's
            const auto self = static_cast<uint32_t>(GetBlockIdx()), all = static_cast<uint32_t>(GetBlockNum());
            out.SetValue(self, static_cast<float>(self));
            SyncAll();
            const float neighbour = out.GetValue((self + 1) % all);
            SyncAll();
            out.SetValue(self, neighbour);
            break;
        }
        case 13: if (GetBlockIdx() == 0) SyncAll(); break;
        case 14: {  // all cores add to the same place
            Duplicate(t, 1.0f, 8);
            SetAtomicAdd<float>();
            PipeBarrier<PIPE_ALL>(); DataCopy(out, t, 8);
            SetAtomicNone();
            break;
        }
        case 15: pipe.InitBuffer(queue, 1, 256); { auto a = queue.AllocTensor<float>(); queue.FreeTensor(a); queue.FreeTensor(a); } break;
        case 16: {  // an atomic copy of a type that has none
            GlobalTensor<uint16_t> words;
            words.SetGlobalBuffer((__gm__ uint16_t*)z, n);
            LocalTensor<uint16_t> w = t.ReinterpretCast<uint16_t>();
            Duplicate(w, static_cast<uint16_t>(1), 16);
            SetAtomicAdd<uint16_t>();
            DataCopy(words, w, 16);
            break;
        }
        case 17: t.SetValue(1024, 1.0f); break;
        case 18: { float sum = 0; for (uint32_t k = 0; k < n; ++k) { t.SetValue(k % 1024, sum); sum += t.GetValue((k * 7) % 1024) + 1.0f; } out.SetValue(0, sum > 0 ? 1.0f : 0.0f); break; }
        case 20: {  // an address of the host
            float host[8] = {1, 2, 3, 4, 5, 6, 7, 8};
            GlobalTensor<float> wild;
            wild.SetGlobalBuffer((__gm__ float*)host);
            DataCopy(t, wild, 8);
            break;
        }
        case 21: {  // Counter mode: 100 lanes, whatever the repeat says
            Duplicate(t, 0.0f, 256);
            SetMaskCount();
            SetVectorMask<float, MaskMode::COUNTER>(100);
            Adds<float, false>(t, t, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
            SetMaskNorm();
            ResetMask();
            if ASCEND_IS_AIV {
                PipeBarrier<PIPE_ALL>(); DataCopy(out, t, 256);
            }
            break;
        }
        case 22: {  // Brcb, Gather, indices
            LocalTensor<int32_t> index = buffer.GetWithOffset<int32_t>(64, 2048);
            DataCopy(t, in, 8);
            PipeBarrier<PIPE_ALL>();
            Brcb(t[64], t, 1, {1, 8});
            CreateVecIndex(index, 0, 8);
            Muls(index, index, -4, 8);
            Adds(index, index, 28, 8);
            Gather(t[8], t, index.ReinterpretCast<uint32_t>(), 0, 8);
            PipeBarrier<PIPE_ALL>(); DataCopy(out, t[8], 8);
            DataCopy(out[8], t[64], 64);
            break;
        }
        case 19: {  // every other block of the source, closed up
            DataCopyParams params{4, 1, 1, 0};
            DataCopy(t, in, params);
            PipeBarrier<PIPE_ALL>(); DataCopy(out, t, 32);
            break;
        }
    }
}

extern "C" __global__ __aicore__ void plus_one(GM_ADDR x, GM_ADDR z, uint32_t n) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> t = buffer.Get<float>();
    Load<float>(t, x, n);
    Adds(t, t, 1.0f, n);
    Store<float>(z, t, n);
}

extern "C" void machine_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* z, uint32_t n, int32_t what) {
    machine<<<blockDim, nullptr, stream>>>(x, z, n, what);
}
