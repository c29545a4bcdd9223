// Sums as trees of neighbours, and extremes.
#include "opmend_sim/reduce.h"

namespace opmend_sim {

template <class T> T tree_sum(const T* lanes, size_t n) {
    constexpr size_t most = 256 / sizeof(T);
    T level[most];
    size_t m = n;
    std::memcpy(level, lanes, n * sizeof(T));
    while (m > 1) {
        const size_t pairs = m / 2;
        for (size_t i = 0; i < pairs; ++i) level[i] = static_cast<T>(level[2 * i] + level[2 * i + 1]);
        if (m % 2) level[pairs] = level[m - 1];
        m = pairs + m % 2;
    }
    return n ? level[0] : T(0);
}

template <class T> T count_sum(const T* lanes, size_t n) {
    constexpr size_t most = 256 / sizeof(T);
    T sum = T(0);
    for (size_t start = 0; start < n; start += most) {
        const T part = tree_sum(lanes + start, n - start < most ? n - start : most);
        sum = start == 0 ? part : static_cast<T>(sum + part);
    }
    return sum;
}

template <class T> size_t extreme(Pick pick, const T* lanes, size_t n) {
    size_t best = 0;
    float kept = static_cast<float>(lanes[0]);
    for (size_t i = 0; i < n; ++i) {
        const float value = static_cast<float>(lanes[i]);
        if (value != value) return i;
        if (pick == Pick::Max ? value > kept : value < kept) {
            best = i;
            kept = value;
        }
    }
    return best;
}

#define OPMEND_REDUCE_OF(T)                     \
    template T tree_sum<T>(const T*, size_t);   \
    template T count_sum<T>(const T*, size_t);  \
    template size_t extreme<T>(Pick, const T*, size_t);
OPMEND_REDUCE_OF(half)
OPMEND_REDUCE_OF(float)

}  // namespace opmend_sim
