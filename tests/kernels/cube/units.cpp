#include "kernel_operator.h"

using namespace AscendC;

// One product by the cube unit's own calls, on one cube core. load: 0 LoadData (2D), 1 LoadDataWithTranspose, 2 LoadData (3D).
struct Units {
    int32_t m, n, k, transposeA, transposeB, loadA, loadB, bias, out, relu, quant, halves;
    int32_t height, width, channels, filter, pad, stride;  // a convolution, if filter > 0: A is a feature map C1, H, W, C0
    int32_t scaleLow, scaleHigh, fault;
};

__aicore__ inline uint16_t Up(int32_t value, int32_t unit) { return static_cast<uint16_t>((value + unit - 1) / unit * unit); }
__aicore__ inline uint16_t Over(int32_t value, int32_t unit) { return static_cast<uint16_t>((value + unit - 1) / unit); }

inline constexpr IsResetLoad3dConfig kByHand = {false, false};

template <class T, class L0C, class C> class UnitProduct {
public:
    __aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR scales, const Units& u) {
        aGlobal.SetGlobalBuffer((__gm__ T*)a);
        bGlobal.SetGlobalBuffer((__gm__ T*)b);
        biasGlobal.SetGlobalBuffer((__gm__ L0C*)bias);
        cGlobal.SetGlobalBuffer((__gm__ C*)c);
        scaleGlobal.SetGlobalBuffer((__gm__ uint64_t*)scales);
        pipe.InitBuffer(a1, 1, 65536);
        pipe.InitBuffer(b1, 1, 65536);
        pipe.InitBuffer(a2, 1, 32768);
        pipe.InitBuffer(b2, 1, 32768);
        pipe.InitBuffer(co1, 1, u.fault == 1 ? 512 : 65536);
        pipe.InitBuffer(c1, 1, 1024);
        pipe.InitBuffer(c2, 1, 1024);
        pipe.InitBuffer(s1, 1, 2048);
        CopyIn(u);
        LoadLeft(u);
        LoadRight(u);
        Multiply(u);
        if constexpr (std::is_same_v<T, C> && sizeof(T) == 2) {
            if (u.out == 3) return Chain(u);
        }
        CopyOut(u);
    }

