#ifndef MATMUL_TRANS_A_TILING_H
#define MATMUL_TRANS_A_TILING_H
#include <cstdint>

// A is [K, M], B is [K, N], C is [M, N].
struct MatmulTransATiling {
    int64_t m;
    int64_t n;
    int64_t k;
};

constexpr int64_t TILE_M = 8;
constexpr int64_t TILE_N = 256;
constexpr int64_t TILE_K = 32;

#endif  // MATMUL_TRANS_A_TILING_H
