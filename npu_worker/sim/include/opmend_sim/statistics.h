// Sums, means and reductions by row or column, running sums, the k best. API pages: Sum, Mean, ReduceSum (high-level), CumSum, TopK, ReduceXorSum.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "opmend_sim/rows.h"

namespace AscendC {
struct SumParams {
    uint32_t outter = 1, inner = 0, n = 0;
};
struct MeanParams {
    uint32_t outter = 1, inner = 0, n = 0;
};
struct CumSumInfo {
    uint32_t outter = 0, inner = 0;
};
struct CumSumConfig {
    bool isLastAxis = true, isReuseSource = false, outputLastRow = false;
};
inline constexpr CumSumConfig defaultCumSumConfig = {true, false, false};
struct TopKInfo {
    int32_t outter = 1, inner = 0, n = 0;
};
namespace Pattern::Reduce {
struct AR { static constexpr bool last = true; };
struct RA { static constexpr bool last = false; };
}  // namespace Pattern::Reduce
}  // namespace AscendC

namespace opmend_sim {
enum class Fold : uint8_t { Sum, Mean, Max, Min, Prod, Any, All };
// rows x width lanes, `used` of each row: folded along the row (`last`) or along the column.
void fold(Fold how, const Lanes& dst, const Lanes& src, uint32_t rows, uint32_t width, uint32_t used, bool last);
void running_sum(const Lanes& dst, const Lanes& last_row, const Lanes& src, uint32_t rows, uint32_t width, bool along_row);
struct TopKCall {
    Lanes values, indices, src, src_indices, finished;
    uint32_t rows = 0, width = 0, used = 0, k = 0, values_stride = 0, indices_stride = 0;
    bool largest = true, shared_indices = true;
};
void top_k(const TopKCall& call);

template <class T, class P>
void fold_pattern(Fold how, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const uint32_t shape[], bool inner_pad,
                  const char* call, Where where) {
    const uint32_t width = inner_pad ? aligned(shape[1], sizeof(T)) : shape[1];
    if (!shape[0] || !shape[1]) fail("reduce-count", std::string(call) + ": an axis of the shape is 0", where);
    if (width * sizeof(T) % 32 && shape[0] > 1)
        fail("reduce-count", std::string(call) + ": rows of " + text(width) + " elements are not a multiple of 32 bytes", where);
    fold(how, written(dst, P::last ? shape[0] : shape[1], call, "dst", where),
         read(src, static_cast<uint64_t>(shape[0] - 1) * width + shape[1], call, "src", where), shape[0], width, shape[1], P::last);
}
}  // namespace opmend_sim

