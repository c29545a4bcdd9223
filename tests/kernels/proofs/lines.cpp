// One call a case: the source has 8192 bytes, the result 4096.
#include "kernel_operator.h"
#include "lines.h"
using namespace AscendC;

template <class T> __global__ __aicore__ void lines(GM_ADDR x, GM_ADDR y, GM_ADDR z, LineCase c) {
    GlobalTensor<T> gx, gz;
    GlobalTensor<uint32_t> gy;
    gx.SetGlobalBuffer((__gm__ T*)x);
    gy.SetGlobalBuffer((__gm__ uint32_t*)y);
    gz.SetGlobalBuffer((__gm__ T*)z);
    TPipe pipe;
    TBuf<QuePosition::VECCALC> first, second, result, scratch;
    pipe.InitBuffer(first, 8192);
    pipe.InitBuffer(second, 4096);
    pipe.InitBuffer(result, 4096);
    pipe.InitBuffer(scratch, 8192);
    LocalTensor<T> a = first.Get<T>(), d = result.Get<T>(), t = scratch.Get<T>();
    LocalTensor<uint32_t> w = second.Get<uint32_t>();
    LocalTensor<uint8_t> tmp = scratch.Get<uint8_t>();
    DataCopy(a, gx, 8192 / sizeof(T));
    DataCopy(w, gy, 1024);
    DataCopy(d, gz, 4096 / sizeof(T));
    PipeBarrier<PIPE_ALL>();
    uint64_t bits[2] = {c.low, c.high};
    const auto length = static_cast<int32_t>(c.low), repeat = static_cast<int32_t>(c.repeat), block = static_cast<int32_t>(c.block),
               stride = static_cast<int32_t>(c.stride);
    const auto times = static_cast<uint8_t>(c.repeat);
    const T s = static_cast<T>(c.scalar);
    const auto n = static_cast<uint32_t>(c.low);
    const auto order = static_cast<ReduceOrder>(c.order);
    const uint32_t wide[2] = {16, 32}, column[2] = {16, 1}, row[2] = {1, 32};
    using Other = std::conditional_t<std::is_same_v<T, half>, float, half>;
    switch (static_cast<Line>(c.call)) {
#define LINE_REDUCE(Name, ...)                                                          \
    case Line::Name:                                                                    \
        if (c.bitwise) Name(d, a, t, bits, repeat, stride __VA_ARGS__);                 \
        else Name(d, a, t, length, repeat, stride __VA_ARGS__);                         \
        break;
        LINE_REDUCE(ReduceSum)
        LINE_REDUCE(ReduceMax, , true)
        LINE_REDUCE(ReduceMin, , true)
#undef LINE_REDUCE
#define LINE_REDUCE(Name, ...)                                                          \
    case Line::Name:                                                                    \
        if (c.bitwise) Name(d, a, bits, repeat, 1, block, stride __VA_ARGS__);          \
        else Name(d, a, length, repeat, 1, block, stride __VA_ARGS__);                  \
        break;
        LINE_REDUCE(WholeReduceSum)
        LINE_REDUCE(WholeReduceMax, , order)
        LINE_REDUCE(WholeReduceMin, , order)
#undef LINE_REDUCE
#define LINE_REDUCE(Name)                                                               \
    case Line::Name:                                                                    \
        if (c.bitwise) Name(d, a, repeat, bits, 1, block, stride);                      \
        else Name(d, a, repeat, length, 1, block, stride);                              \
        break;
        LINE_REDUCE(BlockReduceSum)
        LINE_REDUCE(BlockReduceMax)
        LINE_REDUCE(BlockReduceMin)
        LINE_REDUCE(PairReduceSum)
#undef LINE_REDUCE
        case Line::RepeatReduceSum: RepeatReduceSum(d, a, repeat, length, 0, block, 1, stride); break;
        case Line::Copy: {
            const CopyRepeatParams p(1, static_cast<uint16_t>(block), 8, static_cast<uint16_t>(stride));
            if (c.bitwise) Copy(d, a, bits, times, p);
            else Copy(d, a, c.low, times, p);
            break;
        }
        case Line::CreateVecIndex:
            if (c.order == 1) CreateVecIndex(d, s, n);
            else if (c.bitwise) CreateVecIndex(d, s, bits, times, 1, 8);
            else CreateVecIndex(d, s, c.low, times, 1, 8);
            break;
#define LINE_COMPARE(Name)                                                                                                                 \
    case Line::Name:                                                                                                                       \
        if (c.order < 8) Name(result.Get<uint8_t>(), a, s, static_cast<CMPMODE>(c.order), n);                                               \
        else Name(result.Get<uint8_t>(), a, s, static_cast<CMPMODE>(c.order - 8), c.low, times, UnaryRepeatParams(1, 1, 8, c.stride));       \
        break;
        LINE_COMPARE(CompareScalar)
        LINE_COMPARE(Compares)
#undef LINE_COMPARE
        case Line::Gather:
            if (c.bitwise) Gather(d, a, w, 0u, bits, times, 8);
            else Gather(d, a, w, 0u, c.low, times, 8);
            break;
        case Line::Cast: {
            LocalTensor<Other> to = result.Get<Other>();
            const UnaryRepeatParams p(1, 1, sizeof(Other) == 4 ? 8 : 4, sizeof(Other) == 4 ? 4 : 8);
            const RoundMode mode = sizeof(Other) == 4 ? RoundMode::CAST_NONE : RoundMode::CAST_FLOOR;
            if (c.order == 1) Cast(to, a, mode, n);
            else if (c.bitwise) Cast(to, a, mode, bits, times, p);
            else Cast(to, a, mode, c.low, times, p);
            break;
        }
        case Line::Brcb: {
            const BrcbRepeatParams p(static_cast<uint16_t>(c.block), static_cast<uint16_t>(c.stride));
            Brcb(d, a, times, p);
            break;
        }
        case Line::Floor: Floor(d, a, tmp, n); break;
        case Line::Ceil: Ceil(d, a, n); break;
        case Line::Round: Round(d, a, tmp, n); break;
        case Line::Trunc: Trunc(d, a, n); break;
        case Line::Frac: Frac(d, a, n); break;
        case Line::Sign: Sign(d, a, n); break;
        case Line::ArithProgression: ArithProgression(d, s, static_cast<T>(2), static_cast<int32_t>(n)); break;
        case Line::Arange: Arange(d, s, static_cast<T>(2), static_cast<int32_t>(n)); break;
        case Line::ClampMax: ClampMax<T>(d, a, tmp, s, n); break;
        case Line::ClampMin: ClampMin<T>(d, a, tmp, s, n); break;
        case Line::BroadCastRows: BroadCast<T, 2, 0>(d, a, wide, row); break;
        case Line::BroadCastColumns: BroadCast<T, 2, 1>(d, a, wide, column); break;
        case Line::ReGlu: ReGlu(d, a, a[1024], n); break;
        case Line::Fmod: Fmod(d, a, a[1024], n); break;
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, d, 4096 / sizeof(T));
}
void lines_do(uint8_t* x, uint8_t* y, uint8_t* z, LineCase c) {
    if (c.type) lines<float><<<1, nullptr, nullptr>>>(x, y, z, c);
    else lines<half><<<1, nullptr, nullptr>>>(x, y, z, c);
}
