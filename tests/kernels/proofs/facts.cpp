// What objects and scalar calls say of themselves: numbers in a row of floats, and what cores leave in global memory.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void facts(GM_ADDR z, int32_t what) {
    GlobalTensor<float> out;
    out.SetGlobalBuffer((__gm__ float*)z, 256);
    TPipe pipe;
    uint32_t at = 0;
    auto say = [&](double value) { out.SetValue(at++, static_cast<float>(value)); };
    switch (what) {
        case 0: {  // tensors
            TBuf<TPosition::VECCALC> buffer;
            pipe.InitBuffer(buffer, 1000);
            LocalTensor<float> t = buffer.Get<float>();
            LocalTensor<half> h = buffer.GetWithOffset<half>(64, 256);
            say(buffer.GetBufLen());
            say(t.GetSize());
            say(t.GetLength());
            t.SetSize(100);
            say(t.GetSize());
            say(t.GetLength());
            say(h.GetSize());
            say(static_cast<double>(h.GetPhyAddr() - buffer.Get<half>().GetPhyAddr()));
            say(static_cast<int>(t.GetPosition() == TPosition::VECCALC));
            say(t.ReinterpretCast<int16_t>().GetSize());
            t.SetUserTag(7);
            say(t.GetUserTag());
            say(out.GetSize());
            t.SetValue(3, 2.5f);
            say(t.GetValue(3));
            say(t(3));
            LocalTensor<float> later;
            later.SetAddrWithOffset(t, 3);
            say(static_cast<double>(later.GetPhyAddr() - t.GetPhyAddr()));
            Duplicate(t, 1.0f, 64);
            say(static_cast<int>(GetTPipePtr() == &pipe));
            break;
        }
        case 1: {  // queues
            TQue<QuePosition::VECIN, 2> queue;
            pipe.InitBuffer(queue, 2, 64);
            auto state = [&] {
                say(queue.VacantInQue());
                say(queue.HasTensorInQue());
                say(queue.GetTensorCountInQue());
                say(queue.HasIdleBuffer());
            };
            state();
            LocalTensor<float> a = queue.AllocTensor<float>();
            queue.EnQue(a);
            state();
            LocalTensor<float> b = queue.AllocTensor<float>();
            queue.EnQue(b);
            state();
            a = queue.DeQue<float>();
            queue.FreeTensor(a);
            state();
            b = queue.DeQue<float>();
            queue.FreeTensor(b);
            break;
        }
        case 2: {  // scalars
            say(ScalarGetCountOfValue<1>(0xF0F1));
            say(ScalarGetCountOfValue<0>(0xF0F1));
            say(ScalarCountLeadingZero(0x00F0));
            say(ScalarGetSFFValue<1>(0x00F0));
            say(ScalarGetSFFValue<0>(0x000F));
            say(CountBitsCntSameAsSignBit(0x00F0));
            say(CountBitsCntSameAsSignBit(-1));
            say(ScalarCast<float, int32_t, RoundMode::CAST_ROUND>(2.5f));
            say(ScalarCast<float, int32_t, RoundMode::CAST_FLOOR>(-2.5f));
            say(ScalarCast<float, int32_t, RoundMode::CAST_CEIL>(-2.5f));
            say(ToFloat(ToBfloat16(1.00390625f)));  // the middle between two bfloat16: to the even one
            say(ToFloat(ToBfloat16(1.01171875f)));
            say(GetSortLen<float>(32));
            say(GetSortLen<half>(32));
            say(GetSortOffset<float>(32));
            say(GetSortOffset<half>(32));
            say(GetTaskRatio());
            break;
        }
        case 3:
        case 4:
        case 5:
        case 6: {  // what all cores leave: the sum, the most, the least, and the last without an atomic
            TBuf<> buffer;
            pipe.InitBuffer(buffer, 32);
            LocalTensor<float> t = buffer.Get<float>();
            Duplicate(t, 2.0f + GetBlockIdx(), 8);
            PipeBarrier<PIPE_ALL>();
            if (what == 3) SetAtomicAdd<float>();
            if (what == 4) SetAtomicMax<float>();
            if (what == 5) SetAtomicMin<float>();
            if (what == 6) {
                SetAtomicAdd<float>();
                DisableDmaAtomic();
            }
            if (what != 6 || GetBlockIdx() == 0) DataCopy(out, t, 8);
            SetAtomicNone();
            break;
        }
        case 7: InitGlobalMemory(out[64], 40, 1.5f); break;
        case 8: InitOutput<float>(out[64], 40, 2.5f); break;
        case 9: {  // the registers of reductions
            TBuf<> buffer;
            pipe.InitBuffer(buffer, 1024);
            LocalTensor<float> t = buffer.Get<float>(), d = t[128];
            for (int i = 0; i < 64; ++i) t.SetValue(i, i == 37 ? 99.0f : static_cast<float>(i));
            WholeReduceMax(d, t, 64, 1, 1, 1, 8);
            float value = 0, index = 0;
            GetReduceRepeatMaxMinSpr<float>(value, index);
            say(value);
            say(*reinterpret_cast<uint32_t*>(&index));
            ReduceSum(d, t, t[192], 64);
            say(GetReduceRepeatSumSpr<float>());
            break;
        }
        case 10: {  // a pool, a pool in it, shared by two buffers at two times; and an allocator
            TBufPool<TPosition::VECCALC> pool, nested;
            TBuf<> a, b;
            pipe.InitBufPool(pool, 2048);
            pool.InitBufPool(nested, 1024);
            nested.InitBuffer(a, 512);
            Duplicate(a.Get<float>(), 1.0f, 16);
            const auto* place = a.Get<float>().GetPhyAddr();
            nested.Reset();
            nested.InitBuffer(b, 1024);
            Duplicate(b.Get<float>(), 2.0f, 16);
            say(static_cast<int>(b.Get<float>().GetPhyAddr() == place));
            say(b.Get<float>().GetSize());
            say(b.Get<float>().GetValue(15));
            break;
        }
        case 12: {  // events: the one that is given back is the next to be had
            TEventID ids[8];
            for (TEventID& id : ids) id = pipe.AllocEventID<HardEvent::MTE2_V>();
            pipe.ReleaseEventID<HardEvent::MTE2_V>(ids[3]);
            say(pipe.AllocEventID<HardEvent::MTE2_V>() - ids[3]);
            for (int i = 0; i < 8; ++i) say(ids[i]);
            for (TEventID id : ids) pipe.ReleaseEventID<HardEvent::MTE2_V>(id);
            break;
        }
        case 13: {  // all of the unified buffer, and once more when it is given back
            TBuf<> a, b;
            pipe.InitBuffer(a, 190 * 1024);
            pipe.Destroy();
            TPipe again;
            again.InitBuffer(b, 190 * 1024);
            say(b.Get<float>().GetSize());
            break;
        }
        case 14: {  // rows of 5 floats padded on both sides, and a shape that a tensor carries
            GlobalTensor<float> row = out[64];
            for (int i = 0; i < 10; ++i) row.SetValue(i, static_cast<float>(i + 1));
            PipeBarrier<PIPE_ALL>();
            TBuf<> a;
            pipe.InitBuffer(a, 64);
            LocalTensor<float> t = a.Get<float>();
            const float seven = 7.0f;
            const uint32_t bits = *reinterpret_cast<const uint32_t*>(&seven);
            DataCopyPad(t, row, DataCopyParams(2, 20, 0, 0), DataCopyPadParams(true, 2, 1, bits));
            PipeBarrier<PIPE_ALL>();
            for (int i = 0; i < 16; ++i) say(t.GetValue(i));
            ShapeInfo shape;
            shape.shapeDim = 2;
            shape.shape[0] = 2, shape.shape[1] = 8;
            t.SetShapeInfo(shape);
            say(t.GetShapeInfo().shapeDim);
            say(t.GetShapeInfo().shape[1]);
            if constexpr (g_coreType == AscendC::AIV) say(1);
            break;
        }
        case 11: {
            LocalMemAllocator<Hardware::UB> local;
            LocalTensor<float> a = local.Alloc<TPosition::VECIN, float, 16>(), b = local.Alloc<float, 16>();
            Duplicate(a, 1.0f, 16);
            Duplicate(b, 2.0f, 16);
            say(static_cast<double>(b.GetPhyAddr() - a.GetPhyAddr()));
            say(a.GetValue(15));
            say(b.GetValue(15));
            break;
        }
    }
}
void facts_do(uint8_t* z, uint32_t blocks, int32_t what) { facts<<<blocks, nullptr, nullptr>>>(z, what); }
