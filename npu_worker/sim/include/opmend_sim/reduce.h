// Reductions. Sums of a repeat are a tree of neighbours; the count form adds the repeats in order (research/ascendc.md).
#pragma once
#include "opmend_sim/vector.h"

namespace opmend_sim {
enum class Pick : uint8_t { Max, Min };
// The tree sum of n <= 256/sizeof(T) lanes (absent lanes count as 0), each node rounded to T.
template <class T> T tree_sum(const T* lanes, size_t n);
// Sum over n lanes: a tree in each repeat, then the repeats one after the other.
template <class T> T count_sum(const T* lanes, size_t n);
// The extreme lane and its index; the smallest index wins a tie, NaN wins over numbers.
template <class T> size_t extreme(Pick pick, const T* lanes, size_t n);
// The lanes of repeat r that the mask selects, close together: the tree needs them at their places, so absent ones are `absent`.
template <class T> size_t gathered(T* to, const T* from, const Mask& mask, uint64_t r, uint32_t lanes_a_repeat, const Walk& way, T absent) {
    size_t last = 0;
    for (uint32_t lane = 0; lane < lanes_a_repeat; ++lane) {
        const bool on = mask.counter ? r * lanes_a_repeat + lane < mask.count : (lane < 64 ? mask.low >> lane & 1 : mask.high >> (lane - 64) & 1);
        to[lane] = on ? *moved(from, way.at(r, lane)) : absent;
        if (on) last = lane + 1;
    }
    return last;
}
template <class T> T index_bits(uint32_t index) {
    T bits;
    if constexpr (sizeof(T) == 2) {
        const auto narrow = static_cast<uint16_t>(index);
        std::memcpy(&bits, &narrow, 2);
    } else {
        std::memcpy(&bits, &index, 4);
    }
    return bits;
}
template <class T> T worst(Pick pick) {
    return pick == Pick::Max ? (std::numeric_limits<T>::has_infinity ? T(-std::numeric_limits<float>::infinity()) : std::numeric_limits<T>::lowest())
                             : (std::numeric_limits<T>::has_infinity ? T(std::numeric_limits<float>::infinity()) : std::numeric_limits<T>::max());
}
template <class T>
void pick_count(Pick pick, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, int32_t count, bool index, const char* call, Where where) {
    if (count <= 0) fail("reduce-count", std::string(call) + " over " + std::to_string(count) + " elements", where);
    const T* from = source(src, static_cast<uint64_t>(count), call, "src", where);
    observe(from, static_cast<uint64_t>(count) * sizeof(T), call, "src", where, src.buffer());
    T* to = target(dst, index ? 2 : 1, call, "dst", where);
    const size_t best = extreme(pick, from, static_cast<size_t>(count));
    to[0] = from[best];
    if (index) to[1] = index_bits<T>(static_cast<uint32_t>(best));
}
template <class T>
void pick_repeats(Pick pick, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Mask& mask, int32_t repeat, int32_t src_stride,
                  bool index, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk way = walk<T>(1, static_cast<uint64_t>(src_stride));
    const T* from = reached_source(src, mask, most, static_cast<uint32_t>(repeat), way, call, "src", where);
    observe_reached(src, mask, most, static_cast<uint32_t>(repeat), way, call, "src", where);
    T* to = target(dst, index ? 2 : 1, call, "dst", where);
    T best = worst<T>(pick);
    uint32_t at = 0;
    bool any = false;
    for (int32_t r = 0; r < repeat; ++r) {
        T lanes[most];
        const size_t n = gathered(lanes, from, mask, static_cast<uint64_t>(r), most, way, worst<T>(pick));
        if (n == 0) continue;
        const size_t here = extreme(pick, lanes, n);
        if (!any || (pick == Pick::Max ? lanes[here] > best : lanes[here] < best)) {
            best = lanes[here];
            at = static_cast<uint32_t>((way.at(static_cast<uint64_t>(r), static_cast<uint32_t>(here))) / sizeof(T));
            any = true;
        }
    }
    to[0] = best;
    if (index) to[1] = index_bits<T>(at);
}
template <class T>
void whole_sum(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Mask& mask, int32_t repeat, int32_t dst_stride,
               int32_t block_stride, int32_t src_stride, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk way = walk<T>(static_cast<uint64_t>(block_stride), static_cast<uint64_t>(src_stride));
    const uint32_t repeats = mask.counter ? static_cast<uint32_t>((mask.count + most - 1) / most) : static_cast<uint32_t>(repeat);
    const T* from = reached_source(src, mask, most, repeats, way, call, "src", where);
    observe_reached(src, mask, most, repeats, way, call, "src", where);
    T* to = target(dst, repeats ? static_cast<uint64_t>(repeats - 1) * static_cast<uint64_t>(dst_stride) + 1 : 0, call, "dst", where);
    for (uint32_t r = 0; r < repeats; ++r) {
        T lanes[most];
        gathered(lanes, from, mask, r, most, way, T(0));
        to[static_cast<uint64_t>(r) * static_cast<uint64_t>(dst_stride)] = tree_sum(lanes, most);
    }
}
template <class T>
void whole_pick(Pick pick, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Mask& mask, int32_t repeat, int32_t dst_stride,
                int32_t block_stride, int32_t src_stride, AscendC::ReduceOrder order, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk way = walk<T>(static_cast<uint64_t>(block_stride), static_cast<uint64_t>(src_stride));
    const uint32_t repeats = mask.counter ? static_cast<uint32_t>((mask.count + most - 1) / most) : static_cast<uint32_t>(repeat);
    const T* from = reached_source(src, mask, most, repeats, way, call, "src", where);
    observe_reached(src, mask, most, repeats, way, call, "src", where);
    const bool pair = order == AscendC::ReduceOrder::ORDER_VALUE_INDEX || order == AscendC::ReduceOrder::ORDER_INDEX_VALUE;
    const uint64_t step = static_cast<uint64_t>(dst_stride) * (pair ? 2 : 1);
    T* to = target(dst, repeats ? (repeats - 1) * step + (pair ? 2 : 1) : 0, call, "dst", where);
    for (uint32_t r = 0; r < repeats; ++r) {
        T lanes[most];
        const size_t n = gathered(lanes, from, mask, r, most, way, worst<T>(pick));
        const size_t best = n ? extreme(pick, lanes, n) : 0;
        const T index = index_bits<T>(static_cast<uint32_t>(best));
        T* place = to + r * step;
        switch (order) {
            case AscendC::ReduceOrder::ORDER_VALUE_INDEX: place[0] = lanes[best]; place[1] = index; break;
            case AscendC::ReduceOrder::ORDER_INDEX_VALUE: place[0] = index; place[1] = lanes[best]; break;
            case AscendC::ReduceOrder::ORDER_ONLY_VALUE: place[0] = lanes[best]; break;
            case AscendC::ReduceOrder::ORDER_ONLY_INDEX: place[0] = index; break;
        }
    }
}
// One result a group of `group` lanes (a 32-byte block, or a pair).
template <class T, class F>
void group_reduce(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Mask& mask, int32_t repeat, int32_t dst_stride,
                  int32_t block_stride, int32_t src_stride, uint32_t group, T absent, const char* call, Where where, F reduce) {
    constexpr uint32_t most = 256 / sizeof(T);
    const uint32_t results = most / group;
    const Walk way = walk<T>(static_cast<uint64_t>(block_stride), static_cast<uint64_t>(src_stride));
    const auto repeats = static_cast<uint32_t>(repeat);
    const T* from = reached_source(src, mask, most, repeats, way, call, "src", where);
    observe_reached(src, mask, most, repeats, way, call, "src", where);
    const uint64_t step = static_cast<uint64_t>(dst_stride) * results;
    T* to = target(dst, repeats ? (repeats - 1) * step + results : 0, call, "dst", where);
    for (uint32_t r = 0; r < repeats; ++r) {
        T lanes[most];
        gathered(lanes, from, mask, r, most, way, absent);
        for (uint32_t g = 0; g < results; ++g) to[r * step + g] = reduce(lanes + g * group, group);
    }
}
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_FLOATS(Name) static_assert(::opmend_sim::one_of<T, half, float>, #Name " takes half, float on dav-2201")

template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const int32_t count, OPMEND_WHERE) {
    OPMEND_FLOATS(ReduceSum);
    if (count <= 0) ::opmend_sim::fail("reduce-count", "ReduceSum over " + std::to_string(count) + " elements", where);
    constexpr uint64_t most = 256 / sizeof(T);
    const auto n = static_cast<uint64_t>(count);
    const T* from = ::opmend_sim::source(src, n, "ReduceSum", "src", where);
    ::opmend_sim::observe(from, n * sizeof(T), "ReduceSum", "src", where, src.buffer());
    const uint64_t partial = (n + most - 1) / most;
    ::opmend_sim::target(sharedTmpBuffer, partial, "ReduceSum", "sharedTmpBuffer", where);
    const T sum = ::opmend_sim::count_sum(from, n);
    *::opmend_sim::target(dst, 1, "ReduceSum", "dst", where) = sum;
    ::opmend_sim::core().accumulated = 0;
    std::memcpy(&::opmend_sim::core().accumulated, &sum, sizeof(T));
}
namespace opmend_detail {
template <class T>
void sum_repeats(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ::opmend_sim::Mask& mask, int32_t repeat, int32_t stride, ::opmend_sim::Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(1, static_cast<uint64_t>(stride));
    const T* from = ::opmend_sim::reached_source(src, mask, most, static_cast<uint32_t>(repeat), way, "ReduceSum", "src", where);
    ::opmend_sim::observe_reached(src, mask, most, static_cast<uint32_t>(repeat), way, "ReduceSum", "src", where);
    T* to = ::opmend_sim::target(dst, 1, "ReduceSum", "dst", where);
    // tree/tree: the sums of the repeats are summed the same way, repeat after repeat, until one is left
    T sums[256];
    size_t n = 0;
    for (int32_t r = 0; r < repeat && n < 256; ++r) {
        T lanes[most];
        ::opmend_sim::gathered(lanes, from, mask, static_cast<uint64_t>(r), most, way, T(0));
        sums[n++] = ::opmend_sim::tree_sum(lanes, most);
    }
    while (n > 1) {
        size_t next = 0;
        for (size_t start = 0; start < n; start += most) sums[next++] = ::opmend_sim::tree_sum(sums + start, n - start < most ? n - start : most);
        n = next;
    }
    to[0] = n ? sums[0] : T(0);
}
}  // namespace opmend_detail
template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t mask, const int32_t repeat,
               const int32_t srcRepStride, OPMEND_WHERE) {
    OPMEND_FLOATS(ReduceSum);
    opmend_detail::sum_repeats(dst, src, ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), true, "ReduceSum", where), repeat, srcRepStride, where);
}
template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const uint64_t mask[], const int32_t repeat,
               const int32_t srcRepStride, OPMEND_WHERE) {
    OPMEND_FLOATS(ReduceSum);
    opmend_detail::sum_repeats(dst, src, ::opmend_sim::mask_of_bits(mask, true), repeat, srcRepStride, where);
}

