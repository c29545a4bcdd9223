// Calls that reduce, compare or move lanes, beside elementwise.h.
#pragma once
#include <cstdint>

#define LINE_CALLS(ONE)                                                                                                                    \
    ONE(ReduceSum) ONE(ReduceMax) ONE(ReduceMin) ONE(WholeReduceSum) ONE(WholeReduceMax) ONE(WholeReduceMin) ONE(RepeatReduceSum)           \
    ONE(BlockReduceSum) ONE(BlockReduceMax) ONE(BlockReduceMin) ONE(PairReduceSum) ONE(Copy) ONE(CreateVecIndex) ONE(CompareScalar)         \
    ONE(Compares) ONE(Gather) ONE(Cast) ONE(Brcb) ONE(Floor) ONE(Ceil) ONE(Round) ONE(Trunc) ONE(Frac) ONE(Sign) ONE(ArithProgression)                 \
    ONE(Arange) ONE(ClampMax) ONE(ClampMin) ONE(BroadCastRows) ONE(BroadCastColumns) ONE(ReGlu) ONE(Fmod)

enum class Line : uint32_t {
#define LINE_ONE(Name) Name,
    LINE_CALLS(LINE_ONE)
#undef LINE_ONE
};
struct LineCase {
    uint32_t call, type, bitwise, repeat, order;
    float scalar;
    uint64_t low, high;
    uint32_t block, stride;  // of the source in a repeat, and between repeats
};