namespace AscendC {
#define OPMEND_TMP const LocalTensor<uint8_t>&

template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SumParams& params, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Sum takes half, float on dav-2201");
    ::opmend_sim::fold(::opmend_sim::Fold::Sum, ::opmend_sim::written(dst, params.outter, "Sum", "dst", where),
                       ::opmend_sim::read(src, static_cast<uint64_t>(params.outter) * params.inner, "Sum", "src", where), params.outter, params.inner,
                       params.n, true);
}
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_TMP, const SumParams& params, OPMEND_WHERE) {
    Sum<T, reduceDim>(dst, src, params, where);
}
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const MeanParams& params, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Mean takes half, float on dav-2201");
    ::opmend_sim::fold(::opmend_sim::Fold::Mean, ::opmend_sim::written(dst, params.outter, "Mean", "dst", where),
                       ::opmend_sim::read(src, static_cast<uint64_t>(params.outter) * params.inner, "Mean", "src", where), params.outter,
                       params.inner, params.n, true);
}
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_TMP, const MeanParams& params, OPMEND_WHERE) {
    Mean<T, accType>(dst, src, params, where);
}
#define OPMEND_FOLD(Name, How)                                                                                                                       \
    template <class T, class pattern, bool isReuseSource = false>                                                                                    \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t srcShape[], bool srcInnerPad, OPMEND_WHERE) {                     \
        ::opmend_sim::fold_pattern<T, pattern>(::opmend_sim::Fold::How, dst, src, srcShape, srcInnerPad, #Name, where);                              \
    }                                                                                                                                                \
    template <class T, class pattern, bool isReuseSource = false>                                                                                    \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_TMP, const uint32_t srcShape[], bool srcInnerPad, OPMEND_WHERE) {         \
        ::opmend_sim::fold_pattern<T, pattern>(::opmend_sim::Fold::How, dst, src, srcShape, srcInnerPad, #Name, where);                              \
    }
OPMEND_FOLD(ReduceSum, Sum)
OPMEND_FOLD(ReduceMean, Mean)
OPMEND_FOLD(ReduceMax, Max)
OPMEND_FOLD(ReduceMin, Min)
OPMEND_FOLD(ReduceProd, Prod)
OPMEND_FOLD(ReduceAny, Any)
OPMEND_FOLD(ReduceAll, All)
#undef OPMEND_FOLD
// One lane: the sum of src0 ^ src1, wrapped to the type.
template <class T, bool isReuseSource = false>
void ReduceXorSum(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint32_t count, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, int16_t>, "ReduceXorSum takes int16_t on dav-2201");
    T* to = ::opmend_sim::target(dst, 1, "ReduceXorSum", "dst", where);
    const T* a = ::opmend_sim::source(src0, count, "ReduceXorSum", "src0", where);
    const T* b = ::opmend_sim::source(src1, count, "ReduceXorSum", "src1", where);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += static_cast<uint32_t>(a[i] ^ b[i]);
    to[0] = static_cast<T>(sum);
}
template <class T, bool isReuseSource = false>
void ReduceXorSum(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_TMP, const uint32_t count, OPMEND_WHERE) {
    ReduceXorSum<T>(dst, src0, src1, count, where);
}
template <class T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src, const CumSumInfo& info, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "CumSum takes half, float on dav-2201");
    if (info.inner * sizeof(T) % 32) ::opmend_sim::fail("reduce-count", "CumSum: inner is not a multiple of 32 bytes", where);
    const uint64_t all = static_cast<uint64_t>(info.outter) * info.inner;
    ::opmend_sim::running_sum(::opmend_sim::written(dst, all, "CumSum", "dst", where),
                              config.outputLastRow ? ::opmend_sim::written(lastRow, info.inner, "CumSum", "lastRow", where) : ::opmend_sim::Lanes{},
                              ::opmend_sim::read(src, all, "CumSum", "src", where), info.outter, info.inner, config.isLastAxis);
}
template <class T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src, OPMEND_TMP, const CumSumInfo& info, OPMEND_WHERE) {
    CumSum<T, config>(dst, lastRow, src, info, where);
}
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false, TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex, const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
          const LocalTensor<bool>& finish, const int32_t k, const tiling::TopkTiling&, const TopKInfo& info, const bool isLargest = true,
          OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "TopK takes half, float on dav-2201");
    constexpr bool small = topkMode == TopKMode::TOPK_NSMALL;
    if (k < 1 || k > info.n || info.n > info.inner || info.inner % 32 || (small ? info.inner != 32 : info.inner > 4096))
        ::opmend_sim::fail("topk-shape", "TopK: 1 <= k <= n <= inner; inner is a multiple of 32, 32 in small mode and at most 4096 else", where);
    ::opmend_sim::TopKCall call;
    call.rows = static_cast<uint32_t>(info.outter), call.width = static_cast<uint32_t>(info.inner), call.used = static_cast<uint32_t>(info.n);
    call.k = static_cast<uint32_t>(k);
    call.values_stride = small ? call.k : ::opmend_sim::aligned(call.k, sizeof(T));
    call.indices_stride = small ? call.k : ::opmend_sim::aligned(call.k, sizeof(int32_t));
    const uint64_t all = static_cast<uint64_t>(call.rows) * call.width;
    call.values = ::opmend_sim::written(dstValue, static_cast<uint64_t>(call.rows) * call.values_stride, "TopK", "dstValueLocal", where);
    call.indices = ::opmend_sim::written(dstIndex, static_cast<uint64_t>(call.rows) * call.indices_stride, "TopK", "dstIndexLocal", where);
    call.src = ::opmend_sim::read(src, all, "TopK", "srcLocal", where);
    if constexpr (isInitIndex) call.src_indices = ::opmend_sim::read(srcIndex, small ? all : call.width, "TopK", "srcIndexLocal", where);
    if constexpr (isHasfinish) call.finished = ::opmend_sim::read(finish, call.rows, "TopK", "finishLocal", where);
    call.largest = isLargest;
    call.shared_indices = !small;
    ::opmend_sim::top_k(call);
}
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false, TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex, const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
          const LocalTensor<bool>& finish, OPMEND_TMP, const int32_t k, const tiling::TopkTiling& tiling, const TopKInfo& info,
          const bool isLargest = true, OPMEND_WHERE) {
    TopK<T, isInitIndex, isHasfinish, isReuseSrc, topkMode>(dstValue, dstIndex, src, srcIndex, finish, k, tiling, info, isLargest, where);
}
}  // namespace AscendC
