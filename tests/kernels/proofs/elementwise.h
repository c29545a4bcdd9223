// The elementwise calls of the basic interface and the types that each takes on dav-2201.
#pragma once
#include <cstdint>

#define PROOF_BINARY(ONE)                                                                                                                  \
    ONE(Add, half, float, int16_t, int32_t) ONE(Sub, half, float, int16_t, int32_t) ONE(Mul, half, float, int16_t, int32_t)                 \
    ONE(Div, half, float) ONE(Max, half, float, int16_t, int32_t) ONE(Min, half, float, int16_t, int32_t) ONE(And, int16_t, uint16_t)       \
    ONE(Or, int16_t, uint16_t) ONE(AddRelu, half, float, int16_t) ONE(SubRelu, half, float, int16_t) ONE(MulAddDst, half, float)            \
    ONE(FusedMulAdd, half, float) ONE(FusedMulAddRelu, half, float) ONE(MulAddRelu, half, float)
#define PROOF_UNARY(ONE)                                                                                                                   \
    ONE(Abs, half, float) ONE(Sqrt, half, float) ONE(Reciprocal, half, float) ONE(Relu, half, float, int32_t) ONE(Not, int16_t, uint16_t)   \
    ONE(Exp, half, float) ONE(Ln, half, float) ONE(Rsqrt, half, float)
#define PROOF_SCALAR(ONE)                                                                                                                  \
    ONE(Adds, half, float, int16_t, int32_t) ONE(Muls, half, float, int16_t, int32_t) ONE(Maxs, half, float, int16_t, int32_t)              \
    ONE(Mins, half, float, int16_t, int32_t) ONE(LeakyRelu, half, float) ONE(ShiftLeft, int16_t, uint16_t, int32_t, uint32_t)               \
    ONE(ShiftRight, int16_t, uint16_t, int32_t, uint32_t) ONE(Axpy, half, float)
#define PROOF_FILL(ONE) ONE(Duplicate, half, float, int16_t, uint16_t, int32_t, uint32_t)
#define PROOF_CALLS(ONE) PROOF_BINARY(ONE) PROOF_UNARY(ONE) PROOF_SCALAR(ONE) PROOF_FILL(ONE)

enum class Proof : uint32_t {
#define PROOF_ONE(Name, ...) Name,
    PROOF_CALLS(PROOF_ONE)
#undef PROOF_ONE
};
// How the lanes are said: a count; a length or bits beside repeats; the same set before the call; Counter mode, set in the call or before it.
enum class Form : uint32_t { Count, Length, Bits, SetBefore, Counter, CounterBefore };
struct ProofCase {
    uint32_t call, type, form, repeat;
    float scalar;
    uint64_t low, high;  // bits, or a number of lanes in low
    uint32_t dst_block, src0_block, src1_block, dst_repeat, src0_repeat, src1_repeat;
};
