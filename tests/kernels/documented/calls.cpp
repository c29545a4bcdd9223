// The calls that documentation prints numbers for, each once. Four sources and three results are areas of bytes; results have what was there before.
#include "calls.h"
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t kLong = 20480, kArea = 4096;
constexpr CumSumConfig LAST_AXIS{true, false, true}, FIRST_AXIS{false, false, true};

template <class T> struct Areas {
    LocalTensor<T> s[4], d[3];
};

extern "C" __global__ __aicore__ void documented(GM_ADDR in, GM_ADDR out, DocumentedCase c) {
    GlobalTensor<uint8_t> from, to;
    from.SetGlobalBuffer((__gm__ uint8_t*)in);
    to.SetGlobalBuffer((__gm__ uint8_t*)out);
    TPipe pipe;
    TBuf<TPosition::VECCALC> sources, results, scratch;
    pipe.InitBuffer(sources, kLong + 3 * kArea);
    pipe.InitBuffer(results, 3 * kArea);
    pipe.InitBuffer(scratch, kLong);
    LocalTensor<uint8_t> source = sources.Get<uint8_t>(), result = results.Get<uint8_t>(), tmp = scratch.Get<uint8_t>();
    DataCopy(source, from, kLong + 3 * kArea);
    DataCopy(result, to, 3 * kArea);
    PipeBarrier<PIPE_ALL>();
    Areas<float> f;
    Areas<half> h;
    Areas<int16_t> w;
    for (uint32_t i = 0; i < 4; ++i) {
        LocalTensor<uint8_t> area = source[i ? kLong + (i - 1) * kArea : 0];
        area.SetSize(i ? kArea : kLong);
        f.s[i] = area.ReinterpretCast<float>(), h.s[i] = area.ReinterpretCast<half>(), w.s[i] = area.ReinterpretCast<int16_t>();
    }
    for (uint32_t i = 0; i < 3; ++i) {
        LocalTensor<uint8_t> area = result[i * kArea];
        area.SetSize(kArea);
        f.d[i] = area.ReinterpretCast<float>(), h.d[i] = area.ReinterpretCast<half>(), w.d[i] = area.ReinterpretCast<int16_t>();
    }
    const uint32_t n = c.used, shape[2] = {c.m, c.k};
    uint64_t bits[2] = {~0ull, 0};
    const SoftMaxShapeInfo rows{c.m, c.k, c.m, c.k};
    SoftMaxTiling softmax;
    const half hs = static_cast<half>(c.scalar);
    const auto ws = static_cast<int16_t>(c.scalar);
    switch (static_cast<Documented>(c.call)) {
        case Documented::Sigmoid: Sigmoid(f.d[0], f.s[0], tmp, n); break;
        case Documented::Silu: Silu(f.d[0], f.s[0], n); break;
        case Documented::Swish: Swish(f.d[0], f.s[0], n, c.scalar); break;
        case Documented::Gelu: Gelu(h.d[0], h.s[0], tmp, n); break;
        case Documented::FasterGelu: FasterGelu(h.d[0], h.s[0], n); break;
        case Documented::FasterGeluV2: FasterGeluV2(h.d[0], h.s[0], n); break;
        case Documented::GeGLU: GeGLU(h.d[0], h.s[0], h.s[1], n); break;
        case Documented::ReGlu: ReGlu(f.d[0], f.s[0], f.s[1], n); break;
        case Documented::Power: Power<float, false>(f.d[0], f.s[0], f.s[1], n); break;
        case Documented::Ceil: Ceil(f.d[0], f.s[0], tmp, n); break;
        case Documented::Floor: Floor(f.d[0], f.s[0], tmp, n); break;
        case Documented::Round: Round(f.d[0], f.s[0], tmp, n); break;
        case Documented::Rint: Cast(f.d[0], f.s[0], RoundMode::CAST_RINT, n); break;
        case Documented::Frac: Frac(h.d[0], h.s[0], n); break;
        case Documented::Tanh: Tanh(h.d[0], h.s[0], tmp, n); break;
        case Documented::Sin: Sin(h.d[0], h.s[0], tmp, n); break;
        case Documented::Cos: Cos(f.d[0], f.s[0], tmp, n); break;
        case Documented::Tan: Tan(h.d[0], h.s[0], tmp, n); break;
        case Documented::Atan: Atan(h.d[0], h.s[0], tmp, n); break;
        case Documented::Acos: Acos(f.d[0], f.s[0], tmp, n); break;
        case Documented::Atanh: Atanh(f.d[0], f.s[0], tmp, n); break;
        case Documented::Erf: Erf(f.d[0], f.s[0], tmp, n); break;
        case Documented::Erfc: Erfc(f.d[0], f.s[0], tmp, n); break;
        case Documented::Log: Log(f.d[0], f.s[0], n); break;
        case Documented::Log2: Log2(f.d[0], f.s[0], tmp, n); break;
        case Documented::Log10: Log10(f.d[0], f.s[0], n); break;
        case Documented::Digamma: Digamma(f.d[0], f.s[0], tmp, n); break;
        case Documented::Fmod: Fmod(h.d[0], h.s[0], h.s[1], tmp, n); break;
        case Documented::TaylorExp: Exp<float, 15, false>(f.d[0], f.s[0], tmp, n); break;
        case Documented::Exp: Exp(h.d[0], h.s[0], n); break;
        case Documented::Ln: Ln(h.d[0], h.s[0], n); break;
        case Documented::Abs: Abs(h.d[0], h.s[0], n); break;
        case Documented::Sqrt: Sqrt(h.d[0], h.s[0], n); break;
        case Documented::Rsqrt: Rsqrt(h.d[0], h.s[0], n); break;
        case Documented::Reciprocal: Reciprocal(h.d[0], h.s[0], n); break;
        case Documented::Relu: Relu(h.d[0], h.s[0], n); break;
        case Documented::Not: Not(w.d[0], w.s[0], n); break;
        case Documented::Div: Div(h.d[0], h.s[0], h.s[1], n); break;
        case Documented::Sub: Sub(h.d[0], h.s[0], h.s[1], n); break;
        case Documented::AddMask: Add(h.d[0], h.s[0], h.s[1], static_cast<uint64_t>(64), 4, {1, 1, 1, 8, 8, 8}); break;
        case Documented::AddBits: Add(h.d[0], h.s[0], h.s[1], bits, 4, {1, 1, 1, 8, 8, 8}); break;
        case Documented::AddRepeatStride: Add(h.d[0], h.s[0], h.s[1], static_cast<uint64_t>(128), 2, {1, 1, 1, 8, 16, 8}); break;
        case Documented::AddBlockStride: Add(h.d[0], h.s[0], h.s[1], static_cast<uint64_t>(128), 2, {1, 2, 1, 8, 16, 8}); break;
        case Documented::AddRelu: AddRelu(h.d[0], h.s[0], h.s[1], n); break;
        case Documented::SubRelu: SubRelu(h.d[0], h.s[0], h.s[1], n); break;
        case Documented::MulAddDst: MulAddDst(h.d[0], h.s[0], h.s[1], n); break;
        case Documented::And: And(w.d[0], w.s[0], w.s[1], n); break;
        case Documented::Xor: Xor(w.d[0], w.s[0], w.s[1], n); break;
        case Documented::Muls: Muls(w.d[0], w.s[0], ws, n); break;
        case Documented::Maxs: Maxs(w.d[0], w.s[0], ws, n); break;
        case Documented::Mins: Mins(w.d[0], w.s[0], ws, n); break;
        case Documented::LeakyRelu: LeakyRelu(h.d[0], h.s[0], hs, n); break;
        case Documented::ShiftLeft: ShiftLeft(w.d[0], w.s[0], ws, n); break;
        case Documented::ShiftRight: ShiftRight(w.d[0], w.s[0], ws, n); break;
        case Documented::Axpy: Axpy(h.d[0], h.s[0], hs, n); break;
        case Documented::ClampMax: ClampMax<half>(h.d[0], h.s[0], tmp, hs, n); break;
        case Documented::CreateVecIndex: CreateVecIndex(w.d[0], ws, n); break;
        case Documented::Duplicate: Duplicate(h.d[0], hs, n); break;
        case Documented::AddReluCast: AddReluCast(h.d[0].ReinterpretCast<int8_t>(), h.s[0], h.s[1], n); break;
        case Documented::SubReluCast: SubReluCast(h.d[0].ReinterpretCast<int8_t>(), h.s[0], h.s[1], n); break;
        case Documented::ReduceMaxRows: ReduceMax<float, Pattern::Reduce::AR>(f.d[0], f.s[0], tmp, shape, true); break;
        case Documented::ReduceMinRows: ReduceMin<float, Pattern::Reduce::AR>(f.d[0], f.s[0], tmp, shape, true); break;
        case Documented::ReduceSumRows: ReduceSum<float, Pattern::Reduce::AR>(f.d[0], f.s[0], tmp, shape, true); break;
        case Documented::ReduceMeanRows: ReduceMean<float, Pattern::Reduce::AR>(f.d[0], f.s[0], tmp, shape, true); break;
        case Documented::ReduceAnyRows: ReduceAny<float, Pattern::Reduce::AR>(f.d[0], f.s[0], tmp, shape, true); break;
        case Documented::ReduceAllRows: ReduceAll<float, Pattern::Reduce::AR>(f.d[0], f.s[0], tmp, shape, true); break;
        case Documented::ReduceXorSum: ReduceXorSum<int16_t, false>(w.d[0], w.s[0], w.s[1], tmp, n); break;
        case Documented::Sum: Sum(h.d[0], h.s[0], tmp, SumParams{c.m, c.k, c.used}); break;
        case Documented::PairReduceSum: PairReduceSum<half>(h.d[0], h.s[0], c.m, 128, 1, 1, 8); break;
        case Documented::BlockReduceSum: BlockReduceSum<half>(h.d[0], h.s[0], c.m, 128, 1, 1, 8); break;
        case Documented::BlockReduceMax: BlockReduceMax<half>(h.d[0], h.s[0], c.m, 128, 1, 1, 8); break;
        case Documented::WholeReduceMax: WholeReduceMax<half>(h.d[0], h.s[0], 128, c.m, 1, 1, 8, static_cast<ReduceOrder>(c.k)); break;
        case Documented::WholeReduceMin: WholeReduceMin<half>(h.d[0], h.s[0], 128, c.m, 1, 1, 8); break;
        case Documented::WholeReduceSum: WholeReduceSum<half>(h.d[0], h.s[0], 128, c.m, 1, 1, 8); break;
        case Documented::ReduceSum: ReduceSum<half>(h.d[0], h.s[0], h.s[1], 128, c.m, 8); break;
        case Documented::CumSumLast: CumSum<float, LAST_AXIS>(f.d[0], f.d[1], f.s[0], CumSumInfo{c.m, c.k}); break;
        case Documented::CumSumFirst: CumSum<float, FIRST_AXIS>(f.d[0], f.d[1], f.s[0], CumSumInfo{c.m, c.k}); break;
        case Documented::BroadCast: {
            const uint32_t column[2] = {c.m, 1};
            BroadCast<float, 2, 1>(f.d[0], f.s[0], shape, column);
            break;
        }
        case Documented::Transpose: Transpose(h.d[0], h.s[0]); break;
        case Documented::SoftMax: SoftMax<float>(f.d[0], f.d[1], f.d[2], f.s[0], softmax, rows); break;
        case Documented::SimpleSoftMax: SimpleSoftMax<float>(f.d[0], f.s[1], f.s[2], f.s[0], softmax, rows); break;
        case Documented::LogSoftMax: {
            LogSoftMaxTiling log;
            log.srcM = c.m, log.srcK = c.k;
            LogSoftMax<float>(f.d[0], f.d[1], f.d[2], f.s[0], log);
            break;
        }
        case Documented::SoftmaxGrad: SoftmaxGrad<float>(f.d[0], f.s[0], f.s[1], softmax, false, rows); break;
        case Documented::SoftmaxGradFront: SoftmaxGradFront<float>(f.d[0], f.s[0], f.s[1], tmp, softmax, rows); break;
        case Documented::RmsNorm: {
            RmsNormTiling t;
            t.bLength = 1, t.sLength = c.m, t.hLength = c.k, t.originalHLength = c.k;
            RmsNorm<float>(f.d[0], f.s[0], f.s[1], c.epsilon, t);
            break;
        }
        case Documented::BatchNorm: {
            BatchNormTiling t;
            t.originalBLength = c.m, t.sLength = 1, t.hLength = c.k;
            BatchNorm<float>(f.d[0], f.d[1], f.d[2], f.s[0], f.s[1], f.s[2], tmp, c.epsilon, t);
            break;
        }
        case Documented::GroupNorm: {
            GroupNormTiling t;
            t.n = 2, t.c = c.m, t.g = c.used, t.hw = c.k;
            GroupNorm<float>(f.d[0], f.d[1], f.d[2], f.s[0], f.s[1], f.s[2], c.epsilon, t);
            break;
        }
        case Documented::DeepNorm: {
            DeepNormTiling t;
            t.bLength = 1, t.sLength = c.m, t.hLength = c.k;
            DeepNorm<float>(f.d[0], f.d[1], f.d[2], f.s[0], f.s[1], f.s[3], f.s[2], tmp, c.scalar, c.epsilon, t);
            break;
        }
        case Documented::AscendAntiQuant: {
            LocalTensor<int8_t> codes = h.s[0].ReinterpretCast<int8_t>();
            codes.SetSize(c.m * c.k);
            AscendAntiQuant<int8_t, half, false>(h.d[0], codes, h.s[1], h.s[2], tmp, c.m, AntiQuantShapeInfo{1, c.k, 1, c.k});
            break;
        }
        case Documented::SelectBytes: {  // page SelectWithBytesMask
            LocalTensor<uint8_t> mask = h.s[1].ReinterpretCast<uint8_t>();
            Select(h.d[0], h.s[0], hs, mask, tmp, SelectWithBytesMaskShapeInfo{c.m, c.k, c.k});
            break;
        }
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, result, 3 * kArea);
}
void documented_do(uint8_t* in, uint8_t* out, DocumentedCase c) { documented<<<1, nullptr, nullptr>>>(in, out, c); }
