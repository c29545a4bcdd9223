// How matrix products are cut: our own rule. One core's part: as equal as whole fractals allow, the fewest multiplications on the busiest
// core first. One step of the cube unit: 128 x 256 and as much depth as L0 holds twice, halved until it fits. L1: as many steps along k as fit.
#include "tiling/tiling_api.h"

#include <algorithm>

namespace matmul_tiling {
namespace {

int32_t bytes_of(DataType type) {
    switch (type) {
        case DataType::DT_FLOAT: case DataType::DT_INT32: case DataType::DT_UINT32: return 4;
        case DataType::DT_FLOAT16: case DataType::DT_BF16: case DataType::DT_BFLOAT16: case DataType::DT_INT16: case DataType::DT_UINT16: return 2;
        case DataType::DT_INT8: case DataType::DT_UINT8: return 1;
        default: return 0;
    }
}
int32_t up(int32_t value, int32_t unit) { return (value + unit - 1) / unit * unit; }
int32_t over(int32_t value, int32_t part) { return (value + part - 1) / part; }
int32_t clamped(int32_t value, int32_t most, int32_t least) {
    if (most > 0) value = std::min(value, most);
    if (least > 0) value = std::max(value, least);
    return value;
}

}  // namespace

MatmulApiTilingBase::MatmulApiTilingBase() {
    using ::opmend_sim::Space;
    const ::opmend_sim::Soc& soc = ::opmend_sim::soc();
    l1_ = soc.of(Space::L1), l0a_ = soc.of(Space::L0A), l0b_ = soc.of(Space::L0B), l0c_ = soc.of(Space::L0C), ub_ = soc.of(Space::UB);
    tiling_.dbL0A = tiling_.dbL0B = 2;
    tiling_.dbL0C = 1;
}
MatmulApiTilingBase::MatmulApiTilingBase(const PlatformInfo& platform) : MatmulApiTilingBase() {
    const auto given = [](uint64_t value, int64_t& to) {
        if (value) to = static_cast<int64_t>(value);
    };
    given(platform.l1Size, l1_), given(platform.l0CSize, l0c_), given(platform.ubSize, ub_);
    given(platform.l0ASize, l0a_), given(platform.l0BSize, l0b_);
}

int32_t MatmulApiTilingBase::SetAType(TPosition, CubeFormat, DataType type, bool) { return (a_bytes_ = bytes_of(type)) ? 0 : -1; }
int32_t MatmulApiTilingBase::SetBType(TPosition, CubeFormat, DataType type, bool) { return (b_bytes_ = bytes_of(type)) ? 0 : -1; }
int32_t MatmulApiTilingBase::SetCType(TPosition position, CubeFormat, DataType type) {
    c_position_ = position;
    return (c_bytes_ = bytes_of(type)) ? 0 : -1;
}
int32_t MatmulApiTilingBase::SetShape(int32_t m, int32_t n, int32_t k) {
    shape_ = Size{m, n, k};
    return m > 0 && n > 0 && k > 0 ? 0 : -1;
}
int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
    tiling_.M = m, tiling_.N = n, tiling_.Ka = ka, tiling_.Kb = kb;
    return m > 0 && n > 0 && ka > 0 && kb > 0 ? 0 : -1;
}
int32_t MatmulApiTilingBase::SetSingleShape(int32_t m, int32_t n, int32_t k) { return single_ = Size{m, n, k}, 0; }
int32_t MatmulApiTilingBase::SetFixSplit(int32_t baseM, int32_t baseN, int32_t baseK) { return fixed_ = Size{baseM, baseN, baseK}, 0; }
int32_t MatmulApiTilingBase::SetBufferSpace(int32_t l1, int32_t l0C, int32_t ub, int32_t) {
    const auto take = [](int32_t value, int64_t& to) {
        if (value < 0) return true;
        const bool there = value <= to;
        to = std::min<int64_t>(to, value);
        return there;
    };
    const bool a = take(l1, l1_), b = take(l0C, l0c_), c = take(ub, ub_);
    return a && b && c ? 0 : -1;
}
int32_t MatmulApiTilingBase::SetSplitRange(int32_t maxM, int32_t maxN, int32_t maxK, int32_t minM, int32_t minN, int32_t minK) {
    most_ = Size{maxM, maxN, maxK}, least_ = Size{minM, minN, minK};
    return 0;
}
int32_t MatmulApiTilingBase::SetDoubleBuffer(bool a, bool b, bool c, bool, bool, bool) {
    tiling_.dbL0A = a ? 2 : 1, tiling_.dbL0B = b ? 2 : 1, tiling_.dbL0C = c ? 2 : 1;
    return 0;
}
int32_t MatmulApiTilingBase::SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    tiling_.ALayoutInfoB = b, tiling_.ALayoutInfoS = s, tiling_.ALayoutInfoN = n, tiling_.ALayoutInfoG = g, tiling_.ALayoutInfoD = d;
    return 0;
}
int32_t MatmulApiTilingBase::SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    tiling_.BLayoutInfoB = b, tiling_.BLayoutInfoS = s, tiling_.BLayoutInfoN = n, tiling_.BLayoutInfoG = g, tiling_.BLayoutInfoD = d;
    return 0;
}
int32_t MatmulApiTilingBase::SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    tiling_.CLayoutInfoB = b, tiling_.CLayoutInfoS1 = s, tiling_.CLayoutInfoN = n, tiling_.CLayoutInfoG = g, tiling_.CLayoutInfoS2 = d;
    return 0;
}
int32_t MatmulApiTilingBase::SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m, int32_t n, int32_t k) {
    SetALayout(batchA, m, 1, 1, k);
    SetBLayout(batchB, n, 1, 1, k);
    SetCLayout(std::max(batchA, batchB), m, 1, 1, n);
    tiling_.BatchNum = std::max(batchA, batchB);
    return 0;
}

