#include "common.h"

constexpr uint32_t kTile = 4096;

// z = op(x, y) for a tile at a time, through queues as people write them.
template <class T> class Elementwise {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n) {
        n_ = n;
        x_ = x;
        y_ = y;
        z_ = z;
        pipe.InitBuffer(inX, 2, kTile * sizeof(T));
        pipe.InitBuffer(inY, 2, kTile * sizeof(T));
        pipe.InitBuffer(outZ, 2, kTile * sizeof(T));
        pipe.InitBuffer(scratch, kTile * sizeof(T));
    }
    __aicore__ inline void Process(int32_t op, float scalar) {
        for (uint32_t offset = 0; offset < n_; offset += kTile) {
            const uint32_t m = n_ - offset < kTile ? n_ - offset : kTile;
            LocalTensor<T> x = inX.template AllocTensor<T>(), y = inY.template AllocTensor<T>();
            Load<T>(x, x_ + offset * sizeof(T), m);
            Load<T>(y, y_ + offset * sizeof(T), m);
            inX.EnQue(x);
            inY.EnQue(y);
            x = inX.template DeQue<T>();
            y = inY.template DeQue<T>();
            LocalTensor<T> z = outZ.template AllocTensor<T>();
            switch (op) {
                case 0: Add(z, x, y, m); break;
                case 1: Sub(z, x, y, m); break;
                case 2: Mul(z, x, y, m); break;
                case 3: Div(z, x, y, m); break;
                case 4: Max(z, x, y, m); break;
                case 5: Min(z, x, y, m); break;
                case 6: Abs(z, x, m); break;
                case 7: Relu(z, x, m); break;
                case 8: Sqrt(z, x, m); break;
                case 9: Exp(z, x, m); break;
                case 10: Ln(z, x, m); break;
                case 11: Reciprocal(z, x, m); break;
                case 12: Tanh(z, x, scratch.template Get<uint8_t>(), m); break;
                case 13: Adds(z, x, static_cast<T>(scalar), m); break;
                case 14: Muls(z, x, static_cast<T>(scalar), m); break;
                case 15: Duplicate(z, static_cast<T>(scalar), m); break;
                case 16: DataCopy(z, y, kTile); Axpy(z, x, static_cast<T>(scalar), m); break;
                case 17: {  // x < y ? x : 0, over whole repeats
                    LocalTensor<uint8_t> bits = scratch.template Get<uint8_t>();
                    Compare(bits, x, y, CMPMODE::LT, kTile);
                    Select(z, bits, x, static_cast<T>(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, m);
                    break;
                }
                case 18: {  // the same lanes by masks: the first half of every repeat
                    constexpr uint64_t half_mask = 128 / sizeof(T);
                    Duplicate(z, static_cast<T>(0), kTile);
                    Add(z, x, y, half_mask, static_cast<uint8_t>(kTile * sizeof(T) / 256), {1, 1, 1, 8, 8, 8});
                    break;
                }
                case 19: {  // scalar arithmetic
                    for (uint32_t i = 0; i < m; ++i) z.SetValue(i, x.GetValue(i) * y.GetValue(i) + x.GetValue(i));
                    break;
                }
                case 20: {  // every second lane by mask bits
                    Duplicate(z, static_cast<T>(0), kTile);
                    uint64_t bits[2] = {0x5555555555555555ull, 0x5555555555555555ull};
                    Adds(z, x, static_cast<T>(scalar), bits, static_cast<uint8_t>(kTile * sizeof(T) / 256), {1, 1, 8, 8});
                    break;
                }
            }
            outZ.EnQue(z);
            inX.FreeTensor(x);
            inY.FreeTensor(y);
            z = outZ.template DeQue<T>();
            Store<T>(z_ + offset * sizeof(T), z, m);
            outZ.FreeTensor(z);
        }
    }

private:
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inX, inY;
    TQue<TPosition::VECOUT, 2> outZ;
    TBuf<TPosition::VECCALC> scratch;
    GM_ADDR x_;
    GM_ADDR y_;
    GM_ADDR z_;
    uint32_t n_;
};

template <class T> __global__ __aicore__ void elementwise(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n, int32_t op, float scalar) {
    Elementwise<T> kernel;
    kernel.Init(x, y, z, n);
    kernel.Process(op, scalar);
}

extern "C" void elementwise_do(int is_half, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, uint32_t n, int32_t op, float scalar) {
    if (is_half) {
        elementwise<half><<<1, nullptr, stream>>>(x, y, z, n, op, scalar);
    } else {
        elementwise<float>
            <<<1, nullptr, stream>>>(x, y, z, n, op, scalar);
    }
}

// Reductions of one tile: z[0..] = the result.
template <class T> __global__ __aicore__ void reduce(GM_ADDR x, GM_ADDR z, uint32_t n, int32_t op) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> in, work, out;
    pipe.InitBuffer(in, 16384 * sizeof(T));
    pipe.InitBuffer(work, 4096 * sizeof(T));
    pipe.InitBuffer(out, 4096 * sizeof(T));
    LocalTensor<T> s = in.Get<T>(), w = work.Get<T>(), d = out.Get<T>();
    constexpr int32_t most = 256 / sizeof(T);
    const auto repeats = static_cast<int32_t>(n / most);
    Load<T>(s, x, n);
    Duplicate(d, static_cast<T>(0), 4096);
    switch (op) {
        case 0: ReduceSum(d, s, w, n); break;
        case 1: ReduceSum(d, s, w, most, repeats, 8); break;
        case 2: ReduceMax(d, s, w, n, true); break;
        case 3: ReduceMin(d, s, w, n, true); break;
        case 4: WholeReduceSum(d, s, most, repeats, 1, 1, 8); break;
        case 5: BlockReduceSum(d, s, repeats, most, 1, 1, 8); break;
        case 6: WholeReduceMax(d, s, most, repeats, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE); break;
    }
    Store<T>(z, d, 512);
}

extern "C" void reduce_do(int is_half, void* stream, uint8_t* x, uint8_t* z, uint32_t n, int32_t op) {
    if (is_half) reduce<half><<<1, nullptr, stream>>>(x, z, n, op);
    else reduce<float><<<1, nullptr, stream>>>(x, z, n, op);
}
