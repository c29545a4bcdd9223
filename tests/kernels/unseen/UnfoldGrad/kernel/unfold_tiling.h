#pragma once
struct UnfoldTiling {
    int outer, inner, length, windows, size, step, dtype;
};
#define PIPE_SYNC() AscendC::PipeBarrier<PIPE_ALL>()