bool MatmulApiTilingBase::fits(int64_t m, int64_t n, int64_t k) const {
    return m * k * a_bytes_ * tiling_.dbL0A <= l0a_ && k * n * b_bytes_ * tiling_.dbL0B <= l0b_ && m * n * 4 * tiling_.dbL0C <= l0c_ &&
           (c_position_ == TPosition::GM || m * n * c_bytes_ <= ub_) && m * k * a_bytes_ + k * n * b_bytes_ <= l1_;
}

bool MatmulApiTilingBase::choose_base() {
    ::AscendC::tiling::TCubeTiling& t = tiling_;
    const int32_t c0 = 32 / std::min(a_bytes_, b_bytes_);
    int32_t m = fixed_.m > 0 ? up(fixed_.m, 16) : up(clamped(std::min(128, up(t.singleCoreM, 16)), most_.m, least_.m), 16);
    int32_t n = fixed_.n > 0 ? up(fixed_.n, 16) : up(clamped(std::min(256, up(t.singleCoreN, 16)), most_.n, least_.n), 16);
    int32_t k = fixed_.k > 0 ? up(fixed_.k, c0) : up(clamped(std::min(512, up(t.singleCoreK, c0)), most_.k, least_.k), c0);
    while (!fits(m, n, k)) {
        // What is free to shrink: depth first, down to four fractals, then the wider side.
        if (fixed_.k <= 0 && k > 4 * c0) k = std::max(c0, up(k / 2, c0));
        else if (fixed_.n <= 0 && n > 16 && (n >= m || fixed_.m > 0)) n = up(n / 2, 16);
        else if (fixed_.m <= 0 && m > 16) m = up(m / 2, 16);
        else if (fixed_.k <= 0 && k > c0) k = std::max(c0, up(k / 2, c0));
        else return false;
    }
    t.baseM = m, t.baseN = n, t.baseK = k;
    return true;
}

bool MatmulApiTilingBase::choose_depth() {
    ::AscendC::tiling::TCubeTiling& t = tiling_;
    const int64_t a = static_cast<int64_t>(t.baseM) * t.baseK * a_bytes_, b = static_cast<int64_t>(t.baseN) * t.baseK * b_bytes_;
    const int64_t bias = t.isBias ? static_cast<int64_t>(t.baseN) * 4 : 0;
    t.stepM = t.stepN = t.stepKa = t.stepKb = t.depthA1 = t.depthB1 = 1;
    const int32_t steps = over(t.singleCoreK, t.baseK);
    // Twice each, if there is room; then more steps along k.
    if (2 * (a + b) + bias <= l1_) {
        t.depthA1 = t.depthB1 = 2;
        while (t.stepKa < steps && 2ll * (t.stepKa + 1) * (a + b) + bias <= l1_ && t.stepKa < 8) ++t.stepKa;
        t.stepKb = t.stepKa;
        t.depthA1 = t.depthB1 = 2 * t.stepKa;
    }
    t.shareL1Size = static_cast<int32_t>(t.depthA1 * a + t.depthB1 * b + bias);
    t.shareL0CSize = t.baseM * t.baseN * 4;
    t.batchM = t.batchN = t.singleBatchM = t.singleBatchN = 1;
    return t.shareL1Size <= l1_;
}

