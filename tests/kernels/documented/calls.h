// NAME(type of its data): the calls that kernels/documented runs, by number.
#pragma once
#include <cstdint>

#define DOCUMENTED_CALLS(ONE)                                                                                                              \
    ONE(Sigmoid, float) ONE(Silu, float) ONE(Swish, float) ONE(Gelu, half) ONE(FasterGelu, half) ONE(FasterGeluV2, half) ONE(GeGLU, half)   \
    ONE(ReGlu, float) ONE(Power, float) ONE(Ceil, float) ONE(Floor, float) ONE(Round, float) ONE(Rint, float) ONE(Frac, half)               \
    ONE(Tanh, half) ONE(Sin, half) ONE(Cos, float) ONE(Tan, half) ONE(Atan, half) ONE(Acos, float) ONE(Atanh, float) ONE(Erf, float)        \
    ONE(Erfc, float) ONE(Log, float) ONE(Log2, float) ONE(Log10, float) ONE(Digamma, float) ONE(Fmod, half) ONE(TaylorExp, float)           \
    ONE(Exp, half) ONE(Ln, half) ONE(Abs, half) ONE(Sqrt, half) ONE(Rsqrt, half) ONE(Reciprocal, half) ONE(Relu, half) ONE(Not, int16_t)    \
    ONE(Div, half) ONE(Sub, half) ONE(AddMask, half) ONE(AddBits, half) ONE(AddRepeatStride, half) ONE(AddBlockStride, half)                \
    ONE(AddRelu, half) ONE(SubRelu, half) ONE(MulAddDst, half) ONE(And, int16_t) ONE(Xor, int16_t) ONE(Muls, int16_t) ONE(Maxs, int16_t)    \
    ONE(Mins, int16_t) ONE(LeakyRelu, half) ONE(ShiftLeft, int16_t) ONE(ShiftRight, int16_t) ONE(Axpy, half) ONE(ClampMax, half)            \
    ONE(CreateVecIndex, int16_t) ONE(Duplicate, half) ONE(AddReluCast, half) ONE(SubReluCast, half) ONE(ReduceMaxRows, float)               \
    ONE(ReduceMinRows, float) ONE(ReduceSumRows, float) ONE(ReduceMeanRows, float) ONE(ReduceAnyRows, float) ONE(ReduceAllRows, float)      \
    ONE(ReduceXorSum, int16_t) ONE(Sum, half) ONE(PairReduceSum, half) ONE(BlockReduceSum, half) ONE(BlockReduceMax, half)                  \
    ONE(WholeReduceMax, half) ONE(WholeReduceMin, half) ONE(WholeReduceSum, half) ONE(ReduceSum, half) ONE(CumSumLast, float)               \
    ONE(CumSumFirst, float) ONE(BroadCast, float) ONE(Transpose, half) ONE(SoftMax, float) ONE(SimpleSoftMax, float)                        \
    ONE(LogSoftMax, float) ONE(SoftmaxGrad, float) ONE(SoftmaxGradFront, float) ONE(RmsNorm, float) ONE(BatchNorm, float)                   \
    ONE(GroupNorm, float) ONE(DeepNorm, float) ONE(AscendAntiQuant, half) ONE(SelectBytes, half)

enum class Documented : uint32_t {
#define DOCUMENTED_ONE(Name, Type) Name,
    DOCUMENTED_CALLS(DOCUMENTED_ONE)
#undef DOCUMENTED_ONE
};
struct DocumentedCase {
    uint32_t call, m, k, used;
    float scalar, epsilon;
};