private:
    // (A x B) x B, for n == k: the first product goes back to L1 in fractals, rounded, and is the left matrix of the second one.
    __aicore__ inline void Chain(const Units& u) {
        auto result = co1.template DeQue<L0C>();
        auto left = a1.template AllocTensor<T>();
        FixpipeParamsV220 p(u.n, u.m, Up(u.m, 16), Up(u.m, 16) * 16 * sizeof(C) / 32, u.relu);
        p.quantPre = static_cast<QuantMode_t>(u.quant);
        Fixpipe<C, L0C, CFG_NZ>(left, result, p);
        co1.FreeTensor(result);
        a1.EnQue(left);
        auto right = b1.template AllocTensor<T>();
        if (u.transposeB) DataCopy(right, bGlobal, Nd2NzParams(1, u.n, u.k, 0, u.k, Up(u.n, 16), 1, 0));
        else DataCopy(right, bGlobal, Nd2NzParams(1, u.k, u.n, 0, u.n, Up(u.k, deep), 1, 0));
        b1.EnQue(right);
        Units second = u;
        second.transposeA = second.loadA = second.out = 0;
        LoadLeft(second);
        LoadRight(second);
        Multiply(second);
        CopyOut(second);
    }

    static constexpr int32_t c0 = 32 / sizeof(T), squares = sizeof(T) == 2 ? 1 : 2, fractal = 16 * c0;
    // Rows of L1's fractal columns where the loads turn squares of bytes.
    static constexpr int32_t deep = sizeof(T) == 1 ? 32 : 16;

    __aicore__ inline void CopyIn(const Units& u) {
        auto left = a1.template AllocTensor<T>();
        auto right = b1.template AllocTensor<T>();
        if (u.fault == 2) Fill(left, InitConstValueParams<T>(1, Over(u.channels, c0) * u.height * u.width + 4, 0, T(2.0f)));
        if (u.filter) DataCopy(left, aGlobal, Over(u.channels, c0) * u.height * u.width * c0);
        else if (u.transposeA) DataCopy(left, aGlobal, Nd2NzParams(1, u.k, u.m, 0, u.m, Up(u.k, deep), 1, 0));
        else DataCopy(left, aGlobal, Nd2NzParams(1, u.m, u.k, 0, u.k, Up(u.m, 16), 1, 0));
        if (u.transposeB) DataCopy(right, bGlobal, Nd2NzParams(1, u.n, u.k, 0, u.k, Up(u.n, 16), 1, 0));
        else DataCopy(right, bGlobal, Nd2NzParams(1, u.k, u.n, 0, u.n, Up(u.k, deep), 1, 0));
        a1.EnQue(left);
        b1.EnQue(right);
    }
    __aicore__ inline void LoadLeft(const Units& u) {
        auto from = a1.template DeQue<T>();
        auto to = a2.template AllocTensor<T>();
        const uint16_t depth = Over(u.k, c0);
        if (u.filter || u.loadA == 2) {
            LoadData3DParamsV2<T> p;
            if (u.filter) {
                for (int32_t i = 0; i < 4; ++i) p.padList[i] = static_cast<uint8_t>(u.pad);
                p.l1H = u.height, p.l1W = u.width, p.channelSize = u.channels;
                p.kExtension = u.k, p.mExtension = u.m;
                p.strideW = p.strideH = static_cast<uint8_t>(u.stride), p.filterW = p.filterH = static_cast<uint8_t>(u.filter);
            } else {
                p.l1H = 1;
                p.l1W = u.transposeA ? Up(u.k, 16) : Up(u.m, 16);
                p.channelSize = u.transposeA ? Up(u.m, c0) : Up(u.k, c0);
                p.kExtension = p.channelSize, p.mExtension = p.l1W;
                p.enTranspose = u.transposeA;
            }
            if (u.fault == 2) {  // padding of ones, by the registers
                SetFmatrix(static_cast<uint16_t>(u.height), static_cast<uint16_t>(u.width), p.padList, FmatrixMode::FMATRIX_LEFT);
                SetLoadDataPaddingValue<T>(T(1.0f));
                p.l1H = p.l1W = 0;
                LoadData<T, kByHand>(to, from, p);
            } else {
                LoadData(to, from, p);
            }
        } else if (!u.transposeA) {
            LoadData2DParams p;
            p.repeatTimes = static_cast<uint8_t>(depth), p.srcStride = Over(u.m, 16);
            for (int32_t i = 0; i < Over(u.m, 16); ++i) LoadData(to[i * depth * fractal], from[i * fractal], p);
        } else if (u.loadA == 0) {
            LoadData2DParams p;
            p.repeatTimes = static_cast<uint8_t>(depth), p.srcStride = 1, p.ifTranspose = true;
            for (int32_t i = 0; i < Over(u.m, 16); ++i) LoadData(to[i * depth * fractal], from[i * depth * fractal], p);
        } else {
            const uint16_t times = Over(u.k, deep);
            LoadData2dTransposeParams p(0, static_cast<uint8_t>(times), 1, 0, depth - 1);
            for (int32_t i = 0; i < Over(u.m, c0); ++i)
                LoadDataWithTranspose(to[i * squares * depth * fractal], from[i * times * squares * fractal], p);
        }
        a1.FreeTensor(from);
        a2.EnQue(to);
    }
    __aicore__ inline void LoadRight(const Units& u) {
        auto from = b1.template DeQue<T>();
        auto to = b2.template AllocTensor<T>();
        const uint16_t wide = Over(u.n, 16);
        if (u.transposeB) {
            LoadData2DParams p;
            p.repeatTimes = static_cast<uint8_t>(wide), p.srcStride = 1;
            for (int32_t j = 0; j < Over(u.k, c0); ++j) LoadData(to[j * wide * fractal], from[j * wide * fractal], p);
        } else if (u.loadB == 2) {
            LoadData3DParamsV2<T> p;
            p.l1H = 1, p.l1W = Up(u.k, 16), p.channelSize = Up(u.n, c0), p.kExtension = p.channelSize, p.mExtension = p.l1W;
            LoadData(to, from, p);
        } else if (u.loadB == 0) {
            LoadData2DParams p;
            p.repeatTimes = static_cast<uint8_t>(wide), p.srcStride = Over(u.k, 16), p.ifTranspose = true;
            for (int32_t j = 0; j < Over(u.k, 16); ++j) LoadData(to[j * wide * fractal], from[j * fractal], p);
        } else {
            const uint16_t times = Over(u.n, c0);
            LoadData2dTransposeParams p(0, static_cast<uint8_t>(times), Over(u.k, deep), squares - 1, 0);
            for (int32_t j = 0; j < Over(u.k, deep); ++j)
                LoadDataWithTranspose(to[j * times * squares * fractal], from[j * squares * fractal], p);
        }
        b1.FreeTensor(from);
        b2.EnQue(to);
    }
    __aicore__ inline void Multiply(const Units& u) {
        auto left = a2.template DeQue<T>();
        auto right = b2.template DeQue<T>();
        auto result = co1.template AllocTensor<L0C>();
        MmadParams p;
        p.m = u.m, p.n = u.n, p.k = u.k;
        p.kDirectionAlign = sizeof(T) == 4 && !u.transposeB;
        if (u.fault >= 4) {  // HF32, rounded to even or toward zero
            SetHF32Mode(true);
            SetHF32TransMode(u.fault == 5);
        }
        if (u.bias) {
            auto first = c1.template AllocTensor<L0C>();
            DataCopy(first, biasGlobal, Up(u.n, 16));
            c1.EnQue(first);
            first = c1.template DeQue<L0C>();
            auto table = c2.template AllocTensor<L0C>();
            DataCopy(table, first, DataCopyParams(1, Over(u.n, 16), 0, 0));
            c1.FreeTensor(first);
            c2.EnQue(table);
            table = c2.template DeQue<L0C>();
            p.cmatrixInitVal = false;
            Mmad(result, left, right, table, p);
            c2.FreeTensor(table);
        } else {
            Mmad(result, left, right, p);
        }
        for (int32_t i = 0; i < u.halves; ++i) {  // the same again, on top
            p.cmatrixInitVal = false;
            PipeBarrier<PIPE_M>();
            Mmad(result, left, right, p);
        }
        a2.FreeTensor(left);
        b2.FreeTensor(right);
        co1.EnQue(result);
    }
    __aicore__ inline void CopyOut(const Units& u) {
        auto result = co1.template DeQue<L0C>();
        const auto mode = static_cast<QuantMode_t>(u.quant);
        const uint64_t scale = static_cast<uint64_t>(static_cast<uint32_t>(u.scaleHigh)) << 32 | static_cast<uint32_t>(u.scaleLow);
        if (u.out == 2) {
            DataCopyCO12DstParams p(u.n, u.m, u.n, Up(u.m, 16), mode, u.relu, false, true);
            SetFixpipeNz2ndFlag(1, 1, 1);
            SetFixpipePreQuantFlag(scale);
            DataCopy(cGlobal, result, p);
        } else {
            FixpipeParamsV220 p(u.n, u.m, Up(u.m, 16), u.out == 1 ? Up(u.m, 16) * 16 * sizeof(C) / 32 : u.n, u.relu);
            p.quantPre = mode;
            p.deqScalar = scale;
            if (u.out == 1) {
                Fixpipe<C, L0C, CFG_NZ>(cGlobal, result, p);
            } else if (mode == VDEQF16 || mode == VQF322B8_PRE || mode == VREQ8) {
                auto scales = s1.template AllocTensor<uint64_t>();
                DataCopy(scales, scaleGlobal, Up(u.n, 4));
                s1.EnQue(scales);
                scales = s1.template DeQue<uint64_t>();
                Fixpipe(cGlobal, result, scales, p);
                s1.FreeTensor(scales);
            } else {
                Fixpipe(cGlobal, result, p);
            }
        }
        co1.FreeTensor(result);
    }
    TPipe pipe;
    TQue<TPosition::A1, 1> a1;
    TQue<TPosition::B1, 1> b1;
    TQue<TPosition::A2, 1> a2;
    TQue<TPosition::B2, 1> b2;
    TQue<TPosition::CO1, 1> co1;
    TQue<TPosition::C1, 1> c1, s1;
    TQue<TPosition::C2, 1> c2;
    GlobalTensor<T> aGlobal, bGlobal;
    GlobalTensor<L0C> biasGlobal;
    GlobalTensor<C> cGlobal;
    GlobalTensor<uint64_t> scaleGlobal;
};