#define OPMEND_REDUCE_PICK(Name, Which)                                                                                                         \
    template <class T>                                                                                                                          \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t count, bool calIndex = false, OPMEND_WHERE) { \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::pick_count(::opmend_sim::Pick::Which, dst, src, count, calIndex, #Name, where);                                            \
    }                                                                                                                                           \
    template <class T>                                                                                                                          \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t mask, const int32_t repeat,             \
              const int32_t srcRepStride, bool calIndex = false, OPMEND_WHERE) {                                                                 \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::pick_repeats(::opmend_sim::Pick::Which, dst, src,                                                                         \
                                   ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), true, #Name, where), repeat,       \
                                   srcRepStride, calIndex, #Name, where);                                                                       \
    }                                                                                                                                           \
    template <class T>                                                                                                                          \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const uint64_t mask[], const int32_t repeat,          \
              const int32_t srcRepStride, bool calIndex = false, OPMEND_WHERE) {                                                                 \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::pick_repeats(::opmend_sim::Pick::Which, dst, src, ::opmend_sim::mask_of_bits(mask, true), repeat, srcRepStride, calIndex, \
                                   #Name, where);                                                                                               \
    }
OPMEND_REDUCE_PICK(ReduceMax, Max)
OPMEND_REDUCE_PICK(ReduceMin, Min)
#undef OPMEND_REDUCE_PICK

template <class T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeat, const int32_t dstRepStride,
                    const int32_t srcBlkStride, const int32_t srcRepStride, OPMEND_WHERE) {
    OPMEND_FLOATS(WholeReduceSum);
    ::opmend_sim::whole_sum(dst, src, ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), isSetMask, "WholeReduceSum", where),
                            repeat, dstRepStride, srcBlkStride, srcRepStride, "WholeReduceSum", where);
}
template <class T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int32_t repeat, const int32_t dstRepStride,
                    const int32_t srcBlkStride, const int32_t srcRepStride, OPMEND_WHERE) {
    OPMEND_FLOATS(WholeReduceSum);
    ::opmend_sim::whole_sum(dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, dstRepStride, srcBlkStride, srcRepStride, "WholeReduceSum", where);
}
template <class T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const int32_t mask, const int32_t,
                     const int32_t srcBlkStride, const int32_t dstRepStride, const int32_t srcRepStride, OPMEND_WHERE) {
    OPMEND_FLOATS(RepeatReduceSum);
    ::opmend_sim::whole_sum(dst, src, ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), isSetMask, "RepeatReduceSum", where),
                            repeat, dstRepStride, srcBlkStride, srcRepStride, "RepeatReduceSum", where);
}

