#pragma once
#include "kernel_operator.h"

using namespace AscendC;

// Views of the two tensors that every kernel here gets: n floats in, m floats out.
struct Views {
    GlobalTensor<float> in, out;
    __aicore__ inline Views(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t m) {
        in.SetGlobalBuffer((__gm__ float*)x, n);
        out.SetGlobalBuffer((__gm__ float*)z, m);
    }
};
