// Rows of lanes, for the loops of the high-level library: compiled once in runtime/, whatever the element type. Values are computed in float
// and rounded once when they are stored; what was not written stays so in the results (shadow.h).
#pragma once
#include "opmend_sim/vector.h"

namespace opmend_sim {

enum class Number : uint8_t { None, Half, BFloat16, Float, Int8, UInt8, Int16, UInt16, Int32, UInt32 };
template <class T> constexpr Number number_of() {
    if constexpr (std::is_same_v<T, half>) return Number::Half;
    else if constexpr (std::is_same_v<T, bfloat16_t>) return Number::BFloat16;
    else if constexpr (std::is_same_v<T, float>) return Number::Float;
    else if constexpr (std::is_same_v<T, int8_t>) return Number::Int8;
    else if constexpr (std::is_same_v<T, uint8_t> || std::is_same_v<T, bool>) return Number::UInt8;
    else if constexpr (std::is_same_v<T, int16_t>) return Number::Int16;
    else if constexpr (std::is_same_v<T, uint16_t>) return Number::UInt16;
    else if constexpr (std::is_same_v<T, int32_t>) return Number::Int32;
    else return Number::UInt32;
}
size_t size_of(Number number);

// Lanes of one type in local memory; none at all where an operand is left out.
struct Lanes {
    void* data = nullptr;
    Number number = Number::None;
    explicit operator bool() const { return data != nullptr; }
    void* at(size_t index) const { return static_cast<uint8_t*>(data) + index * size_of(number); }
};
void load(const Lanes& from, size_t first, size_t n, float* to);
// Integers are rounded half to even and saturate.
void store(const Lanes& to, size_t first, size_t n, const float* from);
inline bool unwritten(const Lanes& lanes, size_t first, size_t n) { return n && unwritten(lanes.at(first), n * size_of(lanes.number)); }
// Says of n lanes that they were written, or (where what they were computed from was not) that they were not.
void mark(const Lanes& lanes, size_t first, size_t n, bool written);

// An operand that is read or written, checked for `count` elements. Loops mark what they write.
template <class T> Lanes read(const AscendC::LocalTensor<T>& tensor, uint64_t count, const char* call, const char* operand, Where where) {
    return Lanes{const_cast<T*>(source(tensor, count, call, operand, where)), number_of<T>()};
}
template <class T> Lanes written(const AscendC::LocalTensor<T>& tensor, uint64_t count, const char* call, const char* operand, Where where) {
    return Lanes{target_of_lanes(tensor, count, call, operand, where), number_of<T>()};
}
inline uint32_t aligned(uint32_t lanes, uint32_t size) { return (lanes * size + 31) / 32 * 32 / size; }

}  // namespace opmend_sim