extern "C" __global__ __aicore__ void units_kernel(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR scales, GM_ADDR requested, int32_t types) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Units units;
    auto from = reinterpret_cast<__gm__ int32_t*>(requested);
    auto to = reinterpret_cast<int32_t*>(&units);
    for (uint32_t i = 0; i < sizeof(Units) / sizeof(int32_t); ++i) to[i] = from[i];
    switch (types) {
        case 0: { UnitProduct<half, float, float> one; one.Run(a, b, bias, c, scales, units); break; }
        case 1: { UnitProduct<half, float, half> one; one.Run(a, b, bias, c, scales, units); break; }
        case 2: { UnitProduct<bfloat16_t, float, bfloat16_t> one; one.Run(a, b, bias, c, scales, units); break; }
        case 3: { UnitProduct<float, float, float> one; one.Run(a, b, bias, c, scales, units); break; }
        case 4: { UnitProduct<int8_t, int32_t, int32_t> one; one.Run(a, b, bias, c, scales, units); break; }
        case 5: { UnitProduct<int8_t, int32_t, half> one; one.Run(a, b, bias, c, scales, units); break; }
        case 6: { UnitProduct<half, float, int8_t> one; one.Run(a, b, bias, c, scales, units); break; }
    }
}

extern "C" void units_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* bias, uint8_t* c, uint8_t* scales, uint8_t* request, int32_t types) {
    units_kernel<<<1, nullptr, stream>>>(a, b, bias, c, scales, request, types);
}
