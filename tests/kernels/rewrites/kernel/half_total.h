#pragma once
#include "kernel_operator.h"
// out[r] = sum over row r of half values; the sum itself is kept in the element type of a template.
template <typename E>
__aicore__ inline void HalfTotalRow(AscendC::GlobalTensor<E> &in, AscendC::LocalTensor<E> &cell, int64_t begin, int64_t n)
{
    E s = (E)0;
    for (int64_t i = 0; i < n; ++i) {
        E v = in.GetValue(begin + i);
        s += v;
    }
    cell.SetValue(0, s);
}
__global__ __aicore__ void half_total(GM_ADDR x, GM_ADDR w, GM_ADDR out, int64_t rows, int64_t cols)
{
    using namespace AscendC;
    TPipe pipe;
    TBuf<TPosition::VECCALC> one;
    pipe.InitBuffer(one, 32);
    GlobalTensor<half> a, b;
    a.SetGlobalBuffer((__gm__ half *)x, rows * cols);
    b.SetGlobalBuffer((__gm__ half *)out, rows);
    LocalTensor<half> cell = one.Get<half>();
    for (int64_t r = 0; r < rows; ++r) {
        HalfTotalRow<half>(a, cell, r * cols, cols);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(b[r], cell, DataCopyExtParams{1, 2, 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
    }
}