#define OPMEND_WHOLE_PICK(Name, Which)                                                                                                          \
    template <class T, bool isSetMask = true>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int32_t repeat, const int32_t dstRepStride,        \
              const int32_t srcBlkStride, const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, OPMEND_WHERE) {         \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::whole_pick(::opmend_sim::Pick::Which, dst, src,                                                                           \
                                 ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), isSetMask, #Name, where), repeat,    \
                                 dstRepStride, srcBlkStride, srcRepStride, order, #Name, where);                                                \
    }                                                                                                                                           \
    template <class T, bool isSetMask = true>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int32_t repeat, const int32_t dstRepStride,     \
              const int32_t srcBlkStride, const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, OPMEND_WHERE) {         \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::whole_pick(::opmend_sim::Pick::Which, dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, dstRepStride,        \
                                 srcBlkStride, srcRepStride, order, #Name, where);                                                              \
    }
OPMEND_WHOLE_PICK(WholeReduceMax, Max)
OPMEND_WHOLE_PICK(WholeReduceMin, Min)
#undef OPMEND_WHOLE_PICK

#define OPMEND_GROUP(Name, group, absent, expression)                                                                                           \
    template <class T, bool isSetMask = true>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const int32_t mask, const int32_t dstRepStride,        \
              const int32_t srcBlkStride, const int32_t srcRepStride, OPMEND_WHERE) {                                                            \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::group_reduce(dst, src, ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), isSetMask, #Name, where), \
                                   repeat, dstRepStride, srcBlkStride, srcRepStride, group, absent, #Name, where,                               \
                                   [](const T* lanes, size_t n) { return expression; });                                                       \
    }                                                                                                                                           \
    template <class T, bool isSetMask = true>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const uint64_t mask[], const int32_t dstRepStride,     \
              const int32_t srcBlkStride, const int32_t srcRepStride, OPMEND_WHERE) {                                                            \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::group_reduce(dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, dstRepStride, srcBlkStride, srcRepStride,      \
                                   group, absent, #Name, where, [](const T* lanes, size_t n) { return expression; });                          \
    }
OPMEND_GROUP(BlockReduceSum, static_cast<uint32_t>(32 / sizeof(T)), T(0), ::opmend_sim::tree_sum(lanes, n))
OPMEND_GROUP(BlockReduceMax, static_cast<uint32_t>(32 / sizeof(T)), ::opmend_sim::worst<T>(::opmend_sim::Pick::Max), lanes[::opmend_sim::extreme(::opmend_sim::Pick::Max, lanes, n)])
OPMEND_GROUP(BlockReduceMin, static_cast<uint32_t>(32 / sizeof(T)), ::opmend_sim::worst<T>(::opmend_sim::Pick::Min), lanes[::opmend_sim::extreme(::opmend_sim::Pick::Min, lanes, n)])
OPMEND_GROUP(PairReduceSum, 2u, T(0), ::opmend_sim::tree_sum(lanes, n))
#undef OPMEND_GROUP
#undef OPMEND_FLOATS

template <class T> T GetAccVal() {
    T value;
    std::memcpy(&value, &::opmend_sim::core().accumulated, sizeof(T));
    return value;
}

}  // namespace AscendC
