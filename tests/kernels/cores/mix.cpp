#include "common.h"

// Eight floats a core, so that no two cores share a cache line of 64 bytes: what it is, its index, its sub-block, the ratio.
__aicore__ inline void Introduce(const GlobalTensor<float>& out) {
    const uint32_t row = (ASCEND_IS_AIC ? GetBlockNum() * 2 : 0) + GetBlockIdx();
    out.SetValue(row * 16, ASCEND_IS_AIC ? 1.0f : 2.0f);
    out.SetValue(row * 16 + 1, static_cast<float>(GetBlockIdx()));
    out.SetValue(row * 16 + 2, static_cast<float>(GetSubBlockIdx()));
    out.SetValue(row * 16 + 3, static_cast<float>(GetTaskRation()));
}

extern "C" __global__ __mix__(1, 2) __aicore__ void mixed(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t m, int32_t what) {
    Views views(x, z, n, m);
    GlobalTensor<float> out = views.out;
    if (what == 0) {
        Introduce(out);
        return;
    }
    if (what == 1) {  // the AIC writes, its AIVs add to it in turn, the AIC reads the sum: three rounds
        const uint32_t place = (GetBlockIdx() / (ASCEND_IS_AIV ? 2 : 1)) * 64;
        for (int round = 0; round < 3; ++round) {
            if constexpr (g_coreType == AscendC::AIC) {
                const float sum = round ? out.GetValue(place + 16) + out.GetValue(place + 32) : 1.0f;
                out.SetValue(place, sum);
                CrossCoreSetFlag<0x2, PIPE_FIX>(3);
                CrossCoreWaitFlag(4);
            } else {
                CrossCoreWaitFlag(3);
                out.SetValue(place + 16 * (1 + GetSubBlockIdx()), out.GetValue(place) + GetSubBlockIdx());
                CrossCoreSetFlag<0x2, PIPE_MTE3>(4);
            }
        }
        return;
    }
    if (what == 2) {  // nobody sets flag 5
        if ASCEND_IS_AIV { CrossCoreWaitFlag(5); }
        return;
    }
    if (what == 3) {  // all cores meet
        const uint32_t rank = ASCEND_IS_AIC ? GetBlockIdx() : GetBlockNum() + GetBlockIdx();
        out.SetValue(rank * 16, 1.0f + rank);
        SyncAll<false>();
        const uint32_t all = GetBlockNum() * 3;
        out.SetValue(rank * 16 + 1, out.GetValue((rank + 1) % all * 16));
        return;
    }
    if (what == 4) {  // AIVs of one block meet, then all AIVs
        if ASCEND_IS_AIV {
            out.SetValue(GetBlockIdx() * 16, 1.0f + GetBlockIdx());
            CrossCoreSetFlag<0x1, PIPE_MTE3>(2);
            CrossCoreWaitFlag(2);
            out.SetValue(GetBlockIdx() * 16 + 1, out.GetValue((GetBlockIdx() ^ 1) * 16));
            CrossCoreSetFlag<0x0, PIPE_MTE3>(2);
            CrossCoreWaitFlag(2);
            out.SetValue(GetBlockIdx() * 16 + 2, out.GetValue((GetBlockIdx() + 2) % (2 * GetBlockNum()) * 16));
        }
        return;
    }
    if (what == 5) {  // a vector computation that all cores run: it has no effect on an AIC
        TPipe pipe;
        TBuf<> buffer;
        pipe.InitBuffer(buffer, 256);
        LocalTensor<float> t = buffer.Get<float>();
        Duplicate(t, 3.0f, 16);
        PipeBarrier<PIPE_ALL>();
        DataCopy(out[GetBlockIdx() * 16], t, 16);
        return;
    }
    if (what == 6) {  // the AIV reads what the AIC wrote, without waiting
        if ASCEND_IS_AIC { out.SetValue(GetBlockIdx() * 64, 1.0f); }
        else { out.SetValue(GetBlockIdx() * 64 + 16, out.GetValue(GetBlockIdx() / 2 * 64)); }
    }
}

template <typename T> class Inner {
public:
    __aicore__ inline void Process(const GlobalTensor<T>& out) { Introduce(out); }
};

extern "C" __global__ __aicore__ void typed(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t m, int32_t what) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
    Views views(x, z, n, m);
    Inner<float> inner;
    inner.Process(views.out);
}

extern "C" __global__ __aicore__ void cube_only(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t m, int32_t what) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Views views(x, z, n, m);
    if (what == 0) {
        Introduce(views.out);
        return;
    }
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 256);
    LocalTensor<float> t = buffer.Get<float>();
    Duplicate(t, 3.0f, 16);
    PipeBarrier<PIPE_ALL>();
    DataCopy(views.out, t, 16);
}

extern "C" void mix_do(int32_t kernel, uint32_t blocks, void* stream, uint8_t* x, uint8_t* z, uint32_t n, uint32_t m, int32_t what) {
    if (kernel == 0) mixed<<<blocks, nullptr, stream>>>(x, z, n, m, what);
    if (kernel == 1) typed<<<blocks, nullptr, stream>>>(x, z, n, m, what);
    if (kernel == 2) cube_only<<<blocks, nullptr, stream>>>(x, z, n, m, what);
}
