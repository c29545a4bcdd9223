// Sums as trees of neighbours, and extremes.
#include "opmend_sim/reduce.h"

namespace opmend_sim {
namespace {

// One level of the tree: out[i] = in[2i] + in[2i+1] for `pairs` pairs, rounded to T. out may be in.
template <class T> void add_neighbours(const float* in, float* out, size_t pairs) {
    size_t i = 0;
#if defined(__AVX2__) && defined(__F16C__)
    for (; i + 8 <= pairs; i += 8) {
        const __m256 sums = _mm256_hadd_ps(_mm256_loadu_ps(in + 2 * i), _mm256_loadu_ps(in + 2 * i + 8));
        __m256 ordered = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(sums), 0xd8));
        if constexpr (std::is_same_v<T, half>) ordered = _mm256_cvtph_ps(_mm256_cvtps_ph(ordered, _MM_FROUND_TO_NEAREST_INT));
        _mm256_storeu_ps(out + i, ordered);
    }
#endif
    for (; i < pairs; ++i) out[i] = static_cast<float>(T(in[2 * i] + in[2 * i + 1]));
}

template <class T> const float* widened(const T* lanes, float* room, size_t n) {
    if constexpr (std::is_same_v<T, float>) return lanes;
    else {
        size_t i = 0;
#if defined(__F16C__)
        for (; i + 8 <= n; i += 8) _mm256_storeu_ps(room + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes + i))));
#endif
        for (; i < n; ++i) room[i] = static_cast<float>(lanes[i]);
        return room;
    }
}

}  // namespace

template <class T> T tree_sum(const T* lanes, size_t n) {
    constexpr size_t most = 256 / sizeof(T);
    if (n == 0) return T(0);
    float room[most], level[most / 2 + 1];
    const float* from = widened(lanes, room, n);
    while (n > 1) {
        const size_t pairs = n / 2;
        const float odd = from[n - 1];
        add_neighbours<T>(from, level, pairs);
        if (n % 2) level[pairs] = odd;
        n = pairs + n % 2;
        from = level;
    }
    return T(from[0]);
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

template <class T> T tree_of_sums(T* sums, size_t n) {
    constexpr size_t most = 256 / sizeof(T);
    while (n > 1) {
        size_t next = 0;
        for (size_t start = 0; start < n; start += most) {
            const T part = tree_sum(sums + start, n - start < most ? n - start : most);
            sums[next++] = part;
        }
        n = next;
    }
    return n ? sums[0] : T(0);
}

template <class T> size_t extreme(Pick pick, const T* lanes, size_t n) {
    // Blocks: first the block's extreme as a float, without a branch; then its place, and only if it beats what was found.
    constexpr size_t block = 256;
    size_t best = 0;
    float kept = 0;
    bool any = false;
    for (size_t start = 0; start < n; start += block) {
        const size_t m = n - start < block ? n - start : block;
        float room[block];
        const float* x = widened(lanes + start, room, m);
        float top[8];
        bool nan = false;
        for (size_t k = 0; k < 8; ++k) top[k] = x[0];
        size_t i = 0;
        if (pick == Pick::Max)
            for (; i + 8 <= m; i += 8)
                for (size_t k = 0; k < 8; ++k) top[k] = x[i + k] > top[k] ? x[i + k] : top[k];
        else
            for (; i + 8 <= m; i += 8)
                for (size_t k = 0; k < 8; ++k) top[k] = x[i + k] < top[k] ? x[i + k] : top[k];
        for (; i < m; ++i) top[0] = (pick == Pick::Max ? x[i] > top[0] : x[i] < top[0]) ? x[i] : top[0];
        for (size_t k = 0; k < m; ++k) nan |= x[k] != x[k];
        if (nan)
            for (size_t k = 0; k < m; ++k)
                if (x[k] != x[k]) return start + k;
        float here = top[0];
        for (size_t k = 1; k < 8; ++k) here = (pick == Pick::Max ? top[k] > here : top[k] < here) ? top[k] : here;
        if (any && !(pick == Pick::Max ? here > kept : here < kept)) continue;
        any = true;
        kept = here;
        for (size_t k = 0; k < m; ++k)
            if (x[k] == here) {
                best = start + k;
                break;
            }
    }
    return best;
}

#define OPMEND_REDUCE_OF(T)                     \
    template T tree_sum<T>(const T*, size_t);   \
    template T count_sum<T>(const T*, size_t);  \
    template T tree_of_sums<T>(T*, size_t);     \
    template size_t extreme<T>(Pick, const T*, size_t);
OPMEND_REDUCE_OF(half)
OPMEND_REDUCE_OF(float)

}  // namespace opmend_sim
