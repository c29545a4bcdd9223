// One seeded fault a case: operands, copies, bounds, what was never written. The comment behind `case` names the rule.
#include "common.h"

extern "C" __global__ __aicore__ void memory_mutant(GM_ADDR x, GM_ADDR z, uint32_t n, int32_t which)
{
    Ground ground;
    ground.Init(x, z, n);
    TPipe &pipe = ground.pipe;
    GlobalTensor<float> &xGm = ground.xGm, &zGm = ground.zGm;
    switch (which) {
        case 0: {  // ub-unaligned: a view that starts at 4 bytes
            LocalTensor<float> t = ground.Ones(TILE);
            Adds(t[1], t, 1.0f, 8);
            break;
        }
        case 1: {  // datacopy-unaligned: 100 floats are 400 bytes
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopy(t, xGm, 100);
            break;
        }
        case 2: {  // datacopy-unaligned: on the way out
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopy(zGm, t, 13);
            break;
        }
        case 3: {  // ub-buffer-overrun: computes past its buffer
            LocalTensor<float> t = ground.Ones(TILE);
            TBuf<TPosition::VECCALC> small;
            pipe.InitBuffer(small, 128);
            LocalTensor<float> s = small.Get<float>();
            Adds(s, t, 1.0f, 40);
            break;
        }
        case 4: {  // ub-out-of-range: past the unified buffer
            LocalTensor<float> t = ground.Ones(TILE);
            Adds(t, t, 1.0f, 60000);
            break;
        }
        case 5: {  // ub-overflow: three times 80 KB
            TQue<TPosition::VECIN, 2> queue;
            pipe.InitBuffer(queue, 3, 80 * 1024);
            break;
        }
        case 6: {  // ub-overflow: more than the pool holds
            TBufPool<TPosition::VECCALC> pool;
            TBuf<TPosition::VECCALC> part;
            pipe.InitBufPool(pool, 1024);
            pool.InitBuffer(part, 2048);
            break;
        }
        case 7: {  // read-never-written: copied out as it was
            TBuf<TPosition::VECCALC> buffer;
            pipe.InitBuffer(buffer, 1024);
            LocalTensor<float> t = buffer.Get<float>();
            DataCopy(zGm, t, 64);
            break;
        }
        case 8: {  // read-never-written: a sum over the padded tail
            TQue<TPosition::VECIN, 1> queue;
            TBuf<TPosition::VECCALC> buffer;
            pipe.InitBuffer(queue, 1, 256);
            pipe.InitBuffer(buffer, 512);
            LocalTensor<float> t = queue.AllocTensor<float>();
            DataCopyPad(t, xGm, {1, 5 * sizeof(float), 0, 0, 0}, {false, 0, 0, 0.0f});
            queue.EnQue(t);
            t = queue.DeQue<float>();
            LocalTensor<float> sum = buffer.Get<float>();
            ReduceSum(sum, t, sum[64], 8);
            queue.FreeTensor(t);
            break;
        }
        case 9: {  // read-never-written: a scalar of an empty tensor
            TBuf<TPosition::VECCALC> buffer;
            pipe.InitBuffer(buffer, 256);
            zGm.SetValue(0, buffer.Get<float>().GetValue(3));
            break;
        }
        case 10: {  // read-never-written: computed from nothing, then stored
            LocalTensor<float> t = ground.Ones(TILE);
            TBuf<TPosition::VECCALC> other;
            pipe.InitBuffer(other, 256);
            Add(t, t, other.Get<float>(), 64);
            PipeBarrier<PIPE_ALL>();
            DataCopy(zGm, t, 64);
            break;
        }
        case 11: {  // read-never-written: the last lane of a maximum
            LocalTensor<float> t = ground.Ones(63);
            TBuf<TPosition::VECCALC> best;
            pipe.InitBuffer(best, 256);
            WholeReduceMax(best.Get<float>(), t, 64, 1, 1, 1, 8);
            break;
        }
        case 12: {  // gm-read-out-of-range: the last tile is not shortened
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopy(t, xGm[n - 64], TILE);
            break;
        }
        case 13: {  // gm-write-out-of-range
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopy(zGm[n - 64], t, TILE);
            break;
        }
        case 14: zGm.SetValue(n, 1.0f); break;         // gm-write-out-of-range: one past the end
        case 15: zGm.SetValue(0, xGm.GetValue(n)); break;  // gm-read-out-of-range
        case 16: {  // gm-read-out-of-range: the tiling says twice the length
            TQue<TPosition::VECIN, 2> queue;
            pipe.InitBuffer(queue, 2, TILE * sizeof(float));
            for (uint32_t i = 0; i < 2 * n; i += TILE) {
                LocalTensor<float> t = queue.AllocTensor<float>();
                DataCopy(t, xGm[i], TILE);
                queue.EnQue(t);
                t = queue.DeQue<float>();
                queue.FreeTensor(t);
            }
            break;
        }
        case 17: {  // gm-unknown-address: an address of nobody
            LocalTensor<float> t = ground.Ones(TILE);
            GlobalTensor<float> wild;
            wild.SetGlobalBuffer((__gm__ float *)0x1000, 64);
            DataCopy(t, wild, 64);
            break;
        }
        case 18: {  // gm-null: never bound
            LocalTensor<float> t = ground.Ones(TILE);
            GlobalTensor<float> nowhere;
            DataCopy(t, nowhere, 64);
            break;
        }
        case 19: {  // gm-unaligned
            GlobalTensor<float> odd;
            odd.SetGlobalBuffer((__gm__ float *)(x + 2), 8);
            break;
        }
        case 20: {  // datacopypad-limits: 4,096 rows
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopyPad(t, xGm, {4096, 4, 0, 0, 0}, {false, 0, 0, 0.0f});
            break;
        }
        case 21: {  // datacopypad-limits: 10 elements of padding
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopyPad(t, xGm, {1, 4, 0, 0, 0}, {true, 0, 10, 0.0f});
            break;
        }
        case 22: {  // datacopypad-limits: a row of 2 MiB
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopyPad(t, xGm, {1, 2097152, 0, 0, 0}, {false, 0, 0, 0.0f});
            break;
        }
        case 23: {  // datacopy-empty
            LocalTensor<float> t = ground.Ones(TILE);
            DataCopy(t, xGm, 0);
            break;
        }
        case 24: {  // mask-out-of-range: 128 lanes of float
            LocalTensor<float> t = ground.Ones(TILE);
            Adds(t, t, 1.0f, 128, 1, {1, 1, 8, 8});
            break;
        }
        case 25: {  // mask-out-of-range: none
            LocalTensor<float> t = ground.Ones(TILE);
            Add(t, t, t, static_cast<uint64_t>(0), 1, {1, 1, 1, 8, 8, 8});
            break;
        }
        case 26: {  // ub-buffer-overrun: five repeats of a tensor of four
            LocalTensor<float> t = ground.Ones(TILE);
            Muls(t, t, 2.0f, 64, 5, {1, 1, 8, 8});
            break;
        }
        case 27: {  // ub-buffer-overrun: a repeat stride of 16 blocks
            LocalTensor<float> t = ground.Ones(TILE);
            Muls(t, t, 2.0f, 64, 4, {1, 1, 16, 16});
            break;
        }
        case 28: {  // operand-overlap: the destination lies a block further in its own source
            LocalTensor<float> t = ground.Ones(TILE);
            Add(t[8], t, t, 64);
            break;
        }
        case 29: {  // ub-buffer-overrun: TBuf.Get of more than there is
            LocalTensor<float> t = ground.Ones(TILE);
            LocalTensor<float> far = ground.scratch.GetWithOffset<float>(64, TILE * sizeof(float) - 64);
            break;
        }
        case 30: {  // buffer-not-initialised
            TBuf<TPosition::VECCALC> forgotten;
            Duplicate(forgotten.Get<float>(), 1.0f, 8);
            break;
        }
        case 31: {  // null-tensor
            LocalTensor<float> nothing;
            Duplicate(nothing, 1.0f, 8);
            break;
        }
        case 32: {  // ub-buffer-overrun: a scalar store behind the tensor
            LocalTensor<float> t = ground.Ones(TILE);
            t.SetValue(TILE, 1.0f);
            break;
        }
        case 33: {  // reduce-count
            LocalTensor<float> t = ground.Ones(TILE);
            ReduceSum(t, t, t, static_cast<int32_t>(n - n));
            break;
        }
        case 34: {  // compare-unaligned: 60 floats are 240 bytes
            LocalTensor<float> t = ground.Ones(TILE);
            TBuf<TPosition::VECCALC> bits;
            pipe.InitBuffer(bits, 64);
            CompareScalar(bits.Get<uint8_t>(), t, 0.0f, CMPMODE::GT, 60);
            break;
        }
        case 35: {  // ub-buffer-overrun: a gather behind its source
            LocalTensor<float> t = ground.Ones(TILE);
            TBuf<TPosition::VECCALC> offsets, out;
            pipe.InitBuffer(offsets, 256);
            pipe.InitBuffer(out, 256);
            Duplicate(offsets.Get<int32_t>(), static_cast<int32_t>(TILE * sizeof(float)), 8);
            Gather(out.Get<float>(), t, offsets.Get<uint32_t>(), 0, 8);
            break;
        }
        case 36: {  // read-never-written: compares what nobody wrote, and selects by it
            LocalTensor<float> t = ground.Ones(TILE);
            TBuf<TPosition::VECCALC> bits, other;
            pipe.InitBuffer(bits, 64);
            pipe.InitBuffer(other, 256);
            CompareScalar(bits.Get<uint8_t>(), other.Get<float>(), 0.0f, CMPMODE::GT, 64);
            Select(t, bits.Get<uint8_t>(), t, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
            PipeBarrier<PIPE_ALL>();
            DataCopy(zGm, t, 64);
            break;
        }
        case 37: {  // datacopy-unaligned: half elements counted as if they were floats
            TBuf<TPosition::VECCALC> buffer;
            pipe.InitBuffer(buffer, 256);
            GlobalTensor<half> halves;
            halves.SetGlobalBuffer((__gm__ half *)x, 2 * n);
            DataCopy(buffer.Get<half>(), halves, 8);
            break;
        }
    }
}

extern "C" void memory_mutant_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *z, uint32_t n, int32_t which)
{
    memory_mutant<<<blockDim, nullptr, stream>>>(x, z, n, which);
}
