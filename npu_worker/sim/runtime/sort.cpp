// Sorting by score: stable, largest first, NaN before all.
#include "opmend_sim/sort.h"

#include <algorithm>
#include <vector>

namespace opmend_sim {
namespace {

// Whether score a comes before score b. -0 and 0 are equal.
bool before(float a, float b) {
    if (a != a) return b == b;
    return a > b;
}
// Order of n elements of `stride` T's by their score.
template <class T> std::vector<uint32_t> order_of(const T* scores, size_t n, uint32_t stride) {
    std::vector<uint32_t> order(n);
    for (size_t i = 0; i < n; ++i) order[i] = static_cast<uint32_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
        return before(static_cast<float>(scores[static_cast<size_t>(x) * stride]), static_cast<float>(scores[static_cast<size_t>(y) * stride]));
    });
    return order;
}

}  // namespace

template <class T> void sort_elements(T* dst, const T* scores, const uint32_t* indices, size_t n) {
    const std::vector<uint32_t> order = order_of(scores, n, 1);
    std::vector<uint64_t> sorted(n);
    std::vector<bool> lost(n);
    const bool some = unwritten(indices, n * 4);
    for (size_t i = 0; i < n; ++i) {
        uint32_t score = 0;  // the bytes between a half score and the index are reserved; 0 here
        std::memcpy(&score, scores + order[i], sizeof(T));
        sorted[i] = static_cast<uint64_t>(indices[order[i]]) << 32 | score;
        lost[i] = some && unwritten(indices + order[i], 4);
    }
    std::memcpy(dst, sorted.data(), n * 8);
    mark_written(dst, n * 8);
    if (some)
        for (size_t i = 0; i < n; ++i)
            if (lost[i]) mark_unwritten(reinterpret_cast<uint8_t*>(dst) + i * 8 + 4, 4);
}

template <class T>
void merge_queues(T* dst, const SortedQueue<T>* queues, uint32_t count, bool until_exhausted, uint16_t taken[4], uint32_t stride, uint32_t score) {
    uint32_t at[4] = {};
    uint64_t out = 0;
    for (;;) {
        int best = -1;
        bool exhausted = false;
        for (uint32_t q = 0; q < count; ++q) {
            if (at[q] >= queues[q].length) {
                exhausted = true;
                continue;
            }
            const auto mine = static_cast<float>(queues[q].data[static_cast<uint64_t>(at[q]) * stride + score]);
            if (best < 0 || before(mine,
                static_cast<float>(queues[best].data[static_cast<uint64_t>(at[best]) * stride + score]))) best = static_cast<int>(q);
        }
        if (best < 0 || (until_exhausted && exhausted)) break;
        const T* element = queues[best].data + static_cast<uint64_t>(at[best]) * stride;
        join(dst + out * stride, element, stride * sizeof(T));
        std::memmove(dst + out * stride, element, stride * sizeof(T));
        ++at[best];
        ++out;
    }
    for (uint32_t q = 0; q < 4; ++q) taken[q] = static_cast<uint16_t>(at[q]);
}

template <class T> void sort_proposals(T* dst, const T* src, size_t n) {
    const std::vector<uint32_t> order = order_of(src + 4, n, 8);
    std::vector<T> sorted(8 * n);
    std::vector<bool> lost(8 * n);
    const bool some = unwritten(src, 8 * n * sizeof(T));
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < 8; ++k) {
            const T* from = src + 8 * static_cast<size_t>(order[i]) + k;
            sorted[8 * i + k] = *from;
            lost[8 * i + k] = some && unwritten(from, sizeof(T));
        }
    std::memcpy(dst, sorted.data(), 8 * n * sizeof(T));
    mark_written(dst, 8 * n * sizeof(T));
    if (some)
        for (size_t i = 0; i < 8 * n; ++i)
            if (lost[i]) mark_unwritten(dst + i, sizeof(T));
}

#define OPMEND_SORT_OF(T)                                                                                                   \
    template void sort_elements<T>(T*, const T*, const uint32_t*, size_t);                                                  \
    template void merge_queues<T>(T*, const SortedQueue<T>*, uint32_t, bool, uint16_t[4], uint32_t, uint32_t);              \
    template void sort_proposals<T>(T*, const T*, size_t);
OPMEND_SORT_OF(half)
OPMEND_SORT_OF(float)

}  // namespace opmend_sim
