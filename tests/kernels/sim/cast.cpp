#include "common.h"

constexpr uint32_t kTile = 4096;

template <class D, class S> __global__ __aicore__ void cast_kernel(GM_ADDR x, GM_ADDR z, uint32_t n, int32_t mode) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> in, out;
    pipe.InitBuffer(in, kTile * sizeof(S));
    pipe.InitBuffer(out, kTile * sizeof(D));
    for (uint32_t offset = 0; offset < n; offset += kTile) {
        const uint32_t m = n - offset < kTile ? n - offset : kTile;
        LocalTensor<S> s = in.Get<S>();
        LocalTensor<D> d = out.Get<D>();
        Load<S>(s, x + offset * sizeof(S), m);
        Cast(d, s, static_cast<RoundMode>(mode), m);
        Store<D>(z + offset * sizeof(D), d, m);
    }
}

#define PAIR(number, D, S) \
    case number: cast_kernel<D, S><<<1, nullptr, stream>>>(x, z, n, mode); break;

extern "C" void cast_do(int pair, void* stream, uint8_t* x, uint8_t* z, uint32_t n, int32_t mode) {
    switch (pair) {
        PAIR(0, float, half)
        PAIR(1, int32_t, half)
        PAIR(2, int16_t, half)
        PAIR(3, int8_t, half)
        PAIR(4, uint8_t, half)
        PAIR(5, half, float)
        PAIR(6, bfloat16_t, float)
        PAIR(7, int32_t, float)
        PAIR(8, float, bfloat16_t)
        PAIR(9, float, int32_t)
        PAIR(10, half, int16_t)
        PAIR(11, float, int64_t)
        PAIR(12, int32_t, int64_t)
        PAIR(13, int64_t, float)
    }
}
