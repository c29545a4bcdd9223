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
// The sums of repeats, summed as trees of a repeat each until one is left.
template <class T> T tree_of_sums(T* sums, size_t n);
inline bool lane_on(const Mask& mask, uint64_t r, uint32_t lane, uint32_t lanes_a_repeat) {
    return mask.counter ? r * lanes_a_repeat + lane < mask.count : (lane < 64 ? mask.low >> lane & 1 : mask.high >> (lane - 64) & 1);
}
inline bool all_on(const Mask& mask, uint64_t r, uint32_t lanes_a_repeat) {
    if (mask.counter) return (r + 1) * lanes_a_repeat <= mask.count;
    const uint64_t low = lanes_a_repeat >= 64 ? ~0ull : (1ull << lanes_a_repeat) - 1;
    const uint64_t high = lanes_a_repeat >= 128 ? ~0ull : lanes_a_repeat > 64 ? (1ull << (lanes_a_repeat - 64)) - 1 : 0;
    return (mask.low & low) == low && (mask.high & high) == high;
}
// The lanes of repeat r that the mask selects, at their places in `room` (the tree needs them there); absent ones are `absent`.
// Returns the lanes, which lie in the source itself where the mask lets all through. `last` is one past the highest lane that is on.
template <class T>
const T* gathered(T* room, const T* from, const Mask& mask, uint64_t r, uint32_t lanes_a_repeat, const Walk& way, T absent, size_t& last) {
    if (way.block == 32 && all_on(mask, r, lanes_a_repeat)) {
        last = lanes_a_repeat;
        return moved(from, r * way.repeat);
    }
    last = 0;
    for (uint32_t lane = 0; lane < lanes_a_repeat; ++lane) {
        const bool on = lane_on(mask, r, lane, lanes_a_repeat);
        room[lane] = on ? *moved(from, way.at(r, lane)) : absent;
        if (on) last = lane + 1;
    }
    return room;
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
// Scratch that the device writes: two elements a repeat. One repeat needs none.
template <class T> void check_scratch(const AscendC::LocalTensor<T>& scratch, uint64_t repeats, const char* call, Where where) {
    if (repeats > 1) target(scratch, 2 * repeats, call, "sharedTmpBuffer", where);
}
template <class T>
void pick_count(Pick pick, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<T>& scratch,
                int32_t count,
                bool index, const char* call, Where where) {
    if (count <= 0) fail("reduce-count", std::string(call) + " over " + std::to_string(count) + " elements", where);
    const T* from = source(src, static_cast<uint64_t>(count), call, "src", where);
    observe(from, static_cast<uint64_t>(count) * sizeof(T), call, "src", where, src.buffer());
    const size_t best = extreme(pick, from, static_cast<size_t>(count));
    const T value = from[best];
    if (scratch.raw() != src.raw()) check_scratch(scratch, (static_cast<uint64_t>(count) * sizeof(T) + 255) / 256, call, where);
    T* to = target_aligned(dst, index ? 2 : 1, sizeof(T) * (index ? 2 : 1), call, "dst", where);
    to[0] = value;
    if (index) to[1] = index_bits<T>(static_cast<uint32_t>(best));
}
template <class T>
void pick_repeats(Pick pick, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<T>& scratch,
                  const Mask& mask,
                  int32_t repeat, int32_t src_stride, bool index, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk way = walk<T>(1, static_cast<uint64_t>(src_stride));
    const auto repeats = static_cast<uint32_t>(repeats_for(mask, most, static_cast<uint32_t>(repeat)));
    const T* from = reached_source(src, mask, most, repeats, way, call, "src", where);
    observe_reached(src, mask, most, repeats, way, call, "src", where);
    T best = worst<T>(pick);
    uint32_t at = 0;
    bool any = false;
    for (uint32_t r = 0; r < repeats; ++r) {
        T room[most];
        size_t n = 0;
        const T* lanes = gathered(room, from, mask, r, most, way, worst<T>(pick), n);
        if (n == 0) continue;
        const size_t here = extreme(pick, lanes, n);
        if (!any || (pick == Pick::Max ? lanes[here] > best : lanes[here] < best)) {
            best = lanes[here];
            at = static_cast<uint32_t>(way.at(r, static_cast<uint32_t>(here)) / sizeof(T));
            any = true;
        }
    }
    if (scratch.raw() != src.raw()) check_scratch(scratch, repeats, call, where);
    T* to = target_aligned(dst, index ? 2 : 1, sizeof(T) * (index ? 2 : 1), call, "dst", where);
    to[0] = best;
    if (index) to[1] = index_bits<T>(at);
}
template <class T>
void whole_sum(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Mask& mask, int32_t repeat, int32_t dst_stride,
               int32_t block_stride, int32_t src_stride, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk way = walk<T>(static_cast<uint64_t>(block_stride), static_cast<uint64_t>(src_stride));
    const auto repeats = static_cast<uint32_t>(repeats_for(mask, most, repeats_in_range(repeat, call, where)));
    const T* from = reached_source(src, mask, most, repeats, way, call, "src", where);
    observe_reached(src, mask, most, repeats, way, call, "src", where);
    const auto step = static_cast<uint64_t>(dst_stride);
    T* to = span_aligned(dst, repeats ? (repeats - 1) * step + 1 : 0, sizeof(T), call, "dst", where);
    for (uint32_t r = 0; r < repeats; ++r) {
        T room[most];
        size_t n = 0;
        const T sum = tree_sum(gathered(room, from, mask, r, most, way, T(0), n), most);
        mark_written(to + r * step, sizeof(T));
        to[r * step] = sum;
    }
}
template <class T>
void whole_pick(Pick pick, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Mask& mask, int32_t repeat,
                int32_t dst_stride,
                int32_t block_stride, int32_t src_stride, AscendC::ReduceOrder order, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk way = walk<T>(static_cast<uint64_t>(block_stride), static_cast<uint64_t>(src_stride));
    const auto repeats = static_cast<uint32_t>(repeats_for(mask, most, repeats_in_range(repeat, call, where)));
    const T* from = reached_source(src, mask, most, repeats, way, call, "src", where);
    observe_reached(src, mask, most, repeats, way, call, "src", where);
    const bool pair = order == AscendC::ReduceOrder::ORDER_VALUE_INDEX || order == AscendC::ReduceOrder::ORDER_INDEX_VALUE;
    // An index that stands alone is a uint32_t whatever the data's type (page WholeReduceMax, dav-2201).
    const uint32_t wide = pair ? 2 : order == AscendC::ReduceOrder::ORDER_ONLY_INDEX ? static_cast<uint32_t>(sizeof(uint32_t) / sizeof(T)) : 1;
    const uint64_t step = static_cast<uint64_t>(dst_stride) * wide;
    T* to = span_aligned(dst, repeats ? (repeats - 1) * step + wide : 0, sizeof(T) * wide, call, "dst", where);
    for (uint32_t r = 0; r < repeats; ++r) {
        T room[most];
        size_t n = 0;
        const T* lanes = gathered(room, from, mask, r, most, way, worst<T>(pick), n);
        const size_t best = n ? extreme(pick, lanes, n) : 0;
        const T value = lanes[best], index = index_bits<T>(static_cast<uint32_t>(best));
        T* place = to + r * step;
        mark_written(place, sizeof(T) * wide);
        switch (order) {
            case AscendC::ReduceOrder::ORDER_VALUE_INDEX: place[0] = value; place[1] = index; break;
            case AscendC::ReduceOrder::ORDER_INDEX_VALUE: place[0] = index; place[1] = value; break;
            case AscendC::ReduceOrder::ORDER_ONLY_VALUE: place[0] = value; break;
            case AscendC::ReduceOrder::ORDER_ONLY_INDEX: {
                const auto whole = static_cast<uint32_t>(best);
                std::memcpy(place, &whole, sizeof(whole));
                break;
            }
        }
        core().picked[0] = core().picked[1] = 0;
        std::memcpy(&core().picked[0], &value, sizeof(T));
        std::memcpy(&core().picked[1], &index, sizeof(T));
    }
}
// One result a group of `group` lanes (a 32-byte block, or a pair). A group without a lane that takes part leaves dst as it was.
template <class T, class F>
void group_reduce(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Mask& mask, int32_t repeat, int32_t dst_stride,
                  int32_t block_stride, int32_t src_stride, uint32_t group, uint32_t alignment, T absent, const char* call, Where where, F reduce) {
    constexpr uint32_t most = 256 / sizeof(T);
    const uint32_t results = most / group;
    const Walk way = walk<T>(static_cast<uint64_t>(block_stride), static_cast<uint64_t>(src_stride));
    const auto repeats = static_cast<uint32_t>(repeats_for(mask, most, repeats_in_range(repeat, call, where)));
    const T* from = reached_source(src, mask, most, repeats, way, call, "src", where);
    observe_reached(src, mask, most, repeats, way, call, "src", where);
    const uint64_t step = static_cast<uint64_t>(dst_stride) * results;
    const uint32_t used = repeats ? last_lane(mask, most) / group + 1 : 0;
    T* to = span_aligned(dst, repeats ? (repeats - 1) * step + used : 0, alignment, call, "dst", where);
    for (uint32_t r = 0; r < repeats; ++r) {
        T room[most], out[most];
        size_t n = 0;
        const T* lanes = gathered(room, from, mask, r, most, way, absent, n);
        const bool whole = all_on(mask, r, most);
        for (uint32_t g = 0; g < results; ++g) out[g] = reduce(lanes + g * group, group);
        for (uint32_t g = 0; g < results; ++g) {
            bool on = whole;
            for (uint32_t k = 0; k < group && !on; ++k) on = lane_on(mask, r, g * group + k, most);
            if (!on) continue;
            mark_written(to + r * step + g, sizeof(T));
            to[r * step + g] = out[g];
        }
    }
}
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_FLOATS(Name) static_assert(::opmend_sim::one_of<T, half, float>, #Name " takes half, float on dav-2201")

template <class T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t count, OPMEND_WHERE) {
    OPMEND_FLOATS(ReduceSum);
    if (count <= 0) ::opmend_sim::fail("reduce-count", "ReduceSum over " + std::to_string(count) + " elements", where);
    const auto n = static_cast<uint64_t>(count);
    const T* from = ::opmend_sim::source(src, n, "ReduceSum", "src", where);
    ::opmend_sim::observe(from, n * sizeof(T), "ReduceSum", "src", where, src.buffer());
    const T sum = ::opmend_sim::count_sum(from, n);
    // The sum is kept in a register (GetAccVal), so sharedTmpBuffer may have any size and stays as it is.
    *::opmend_sim::target_aligned(dst, 1, sizeof(T), "ReduceSum", "dst", where) = sum;
    ::opmend_sim::core().accumulated = 0;
    std::memcpy(&::opmend_sim::core().accumulated, &sum, sizeof(T));
}
namespace opmend_detail {
template <class T>
void sum_repeats(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& scratch, const ::opmend_sim::Mask& mask, int32_t repeat,
                 int32_t stride, ::opmend_sim::Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const ::opmend_sim::Walk way = ::opmend_sim::walk<T>(1, static_cast<uint64_t>(stride));
    const auto repeats = static_cast<uint32_t>(::opmend_sim::repeats_for(mask, most, repeat > 0 ? static_cast<uint32_t>(repeat) : 0));
    const T* from = ::opmend_sim::reached_source(src, mask, most, repeats, way, "ReduceSum", "src", where);
    ::opmend_sim::observe_reached(src, mask, most, repeats, way, "ReduceSum", "src", where);
    std::vector<T> sums(repeats);
    for (uint32_t r = 0; r < repeats; ++r) {
        T room[most];
        size_t n = 0;
        sums[r] = ::opmend_sim::tree_sum(::opmend_sim::gathered(room, from, mask, r, most, way, T(0), n), most);
    }
    if (repeats > 1 && scratch.raw() != src.raw()) ::opmend_sim::target(scratch, repeats, "ReduceSum", "sharedTmpBuffer", where);
    *::opmend_sim::target_aligned(dst, 1, sizeof(T), "ReduceSum", "dst", where) = ::opmend_sim::tree_of_sums(sums.data(), sums.size());
}
}  // namespace opmend_detail
template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const int32_t mask, const int32_t repeat,
               const int32_t srcRepStride, OPMEND_WHERE) {
    OPMEND_FLOATS(ReduceSum);
    opmend_detail::sum_repeats(dst, src, sharedTmpBuffer, ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), true,
                                                                                       "ReduceSum", where), repeat, srcRepStride, where);
}
template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const uint64_t mask[],
               const int32_t repeat,
               const int32_t srcRepStride, OPMEND_WHERE) {
    OPMEND_FLOATS(ReduceSum);
    opmend_detail::sum_repeats(dst, src, sharedTmpBuffer, ::opmend_sim::mask_of_bits(mask, true), repeat, srcRepStride, where);
}

