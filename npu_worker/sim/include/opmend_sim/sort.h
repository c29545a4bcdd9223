// Sort32, MrgSort and what is built on them; region proposals of older SoCs. By the CANN 8.5 API pages; loops in runtime/sort.cpp.
// A sorted element is 8 bytes: the score in the low 2 or 4 bytes, the index (uint32_t) in the high 4. NaN sorts first (TopK page); equal scores
// keep their order.
#pragma once
#include "opmend_sim/vector.h"

namespace AscendC {
template <class T> struct MrgSortSrcList {
    LocalTensor<T> src1, src2, src3, src4;
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T>& first, const LocalTensor<T>& second, const LocalTensor<T>& third, const LocalTensor<T>& fourth)
        : src1(first), src2(second), src3(third), src4(fourth) {}
};
}  // namespace AscendC

namespace opmend_sim {
// A queue of sorted elements or proposals, `length` of them.
template <class T> struct SortedQueue {
    const T* data = nullptr;
    uint32_t length = 0;
};
// n scores and indices into n elements of 8 bytes, largest first.
template <class T> void sort_elements(T* dst, const T* scores, const uint32_t* indices, size_t n);
// One merge; `taken` says how many elements came from each queue. stride: T's an element, score: where its score lies.
template <class T>
void merge_queues(T* dst, const SortedQueue<T>* queues, uint32_t count, bool until_exhausted, uint16_t taken[4], uint32_t stride, uint32_t score);
template <class T> void sort_proposals(T* dst, const T* src, size_t n);
// Scores that were never written decide the order, so they are found here; other fields travel with theirs.
template <class T>
void observe_scores(const T* data, uint64_t elements, uint32_t stride, uint32_t score, const char* call, Where where, const Buffer* buffer) {
    if (__builtin_expect(!unwritten(data, elements * stride * sizeof(T)), 1)) return;
    for (uint64_t i = 0; i < elements; ++i)
        if (observe(data + i * stride + score, sizeof(T), call, "src", where, buffer)) return;
}

// How many T's a sorted element of 8 bytes takes.
template <class T> inline constexpr uint32_t kElement = 8 / sizeof(T);
#define OPMEND_SORTABLE(Name) static_assert(::opmend_sim::one_of<T, half, float>, #Name " takes half, float")
inline void need_sort32(const char* call, Where where) {
    constexpr uint32_t allowed[] = {2201, 3002};
    need_architecture(allowed, 2, call, "use RpSort16 and MrgSort4 there", where);
}
inline void need_proposals(const char* call, Where where) {
    constexpr uint32_t allowed[] = {1001, 2002};
    need_architecture(allowed, 2, call, "use Sort32 and MrgSort there", where);
}
// MrgSort of either layout. The four lists may be merged repeatTimes times over where they are whole and lie side by side.
template <class T>
void merge_call(const AscendC::LocalTensor<T>& dst, const AscendC::MrgSortSrcList<T>& src, const uint16_t lengths[4], bool until_exhausted,
                uint16_t valid,
                uint32_t repeats, uint32_t stride, uint32_t score, uint32_t alignment, const char* call, Where where) {
    const uint32_t count = valid == 3 ? 2 : valid == 7 ? 3 : valid == 15 ? 4 : 0;
    if (count == 0) fail("mrgsort-valid-bit", std::string(call) + ": validBit " + text(valid) + "; it is 3, 7 or 15", where);
    const AscendC::LocalTensor<T>* lists[4] = {&src.src1, &src.src2, &src.src3, &src.src4};
    uint64_t total = 0;
    bool alike = count == 4 && !until_exhausted;
    for (uint32_t i = 0; i < count; ++i) {
        total += lengths[i];
        if (lengths[i] > 4095) note("mrgsort-length", "violation",
                                    std::string(call) + ": a queue of " + text(lengths[i]) + " elements; the limit is 4095", where);
        alike = alike && lengths[i] == lengths[0] && lists[i]->raw() == lists[0]->raw() + static_cast<uint64_t>(i) * lengths[0] * stride;
    }
    if (repeats != 1 && !alike) {
        note("mrgsort-repeat", "violation", std::string(call) + ": repeatTimes counts only for four queues of one length that lie side by side",
             where);
        repeats = 1;
    }
    SortedQueue<T> queues[4];
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t elements = (alike && repeats > 1 ? (repeats - 1) * total : 0) + lengths[i];
        if (lengths[i] == 0) continue;
        queues[i] = {source_aligned(*lists[i], elements * stride, alignment, call, "src", where), lengths[i]};
        observe_scores(queues[i].data, elements, stride, score, call, where, lists[i]->buffer());
    }
    T* to = span_aligned(dst, repeats * total * stride, alignment, call, "dst", where);
    for (uint32_t r = 0; r < repeats; ++r) {
        merge_queues(to + r * total * stride, queues, count, until_exhausted, core().merged, stride, score);
        for (SortedQueue<T>& queue : queues)
            if (queue.data) queue.data += total * stride;
    }
}
}  // namespace opmend_sim

