// How matrices lie in memory: plain rows (ND), fractals (NZ and the formats of L0), and the batch layouts of the Matmul object.
// Sources: pages "LoadData", "Mmad", "Fixpipe", "IterateBatch" and the fractal formats page of the public AscendC documentation.
#pragma once
#include <cstdint>

enum class CubeFormat : uint8_t { ND, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR, COLUMN_MAJOR };
enum class LayoutMode : uint8_t { NONE, BSNGD, SBNGD, BNGS1S2, NORMAL };

namespace AscendC {
using ::CubeFormat;
using ::LayoutMode;
inline constexpr int32_t BLOCK_CUBE = 16;
inline constexpr int32_t CUBE_MAX_SIZE = 256;
}  // namespace AscendC

namespace opmend_sim {

constexpr uint64_t ceil_to(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }
// Columns of one fractal: 32 bytes wide, 16 rows high, 512 bytes.
constexpr uint32_t fractal_columns(uint32_t element_bytes) { return 32 / element_bytes; }

// A matrix as it is stored: `rows` x `columns` before any transposition. The distance of two elements in memory:
//   ND: rows of `leading` elements; NZ: fractals of 16 x c0 columnwise, each column of fractals `leading` rows high.
struct Stored {
    CubeFormat format = CubeFormat::ND;
    uint64_t leading = 0;
    uint32_t c0 = 16;
    uint64_t at(uint64_t row, uint64_t column) const {
        if (format == CubeFormat::NZ) return column / c0 * leading * c0 + row * c0 + column % c0;
        return row * leading + column;
    }
    // Elements from (row, column) on that lie side by side.
    uint64_t run(uint64_t column) const { return format == CubeFormat::NZ ? c0 - column % c0 : ~0ull; }
};

}  // namespace opmend_sim
