#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kTile = 8192;

template <class T> __aicore__ inline void In(const LocalTensor<T>& to, GM_ADDR from, uint32_t n) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer((__gm__ T*)from);
    DataCopyPad(to, gm, DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0}, DataCopyPadExtParams<T>{false, 0, 0, T(0)});
}
template <class T> __aicore__ inline void Out(GM_ADDR to, const LocalTensor<T>& from, uint32_t n) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer((__gm__ T*)to);
    DataCopyPad(gm, from, DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0});
}

// z = cast(x), a tile at a time.
template <class D, class S> __global__ __aicore__ void cast_all(GM_ADDR x, GM_ADDR z, uint32_t n, int32_t mode, float scale) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> in, out;
    pipe.InitBuffer(in, kTile * sizeof(S));
    pipe.InitBuffer(out, kTile * sizeof(D));
    LocalTensor<S> s = in.Get<S>();
    LocalTensor<D> d = out.Get<D>();
    if (scale != 0) SetDeqScale(static_cast<half>(scale));
    for (uint32_t at = 0; at < n; at += kTile) {
        const uint32_t m = n - at < kTile ? n - at : kTile;
        In<S>(s, x + at * sizeof(S), m);
        PipeBarrier<PIPE_ALL>();
        Cast(d, s, static_cast<RoundMode>(mode), m);
        PipeBarrier<PIPE_ALL>();
        Out<D>(z + at * sizeof(D), d, m);
        PipeBarrier<PIPE_ALL>();
    }
}

// z = op(x, y or scalar), a tile at a time.
template <class T> __global__ __aicore__ void lanes_all(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n, int32_t op, float scalar) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> in, other, out;
    pipe.InitBuffer(in, kTile * sizeof(T));
    pipe.InitBuffer(other, kTile * sizeof(T));
    pipe.InitBuffer(out, kTile * sizeof(T));
    LocalTensor<T> a = in.Get<T>(), b = other.Get<T>(), d = out.Get<T>();
    const T s = static_cast<T>(scalar);
    for (uint32_t at = 0; at < n; at += kTile) {
        const uint32_t m = n - at < kTile ? n - at : kTile;
        In<T>(a, x + at * sizeof(T), m);
        In<T>(b, y + at * sizeof(T), m);
        PipeBarrier<PIPE_ALL>();
        if constexpr (!std::is_unsigned_v<T>) {
            switch (op) {
                case 0: Add(d, a, b, m); break;
                case 1: Sub(d, a, b, m); break;
                case 2: Mul(d, a, b, m); break;
                case 3: Max(d, a, b, m); break;
                case 4: Min(d, a, b, m); break;
                case 5: Adds(d, a, s, m); break;
                case 6: Muls(d, a, s, m); break;
                case 7: Maxs(d, a, s, m); break;
                case 8: Mins(d, a, s, m); break;
            }
        }
        if constexpr (std::is_same_v<T, half> || std::is_same_v<T, float>) {
            switch (op) {
                case 10: Abs(d, a, m); break;
                case 11: Exp(d, a, m); break;
                case 12: Ln(d, a, m); break;
                case 13: Sqrt(d, a, m); break;
                case 14: Rsqrt(d, a, m); break;
                case 15: Reciprocal(d, a, m); break;
                case 16: Relu(d, a, m); break;
                case 17: LeakyRelu(d, a, s, m); break;
                case 18: Div(d, a, b, m); break;
                case 19: AddRelu(d, a, b, m); break;
                case 20: SubRelu(d, a, b, m); break;
                case 21: Duplicate(d, s, m); MulAddDst(d, a, b, m); break;
                case 22: Duplicate(d, s, m); FusedMulAdd(d, a, b, m); break;
                case 23: Duplicate(d, s, m); MulAddRelu(d, a, b, m); break;
                case 24: Duplicate(d, s, m); Axpy(d, a, s, m); break;
            }
        } else if constexpr (sizeof(T) == 2) {
            switch (op) {
                case 30: Not(d, a, m); break;
                case 31: And(d, a, b, m); break;
                case 32: Or(d, a, b, m); break;
            }
        }
        if constexpr (std::is_integral_v<T>) {
            switch (op) {
                case 33: ShiftLeft(d, a, s, m); break;
                case 34: ShiftRight(d, a, s, m); break;
                case 35: ShiftRight(d, a, s, static_cast<uint64_t>(256 / sizeof(T)), m * sizeof(T) / 256, {1, 1, 8, 8}, true); break;
                case 36: if constexpr (std::is_same_v<T, int32_t>) Relu(d, a, m); break;
            }
        }
        PipeBarrier<PIPE_ALL>();
        Out<T>(z + at * sizeof(T), d, m);
        PipeBarrier<PIPE_ALL>();
    }
}

#define CAST(number, D, S) case number: cast_all<D, S><<<1, nullptr, stream>>>(x, z, n, mode, scale); break;
extern "C" void cast_do(int pair, void* stream, uint8_t* x, uint8_t* z, uint32_t n, int32_t mode, float scale) {
    switch (pair) {
        CAST(0, float, half)
        CAST(1, int32_t, half)
        CAST(2, int16_t, half)
        CAST(3, int8_t, half)
        CAST(4, uint8_t, half)
        CAST(5, half, float)
        CAST(6, bfloat16_t, float)
        CAST(7, float, float)
        CAST(8, float, bfloat16_t)
        CAST(9, float, int32_t)
        CAST(10, half, int32_t)
        CAST(11, half, int8_t)
        CAST(12, half, uint8_t)
        CAST(13, half, int16_t)
        CAST(14, float, int16_t)
        CAST(15, int64_t, float)
        CAST(16, int32_t, float)
        CAST(17, int16_t, float)
        CAST(18, int32_t, bfloat16_t)
        CAST(19, int16_t, int32_t)
        CAST(20, int64_t, int32_t)
        CAST(21, int32_t, int64_t)
        CAST(22, float, int64_t)
    }
}
#define LANES(number, T) case number: lanes_all<T><<<1, nullptr, stream>>>(x, y, z, n, op, scalar); break;
extern "C" void lanes_do(int type, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, uint32_t n, int32_t op, float scalar) {
    switch (type) {
        LANES(0, half)
        LANES(1, float)
        LANES(2, int16_t)
        LANES(3, int32_t)
        LANES(4, uint16_t)
        LANES(5, uint32_t)
    }
}
