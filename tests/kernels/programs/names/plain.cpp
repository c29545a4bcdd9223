// Calls with template arguments and no namespace: found by their arguments, as a device's compiler finds them.
#include "kernel_operator.h"

#if __CCE_AICORE__ != 220 || __NPU_ARCH__ != 2201
#error "the code of another chip"
#endif
static_assert(AscendC::IsSameType<AscendC::Conditional<true, float, half>::type, float>::value);

__global__ __aicore__ void plain(GM_ADDR z) {
    AscendC::TPipe pipe;
    AscendC::TBuf<> room[3];
    for (auto& one : room) pipe.InitBuffer(one, 256);
    AscendC::LocalTensor<float> a = room[0].Get<float>(), b = room[1].Get<float>(), work = room[2].Get<float>();
    Duplicate<float>(a, 2.0f, 64);
    ReduceSum<float>(b, a, work, 64);
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::GlobalTensor<float> gm;
    gm.SetGlobalBuffer((__gm__ float*)z);
    gm.SetValue(0, b.GetValue(0));
    AscendC::CreateVecIndex(a, 1.0f, 8);
    const uint32_t wide[2] = {8, 8}, narrow[2] = {8, 1};
    AscendC::Broadcast<float, 2, 1>(b, a, wide, narrow);
    AscendC::PipeBarrier<PIPE_ALL>();
    gm.SetValue(1, b.GetValue(8) * 100 + b.GetValue(63));
}
