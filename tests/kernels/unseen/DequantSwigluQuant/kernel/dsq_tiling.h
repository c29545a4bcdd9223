#pragma once
#include <cstdint>
struct DsqTiling { uint32_t rows, half_cols, half_align, has_quant, quant_type, activate_left; };
