#include "kernel_operator.h"

namespace {
constexpr uint32_t TILE = 1024;
constexpr float K0 = 0.7978845608028654f;
constexpr float K1 = 0.044715f;

template <typename T>
__aicore__ inline void GeluMath(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                                const AscendC::LocalTensor<float>& a, const AscendC::LocalTensor<float>& b, uint32_t n);

template <>
__aicore__ inline void GeluMath<float>(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
                                       const AscendC::LocalTensor<float>& a, const AscendC::LocalTensor<float>& b, uint32_t n)
{
    using namespace AscendC;
    Mul(a, src, src, n);
    Muls(a, a, K1, n);
    Adds(a, a, 1.0f, n);
    Mul(a, a, src, n);
    Muls(a, a, -2.0f * K0, n);
    Mins(a, a, 80.0f, n);
    Exp(a, a, n);
    Adds(a, a, 1.0f, n);
    Div(dst, src, a, n);
}
template <>
__aicore__ inline void GeluMath<half>(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src,
                                      const AscendC::LocalTensor<float>& a, const AscendC::LocalTensor<float>& b, uint32_t n)
{
    AscendC::Cast(b, src, AscendC::RoundMode::CAST_NONE, n);
    AscendC::LocalTensor<float> c = a[TILE];
    GeluMath<float>(c, b, a, b, n);
    AscendC::Cast(dst, c, AscendC::RoundMode::CAST_RINT, n);
}

template <typename T> struct Gelu {
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::QuePosition::VECIN, 1> in;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 1> out;
    AscendC::TBuf<> tmpA;
    AscendC::TBuf<AscendC::QuePosition::VECCALC> tmpB;
    AscendC::GlobalTensor<T> x, y;
    int64_t total, begin, end;

    __aicore__ inline Gelu(GM_ADDR xa, GM_ADDR ya, int64_t total_) : total(total_)
    {
        int64_t blockLen = (total + AscendC::GetBlockNum() - 1) / AscendC::GetBlockNum();
        blockLen = (blockLen + 15) / 16 * 16;
        begin = AscendC::GetBlockIdx() * blockLen;
        end = begin + blockLen;
        if (end > total) end = total;
        x.SetGlobalBuffer((__gm__ T*)xa);
        y.SetGlobalBuffer((__gm__ T*)ya);
        pipe.InitBuffer(in, 2, TILE * sizeof(T));
        pipe.InitBuffer(out, 2, TILE * sizeof(T));
        pipe.InitBuffer(tmpA, 2 * TILE * sizeof(float));
        pipe.InitBuffer(tmpB, TILE * sizeof(float));
    }
    __aicore__ inline void Run()
    {
        for (int64_t off = begin; off < end; off += TILE) {
            uint32_t cur = static_cast<uint32_t>(end - off < TILE ? end - off : TILE);
            {
                auto t = in.AllocTensor<T>();
                AscendC::DataCopyParams cp(1, static_cast<uint16_t>(cur * sizeof(T)), 0, 0);
                AscendC::DataCopyPadParams pp;
                AscendC::DataCopyPad(t, x[off], cp, pp);
                in.EnQue<T>(t);
            }
            {
                auto s = in.DeQue<T>();
                auto d = out.AllocTensor<T>();
                GeluMath<T>(d, s, tmpA.Get<float>(), tmpB.Get<float>(), cur);
                out.EnQue(d);
                in.FreeTensor(s);
            }
            auto d = out.DeQue<T>();
            AscendC::DataCopyPad(y[off], d, AscendC::DataCopyParams(1, static_cast<uint16_t>(cur * sizeof(T)), 0, 0));
            out.FreeTensor(d);
        }
    }
};
}  // namespace

extern "C" __global__ __aicore__ void gelu_f32(GM_ADDR x, GM_ADDR y, int64_t total)
{
    Gelu<float> k(x, y, total);
    k.Run();
}
extern "C" __global__ __aicore__ void gelu_f16(GM_ADDR x, GM_ADDR y, int64_t total)
{
    Gelu<half> k(x, y, total);
    k.Run();
}