namespace AscendC {

template <class T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1, const int32_t repeatTime, OPMEND_WHERE) {
    OPMEND_SORTABLE(Sort32);
    ::opmend_sim::need_sort32("Sort32", where);
    const uint64_t n = 32ull * ::opmend_sim::repeats_in_range(repeatTime, "Sort32", where);
    const T* scores = ::opmend_sim::source(src0, n, "Sort32", "src0", where);
    const uint32_t* indices = ::opmend_sim::source(src1, n, "Sort32", "src1", where);
    ::opmend_sim::observe(scores, n * sizeof(T), "Sort32", "src0", where, src0.buffer());
    T* to = ::opmend_sim::target_of_lanes(dst, n * ::opmend_sim::kElement<T>, "Sort32", "dst", where);
    for (uint64_t at = 0; at < n; at += 32) ::opmend_sim::sort_elements(to + at * ::opmend_sim::kElement<T>, scores + at, indices + at, 32);
}
template <class T> void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params, OPMEND_WHERE) {
    OPMEND_SORTABLE(MrgSort);
    ::opmend_sim::need_sort32("MrgSort", where);
    ::opmend_sim::merge_call(dst, src, params.elementLengths, params.ifExhaustedSuspension, params.validBit, params.repeatTimes,
                             ::opmend_sim::kElement<T>, 0, 8,
                             "MrgSort", where);
}
inline void GetMrgSortResult(uint16_t& list1, uint16_t& list2, uint16_t& list3, uint16_t& list4) {
    const uint16_t* taken = ::opmend_sim::core().merged;
    list1 = taken[0], list2 = taken[1], list3 = taken[2], list4 = taken[3];
}

// The high-level calls.
template <class T> uint32_t GetSortOffset(const uint32_t elemOffset) { return elemOffset * ::opmend_sim::kElement<T>; }  // in T's
template <class T> uint32_t GetSortLen(const uint32_t elemCount) { return elemCount * 8; }                               // in bytes
template <class T> void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t repeatTime, OPMEND_WHERE) {
    OPMEND_SORTABLE(Concat);
    ::opmend_sim::need_sort32("Concat", where);
    ::opmend_sim::source(src, 16ull * ::opmend_sim::repeats_in_range(repeatTime, "Concat", where), "Concat", "src", where);
    concat = src;  // Sort32 takes plain scores, so there is nothing to put together
}
template <class T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index, LocalTensor<T>& tmp, const int32_t repeatTime,
          OPMEND_WHERE) {
    OPMEND_SORTABLE(Sort);
    ::opmend_sim::need_sort32("Sort", where);
    if constexpr (!isFullSort) Sort32(dst, concat, index, repeatTime, where);
    else {
        const uint64_t n = 32ull * ::opmend_sim::repeats_in_range(repeatTime, "Sort", where);
        const T* scores = ::opmend_sim::source(concat, n, "Sort", "concat", where);
        const uint32_t* indices = ::opmend_sim::source(index, n, "Sort", "index", where);
        ::opmend_sim::observe(scores, n * sizeof(T), "Sort", "concat", where, concat.buffer());
        if (n > 32) ::opmend_sim::target(tmp, n * ::opmend_sim::kElement<T>, "Sort", "tmp", where);
        ::opmend_sim::sort_elements(::opmend_sim::target_of_lanes(dst, n * ::opmend_sim::kElement<T>, "Sort", "dst", where), scores, indices, n);
    }
}
template <class T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index, const LocalTensor<T>& tmp,
          const int32_t repeatTime, OPMEND_WHERE) {
    LocalTensor<T> scratch = tmp;
    Sort<T, isFullSort>(dst, concat, index, scratch, repeatTime, where);
}
// 32 elements an iteration.
template <class T>
void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex, const LocalTensor<T>& sorted, const int32_t repeatTime,
             OPMEND_WHERE) {
    OPMEND_SORTABLE(Extract);
    ::opmend_sim::need_sort32("Extract", where);
    const uint64_t n = 32ull * ::opmend_sim::repeats_in_range(repeatTime, "Extract", where);
    const T* from = ::opmend_sim::source(sorted, n * ::opmend_sim::kElement<T>, "Extract", "sorted", where);
    T* values = ::opmend_sim::target_of_lanes(dstValue, n, "Extract", "dstValue", where);
    uint32_t* indices = ::opmend_sim::target_of_lanes(dstIndex, n, "Extract", "dstIndex", where);
    for (uint64_t i = 0; i < n; ++i) {
        const T* element = from + i * ::opmend_sim::kElement<T>;
        const T* high = element + ::opmend_sim::kElement<T> / 2;
        ::opmend_sim::join(values + i, element, sizeof(T));
        ::opmend_sim::join(indices + i, high, 4);
        values[i] = *element;
        std::memcpy(indices + i, high, 4);
    }
}
template <class T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList, const uint16_t elementCountList[4], uint32_t sortedNum[4],
             uint16_t validBit,
             const int32_t repeatTime, OPMEND_WHERE) {
    OPMEND_SORTABLE(MrgSort);
    ::opmend_sim::need_sort32("MrgSort", where);
    ::opmend_sim::merge_call(dst, sortList, elementCountList, isExhaustedSuspension, validBit, ::opmend_sim::repeats_in_range(repeatTime, "MrgSort",
                                                                                                                              where),
                             ::opmend_sim::kElement<T>, 0, 8, "MrgSort", where);
    if constexpr (isExhaustedSuspension)
        for (int i = 0; i < 4; ++i) sortedNum[i] = ::opmend_sim::core().merged[i];
}