int64_t MatmulApiTilingBase::GetTiling(::AscendC::tiling::TCubeTiling& out) {
    ::AscendC::tiling::TCubeTiling& t = tiling_;
    if (!a_bytes_ || !b_bytes_ || !c_bytes_ || shape_.m <= 0 || shape_.n <= 0 || shape_.k <= 0) return -1;
    if (t.M <= 0) SetOrgShape(shape_.m, shape_.n, shape_.k);
    t.usedCoreNum = 1;
    t.singleCoreM = single_.m > 0 ? single_.m : shape_.m;
    t.singleCoreN = single_.n > 0 ? single_.n : shape_.n;
    t.singleCoreK = single_.k > 0 ? single_.k : shape_.k;
    if (!choose_base() || !choose_depth()) return -1;
    out = t;
    return 0;
}

int32_t MultiCoreMatmulTiling::SetDim(int32_t cores) {
    if (cores <= 0) return -1;
    cores_ = cores;
    return 0;
}
int32_t MultiCoreMatmulTiling::SetSingleRange(int32_t maxM, int32_t maxN, int32_t maxK, int32_t minM, int32_t minN, int32_t minK) {
    most_single_ = Size{maxM, maxN, maxK}, least_single_ = Size{minM, minN, minK};
    return 0;
}
int32_t MultiCoreMatmulTiling::SetAlignSplit(int32_t m, int32_t n, int32_t k) { return align_ = Size{m, n, k}, 0; }
int32_t MultiCoreMatmulTiling::GetSingleShape(int32_t& m, int32_t& n, int32_t& k) const {
    m = tiling_.singleCoreM, n = tiling_.singleCoreN, k = tiling_.singleCoreK;
    return m > 0 ? 0 : -1;
}
int32_t MultiCoreMatmulTiling::GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim) const {
    dim = tiling_.usedCoreNum, mDim = m_cores_, nDim = n_cores_;
    return dim > 0 ? 0 : -1;
}

bool MultiCoreMatmulTiling::choose_cores() {
    ::AscendC::tiling::TCubeTiling& t = tiling_;
    t.singleCoreK = single_.k > 0 ? single_.k : shape_.k;
    const int32_t unit_m = align_.m > 0 ? align_.m : 16, unit_n = align_.n > 0 ? align_.n : 16;
    int64_t best = -1;
    for (int32_t rows = 1; rows <= cores_; ++rows) {
        const int32_t m = single_.m > 0 ? single_.m : clamped(std::min(shape_.m, up(over(shape_.m, rows), unit_m)), most_single_.m, least_single_.m);
        const int32_t used_rows = over(shape_.m, m);
        if (used_rows > cores_) continue;
        const int32_t columns = cores_ / used_rows;
        const int32_t n = single_.n > 0 ? single_.n
                                        : clamped(std::min(shape_.n, up(over(shape_.n, columns), unit_n)), most_single_.n, least_single_.n);
        const int32_t used_columns = over(shape_.n, n);
        if (static_cast<int64_t>(used_rows) * used_columns > cores_) continue;
        // Multiplications of the busiest core, then what it reads.
        const int64_t cost = static_cast<int64_t>(up(m, 16)) * up(n, 16) * 4096 + m + n;
        if (best >= 0 && cost >= best) continue;
        best = cost;
        t.singleCoreM = m, t.singleCoreN = n, m_cores_ = used_rows, n_cores_ = used_columns;
        t.usedCoreNum = used_rows * used_columns;
    }
    return best >= 0;
}

int64_t MultiCoreMatmulTiling::GetTiling(::AscendC::tiling::TCubeTiling& out) {
    if (!a_bytes_ || !b_bytes_ || !c_bytes_ || shape_.m <= 0 || shape_.n <= 0 || shape_.k <= 0) return -1;
    if (tiling_.M <= 0) SetOrgShape(shape_.m, shape_.n, shape_.k);
    if (!choose_cores() || !choose_base() || !choose_depth()) return -1;
    out = tiling_;
    return 0;
}

int32_t BatchMatmulTiling::GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim, int32_t& batchCoreM, int32_t& batchCoreN) const {
    dim = mDim = nDim = batchCoreM = batchCoreN = 1;
    return 0;
}
int64_t BatchMatmulTiling::GetTiling(::AscendC::tiling::TCubeTiling& out) {
    if (shape_.m <= 0 && tiling_.ALayoutInfoS > 0) SetShape(tiling_.ALayoutInfoS, tiling_.BLayoutInfoS, tiling_.ALayoutInfoD);
    return MatmulApiTilingBase::GetTiling(out);
}

}  // namespace matmul_tiling
