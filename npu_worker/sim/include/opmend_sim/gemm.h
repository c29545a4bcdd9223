// The multiply-accumulate of the cube unit. One order of additions on every machine: each element of the result starts at its initial value
// (zero, the bias, or what is accumulated on) and gets its products one by one, k ascending, each rounded to float, then added and rounded to
// float. So neither base sizes nor vector width change a bit. What order hardware takes inside a step of 16 is not documented.
// Products of two half or bfloat16 values are exact in float. int8 accumulates in int32 with wrap-around, in any order.
#pragma once
#include <cstdint>
#include <vector>

#include "opmend_sim/copy.h"

namespace opmend_sim {

// Element types of matrices. copy.h's Element lacks the unsigned ones, which atomics can't take.
enum class Cell : uint8_t { Other, Half, Bfloat, Float, Int8, Uint8, Int32 };
template <class T> constexpr Cell cell_of() {
    if constexpr (std::is_same_v<T, half>) return Cell::Half;
    else if constexpr (std::is_same_v<T, bfloat16_t>) return Cell::Bfloat;
    else if constexpr (std::is_same_v<T, float>) return Cell::Float;
    else if constexpr (std::is_same_v<T, int8_t>) return Cell::Int8;
    else if constexpr (std::is_same_v<T, uint8_t>) return Cell::Uint8;
    else if constexpr (std::is_same_v<T, int32_t>) return Cell::Int32;
    else return Cell::Other;
}
constexpr uint32_t bytes_of(Cell cell) {
    return cell == Cell::Float || cell == Cell::Int32 ? 4 : cell == Cell::Half || cell == Cell::Bfloat ? 2 : 1;
}
constexpr bool is_integer(Cell cell) { return cell == Cell::Int8 || cell == Cell::Uint8 || cell == Cell::Int32; }
constexpr Element element_of(Cell cell) {
    switch (cell) {
        case Cell::Half: return Element::Half;
        case Cell::Bfloat: return Element::Bfloat;
        case Cell::Float: return Element::Float;
        case Cell::Int8: return Element::Int8;
        case Cell::Int32: return Element::Int32;
        default: return Element::Other;
    }
}

// Columns of the right matrix that lie side by side when packed.
inline constexpr uint32_t kPanel = 16;

// Left: rows x k, row by row. Right: panels of kPanel columns, k x kPanel each (columns past n are zero).
// Result: rows of `leading` elements, leading a multiple of kPanel and at least n.
void multiply_add(float* result, uint64_t leading, const float* left, const float* right, uint32_t m, uint32_t n, uint32_t k);
void multiply_add(int32_t* result, uint64_t leading, const int32_t* left, const int32_t* right, uint32_t m, uint32_t n, uint32_t k);

// Converts `count` elements that lie side by side, exactly.
void widen(float* out, const void* in, uint64_t count, Cell cell);
void widen(int32_t* out, const void* in, uint64_t count, Cell cell);
// float to HF32: 11 bits of fraction. toward_zero: ties go toward zero, else to even.
void round_to_hf32(float* values, uint64_t count, bool toward_zero);

// Results to their stored type: float to half and bfloat16 round half to even; with a scale (its float bits in the low word, a signed 9-bit
// offset from bit 37 on, bit 46: signed) int32 to half, float or int32 to int8 and uint8 with saturation.
struct Scale {
    const uint64_t* values = nullptr;  // one for all columns, or one a column
    bool by_column = false;
};
// `first`: the column of the first element.
void narrow(void* out, const float* in, uint64_t count, uint64_t first, Cell cell, Scale scale);
void narrow(void* out, const int32_t* in, uint64_t count, uint64_t first, Cell cell, Scale scale);

}  // namespace opmend_sim