// Region proposals, of 8 T's: x1, y1, x2, y2, score, label and two that are reserved.
template <class T> void ProposalConcat(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const int32_t modeNumber,
                                       OPMEND_WHERE) {
    OPMEND_SORTABLE(ProposalConcat);
    ::opmend_sim::need_proposals("ProposalConcat", where);
    if (modeNumber < 0 || modeNumber > 5) ::opmend_sim::fail("proposal-mode", "ProposalConcat: modeNumber is 0 to 5", where);
    const uint64_t n = 16ull * ::opmend_sim::repeats_in_range(repeatTime, "ProposalConcat", where);
    const T* from = ::opmend_sim::source(src, n, "ProposalConcat", "src", where);
    T* to = ::opmend_sim::target_of_lanes(dst, 8 * n, "ProposalConcat", "dst", where);
    for (uint64_t i = 0; i < n; ++i) {
        ::opmend_sim::join(to + 8 * i + modeNumber, from + i, sizeof(T));
        to[8 * i + static_cast<uint64_t>(modeNumber)] = from[i];
    }
}
template <class T> void ProposalExtract(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, const int32_t modeNumber,
                                        OPMEND_WHERE) {
    OPMEND_SORTABLE(ProposalExtract);
    ::opmend_sim::need_proposals("ProposalExtract", where);
    if (modeNumber < 0 || modeNumber > 5) ::opmend_sim::fail("proposal-mode", "ProposalExtract: modeNumber is 0 to 5", where);
    const uint64_t n = 16ull * ::opmend_sim::repeats_in_range(repeatTime, "ProposalExtract", where);
    const T* from = ::opmend_sim::source(src, 8 * n, "ProposalExtract", "src", where);
    T* to = ::opmend_sim::target_of_lanes(dst, n, "ProposalExtract", "dst", where);
    for (uint64_t i = 0; i < n; ++i) {
        ::opmend_sim::join(to + i, from + 8 * i + modeNumber, sizeof(T));
        to[i] = from[8 * i + static_cast<uint64_t>(modeNumber)];
    }
}
template <class T> void RpSort16(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime, OPMEND_WHERE) {
    OPMEND_SORTABLE(RpSort16);
    ::opmend_sim::need_proposals("RpSort16", where);
    const uint64_t n = 16ull * ::opmend_sim::repeats_in_range(repeatTime, "RpSort16", where);
    const T* from = ::opmend_sim::source(src, 8 * n, "RpSort16", "src", where);
    ::opmend_sim::observe_scores(from, n, 8, 4, "RpSort16", where, src.buffer());
    T* to = ::opmend_sim::target_of_lanes(dst, 8 * n, "RpSort16", "dst", where);
    for (uint64_t at = 0; at < n; at += 16) ::opmend_sim::sort_proposals(to + 8 * at, from + 8 * at, 16);
}
template <class T> void MrgSort4(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params, OPMEND_WHERE) {
    OPMEND_SORTABLE(MrgSort4);
    ::opmend_sim::need_proposals("MrgSort4", where);
    ::opmend_sim::merge_call(dst, src, params.elementLengths, params.ifExhaustedSuspension, params.validBit, params.repeatTimes, 8, 4, 8 * sizeof(T),
                             "MrgSort4", where);
}
#undef OPMEND_SORTABLE

}  // namespace AscendC