#define OPMEND_REDUCE_PICK(Name, Which)                                                                                                         \
    template <class T>                                                                                                                          \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& scratch, const int32_t count, bool calIndex = false,       \
              OPMEND_WHERE) {                                                                                                                        \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::pick_count(::opmend_sim::Pick::Which, dst, src, scratch, count, calIndex, #Name, where);                                       \
    }                                                                                                                                           \
    template <class T>                                                                                                                          \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& scratch, const int32_t mask, const int32_t repeat,         \
              const int32_t srcRepStride, bool calIndex = false, OPMEND_WHERE) {                                                                 \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::pick_repeats(::opmend_sim::Pick::Which, dst, src, scratch,                                                                     \
                                   ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), true, #Name, where), repeat,       \
                                   srcRepStride, calIndex, #Name, where);                                                                       \
    }                                                                                                                                           \
    template <class T>                                                                                                                          \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& scratch, const uint64_t mask[], const int32_t repeat,      \
              const int32_t srcRepStride, bool calIndex = false, OPMEND_WHERE) {                                                                 \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::pick_repeats(::opmend_sim::Pick::Which, dst, src, scratch, ::opmend_sim::mask_of_bits(mask, true), repeat, srcRepStride,       \
                                   calIndex,                                                                                                         \
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
    ::opmend_sim::whole_sum(dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, dstRepStride, srcBlkStride, srcRepStride,
                            "WholeReduceSum", where);
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

#define OPMEND_GROUP(Name, group, alignment, absent, expression)                                                                                     \
    template <class T, bool isSetMask = true>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const int32_t mask, const int32_t dstRepStride,        \
              const int32_t srcBlkStride, const int32_t srcRepStride, OPMEND_WHERE) {                                                            \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::group_reduce(dst, src, ::opmend_sim::mask_of_length(static_cast<uint64_t>(mask), 256 / sizeof(T), isSetMask, #Name, where), \
                                   repeat, dstRepStride, srcBlkStride, srcRepStride, group, alignment, absent, #Name, where,                         \
                                   [](const T* lanes, size_t n) { return expression; });                                                       \
    }                                                                                                                                           \
    template <class T, bool isSetMask = true>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat, const uint64_t mask[], const int32_t dstRepStride,     \
              const int32_t srcBlkStride, const int32_t srcRepStride, OPMEND_WHERE) {                                                            \
        OPMEND_FLOATS(Name);                                                                                                                    \
        ::opmend_sim::group_reduce(dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, dstRepStride, srcBlkStride, srcRepStride,      \
                                   group, alignment, absent, #Name, where, [](const T* lanes, size_t n) { return expression; });                     \
    }
OPMEND_GROUP(BlockReduceSum, static_cast<uint32_t>(32 / sizeof(T)), 8 * sizeof(T), T(0), ::opmend_sim::tree_sum(lanes, n))
OPMEND_GROUP(BlockReduceMax, static_cast<uint32_t>(32 / sizeof(T)), 8 * sizeof(T), ::opmend_sim::worst<T>(::opmend_sim::Pick::Max),
             lanes[::opmend_sim::extreme(::opmend_sim::Pick::Max, lanes, n)])
OPMEND_GROUP(BlockReduceMin, static_cast<uint32_t>(32 / sizeof(T)), 8 * sizeof(T), ::opmend_sim::worst<T>(::opmend_sim::Pick::Min),
             lanes[::opmend_sim::extreme(::opmend_sim::Pick::Min, lanes, n)])
OPMEND_GROUP(PairReduceSum, 2u, 32u, T(0), ::opmend_sim::tree_sum(lanes, n))
#undef OPMEND_GROUP
#undef OPMEND_FLOATS

template <class T> T GetAccVal() {
    T value;
    std::memcpy(&value, &::opmend_sim::core().accumulated, sizeof(T));
    return value;
}
template <class T> T GetReduceRepeatSumSpr() { return GetAccVal<T>(); }
// The last repeat's value and the bits of its index, after WholeReduceMax or WholeReduceMin.
template <class T> void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex) {
    std::memcpy(&maxMinValue, &::opmend_sim::core().picked[0], sizeof(T));
    std::memcpy(&maxMinIndex, &::opmend_sim::core().picked[1], sizeof(T));
}
template <class T> void GetReduceMaxMinCount(T& maxMinValue) { std::memcpy(&maxMinValue, &::opmend_sim::core().picked[0], sizeof(T)); }
template <class T> void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex) { GetReduceMaxMinCount(maxMinValue, maxMinIndex); }
template <class T> void GetReduceRepeatMaxMinSpr(T& maxMinValue) { GetReduceMaxMinCount(maxMinValue); }

}  // namespace AscendC
