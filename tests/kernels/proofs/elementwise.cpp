// Every elementwise call in every form, chosen by its number: dst, src0 and src1 are buffers of 4096 bytes.
#include "elementwise.h"
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t kBytes = 4096;
template <class T, class... U> constexpr bool among = (std::is_same_v<T, U> || ...);

template <class T> __global__ __aicore__ void prove(GM_ADDR x, GM_ADDR y, GM_ADDR z, ProofCase c) {
    GlobalTensor<T> gx, gy, gz;
    gx.SetGlobalBuffer((__gm__ T*)x);
    gy.SetGlobalBuffer((__gm__ T*)y);
    gz.SetGlobalBuffer((__gm__ T*)z);
    constexpr uint32_t all = kBytes / sizeof(T);
    TPipe pipe;
    TBuf<TPosition::VECCALC> first, second, result;
    pipe.InitBuffer(first, kBytes);
    pipe.InitBuffer(second, kBytes);
    pipe.InitBuffer(result, kBytes);
    LocalTensor<T> a = first.Get<T>(), b = second.Get<T>(), d = result.Get<T>();
    DataCopy(a, gx, all);
    DataCopy(b, gy, all);
    DataCopy(d, gz, all);
    PipeBarrier<PIPE_ALL>();
    const auto form = static_cast<Form>(c.form);
    const T s = static_cast<T>(c.scalar);
    const auto count = static_cast<int32_t>(c.low);
    const auto repeat = static_cast<uint8_t>(c.repeat);
    uint64_t bits[2] = {c.low, c.high};
    const BinaryRepeatParams two(c.dst_block, c.src0_block, c.src1_block, c.dst_repeat, c.src0_repeat, c.src1_repeat);
    const UnaryRepeatParams one(c.dst_block, c.src0_block, c.dst_repeat, c.src0_repeat);
    const bool before = form == Form::SetBefore || form == Form::CounterBefore;
    if (form == Form::Counter || form == Form::CounterBefore) SetMaskCount();
    if (form == Form::SetBefore) SetVectorMask<T, MaskMode::NORMAL>(c.high, c.low);
    if (form == Form::CounterBefore) SetVectorMask<T, MaskMode::COUNTER>(0, c.low);
    switch (static_cast<Proof>(c.call)) {
#define PROOF_RUN(Name, counted, by_bits, by_length, by_register, ...)                  \
    case Proof::Name:                                                                   \
        if constexpr (among<T, __VA_ARGS__>) {                                          \
            if (form == Form::Count) Name counted;                                      \
            else if (form == Form::Bits) Name<T> by_bits;                               \
            else if (before) Name<T, false> by_register;                                \
            else Name<T> by_length;                                                     \
        }                                                                               \
        break;
#define PROOF_ONE(Name, ...) PROOF_RUN(Name, (d, a, b, count), (d, a, b, bits, repeat, two), (d, a, b, c.low, repeat, two), (d, a, b, MASK_PLACEHOLDER, repeat, two), __VA_ARGS__)
        PROOF_BINARY(PROOF_ONE)
#undef PROOF_ONE
#define PROOF_ONE(Name, ...) PROOF_RUN(Name, (d, a, count), (d, a, bits, repeat, one), (d, a, c.low, repeat, one), (d, a, MASK_PLACEHOLDER, repeat, one), __VA_ARGS__)
        PROOF_UNARY(PROOF_ONE)
#undef PROOF_ONE
#undef PROOF_RUN
#define PROOF_RUN(Name, ...)                                                            \
    case Proof::Name:                                                                   \
        if constexpr (among<T, __VA_ARGS__>) {                                          \
            if (form == Form::Count) Name(d, a, s, count);                              \
            else if (form == Form::Bits) Name(d, a, s, bits, repeat, one);              \
            else if (before) PROOF_BEFORE(Name);                                        \
            else Name(d, a, s, c.low, repeat, one);                                     \
        }                                                                               \
        break;
#define PROOF_BEFORE(Name) PROOF_BEFORE_##Name
#define PROOF_BEFORE_Adds Adds<T, false>(d, a, s, MASK_PLACEHOLDER, repeat, one)
#define PROOF_BEFORE_Muls Muls<T, false>(d, a, s, MASK_PLACEHOLDER, repeat, one)
#define PROOF_BEFORE_Maxs Maxs<T, false>(d, a, s, MASK_PLACEHOLDER, repeat, one)
#define PROOF_BEFORE_Mins Mins<T, false>(d, a, s, MASK_PLACEHOLDER, repeat, one)
#define PROOF_BEFORE_LeakyRelu LeakyRelu<T, false>(d, a, s, MASK_PLACEHOLDER, repeat, one)
#define PROOF_BEFORE_ShiftLeft ShiftLeft<T, false>(d, a, s, MASK_PLACEHOLDER, repeat, one)
#define PROOF_BEFORE_ShiftRight ShiftRight<T, false>(d, a, s, MASK_PLACEHOLDER, repeat, one)
#define PROOF_BEFORE_Axpy Axpy<T, T, false>(d, a, s, MASK_PLACEHOLDER, repeat, one)
        PROOF_SCALAR(PROOF_RUN)
#undef PROOF_RUN
        case Proof::Duplicate:
            if (form == Form::Count) Duplicate(d, s, count);
            else if (form == Form::Bits) Duplicate(d, s, bits, repeat, c.dst_block, c.dst_repeat);
            else if (before) Duplicate<T, false>(d, s, MASK_PLACEHOLDER, repeat, c.dst_block, c.dst_repeat);
            else Duplicate(d, s, c.low, repeat, c.dst_block, c.dst_repeat);
            break;
    }
    SetMaskNorm();
    ResetMask();
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, d, all);
}
void elementwise_do(uint8_t* x, uint8_t* y, uint8_t* z, ProofCase c) {
    switch (c.type) {
        case 0: prove<half><<<1, nullptr, nullptr>>>(x, y, z, c); break;
        case 1: prove<float><<<1, nullptr, nullptr>>>(x, y, z, c); break;
        case 2: prove<int16_t><<<1, nullptr, nullptr>>>(x, y, z, c); break;
        case 3: prove<uint16_t><<<1, nullptr, nullptr>>>(x, y, z, c); break;
        case 4: prove<int32_t><<<1, nullptr, nullptr>>>(x, y, z, c); break;
        case 5: prove<uint32_t><<<1, nullptr, nullptr>>>(x, y, z, c); break;
    }
}
