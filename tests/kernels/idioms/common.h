#pragma once
#include "kernel_operator.h"

using namespace AscendC;

// What the host says about a launch. Kernels read what they need.
struct Shape {
    uint32_t rows, columns, extra;
    float scalar;
};

__aicore__ inline uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
__aicore__ inline uint32_t RoundUp(uint32_t a, uint32_t b) { return CeilDiv(a, b) * b; }

// Any number of elements in and out; the rest of the last block stays unwritten.
template <class T> __aicore__ inline void CopyIn(const LocalTensor<T> &to, const GlobalTensor<T> &from, uint32_t count)
{
    DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
    DataCopyPad(to, from, params, pad);
}
template <class T> __aicore__ inline void CopyOut(const GlobalTensor<T> &to, const LocalTensor<T> &from, uint32_t count)
{
    DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    DataCopyPad(to, from, params);
}
// Makes a pipe wait for another.
template <HardEvent event> __aicore__ inline void Wait()
{
    event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(event));
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

#define KERNEL_ARGUMENTS GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, Shape shape
#define LAUNCH_ARGUMENTS x, y, z, workspace, shape
