#pragma once
#include "kernel_operator.h"

using namespace AscendC;

// Copies n elements (any n) into a fresh local tensor, and out of one.
template <class T> __aicore__ inline void Load(const LocalTensor<T>& to, GM_ADDR from, uint32_t n) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer((__gm__ T*)from);
    DataCopyExtParams params{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
    DataCopyPadExtParams<T> pad{false, 0, 0, T(0)};
    DataCopyPad(to, gm, params, pad);
    PipeBarrier<PIPE_ALL>();
}
template <class T> __aicore__ inline void Store(GM_ADDR to, const LocalTensor<T>& from, uint32_t n) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer((__gm__ T*)to);
    DataCopyExtParams params{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(gm, from, params);
}
