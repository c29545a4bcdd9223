// CPU mode: the kernel is a plain function, its memory comes from GmAlloc. A wrong way to run it is an argument.
#include <cstdio>
#include <cstring>

#include "tikicpulib.h"

struct ScaleData {
    float factor;
    uint32_t length;
};

extern "C" __global__ __aicore__ void scale(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(ScaleData, data, tiling);
    AscendC::GlobalTensor<float> gx;
    gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), data.length);
    for (uint32_t i = AscendC::GetBlockIdx(); i < data.length; i += AscendC::GetBlockNum()) {
        gx.SetValue(i, TILING_KEY_IS(3) ? gx.GetValue(i) * data.factor : -1.0f);
    }
}

int main(int argc, char** argv) {
    auto* x = static_cast<uint8_t*>(AscendC::GmAlloc(16 * sizeof(float)));
    auto* tiling = static_cast<uint8_t*>(AscendC::GmAlloc(sizeof(ScaleData)));
    for (int i = 0; i < 16; ++i) reinterpret_cast<float*>(x)[i] = static_cast<float>(i);
    const ScaleData data{2.0f, argc > 1 ? 17u : 16u};
    std::memcpy(tiling, &data, sizeof(data));
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    ICPU_SET_TILING_KEY(3);
    ICPU_RUN_KF(scale, 4, x, nullptr, tiling);
    for (int i = 0; i < 16; ++i) std::printf("%g ", reinterpret_cast<float*>(x)[i]);
    AscendC::GmFree(x);
    AscendC::GmFree(tiling);
    return 0;
}
