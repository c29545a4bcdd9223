// The host's tiling of matrix products. Names as in the public interface (pages "MatmulApiTiling", "MultiCoreMatmulTiling", "BatchMatmulTiling");
// how sizes are chosen is this project's own rule (runtime/matmul_tiling.cpp), not Huawei's, so its numbers differ from the toolkit's.
#pragma once
#include "opmend_sim/cube_tiling.h"
#include "opmend_sim/layout.h"
#include "opmend_sim/tiling_functions.h"
#include "opmend_sim/types.h"
#include "tiling/platform/platform_ascendc.h"

namespace matmul_tiling {

using TPosition = ::AscendC::TPosition;
using CubeFormat = ::CubeFormat;
// The numbers of the graph engine's data types.
enum class DataType : int32_t {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8, DT_INT64 = 9, DT_UINT64 = 10,
    DT_DOUBLE = 11, DT_BOOL = 12, DT_BF16 = 27, DT_INT4 = 29, DT_BFLOAT16 = 33,
};
enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };
enum class MatrixMadType : int32_t { NORMAL = 0, HF32 = 1 };
enum class DequantType : int32_t { SCALAR = 0, TENSOR = 1 };

struct PlatformInfo {
    platform_ascendc::SocVersion socVersion = platform_ascendc::SocVersion::ASCEND910B;
    uint64_t l1Size = 0, l0CSize = 0, ubSize = 0, l0ASize = 0, l0BSize = 0;
};

// Sizes are in elements, buffer spaces in bytes; -1 leaves a choice to GetTiling. Setters return 0, or -1 for a value that can't be.
class MatmulApiTilingBase {
public:
    MatmulApiTilingBase();
    explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC&) : MatmulApiTilingBase() {}
    explicit MatmulApiTilingBase(const PlatformInfo& platform);
    virtual ~MatmulApiTilingBase() = default;

    int32_t SetAType(TPosition position, CubeFormat format, DataType type, bool isTrans = false);
    int32_t SetBType(TPosition position, CubeFormat format, DataType type, bool isTrans = false);
    int32_t SetCType(TPosition position, CubeFormat format, DataType type);
    int32_t SetBiasType(TPosition, CubeFormat, DataType) { return 0; }
    int32_t SetDequantType(DequantType) { return 0; }
    virtual int32_t SetShape(int32_t m, int32_t n, int32_t k);
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb);
    int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1);
    int32_t SetBias(bool isBias = false) { return tiling_.isBias = isBias, 0; }
    int32_t EnableBias(bool isBias = false) { return SetBias(isBias); }
    int32_t SetFixSplit(int32_t baseM = -1, int32_t baseN = -1, int32_t baseK = -1);
    int32_t SetBufferSpace(int32_t l1 = -1, int32_t l0C = -1, int32_t ub = -1, int32_t bt = -1);
    int32_t SetTraverse(MatrixTraverse traverse) { return tiling_.iterateOrder = traverse == MatrixTraverse::FIRSTN, 0; }
    int32_t SetMadType(MatrixMadType) { return 0; }
    int32_t SetSplitRange(int32_t maxBaseM = -1, int32_t maxBaseN = -1, int32_t maxBaseK = -1, int32_t minBaseM = -1, int32_t minBaseN = -1,
                          int32_t minBaseK = -1);
    int32_t SetDoubleBuffer(bool a, bool b, bool c, bool, bool = true, bool = true);
    template <class... A> void SetMatmulConfigParams(A...) {}
    int32_t SetSparse(bool) { return 0; }
    int32_t SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d);
    int32_t SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m, int32_t n, int32_t k);
    int32_t SetBatchNum(int32_t batch) { return tiling_.BatchNum = batch, 0; }

    int32_t GetBaseM() const { return tiling_.baseM; }
    int32_t GetBaseN() const { return tiling_.baseN; }
    int32_t GetBaseK() const { return tiling_.baseK; }
    // 0, or -1 when no sizes fit the memories. optiling::TCubeTiling is taken, too.
    virtual int64_t GetTiling(::AscendC::tiling::TCubeTiling& out);

protected:
    struct Size {
        int32_t m = -1, n = -1, k = -1;
    };
    bool choose_base();
    bool choose_depth();
    bool fits(int64_t m, int64_t n, int64_t k) const;
    ::AscendC::tiling::TCubeTiling tiling_;
    Size shape_, single_, fixed_, most_, least_;
    int32_t a_bytes_ = 2, b_bytes_ = 2, c_bytes_ = 4;
    TPosition c_position_ = TPosition::GM;
    int64_t l1_ = 0, l0a_ = 0, l0b_ = 0, l0c_ = 0, ub_ = 0;
    int32_t cores_ = 1;
};

// One core's product: SetShape is its part.
class MatmulApiTiling : public MatmulApiTilingBase {
public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
};

// The whole product, cut over cores.
class MultiCoreMatmulTiling : public MatmulApiTilingBase {
public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t SetDim(int32_t cores);
    int32_t SetSingleRange(int32_t maxM = -1, int32_t maxN = -1, int32_t maxK = -1, int32_t minM = -1, int32_t minN = -1, int32_t minK = -1);
    int32_t SetAlignSplit(int32_t m, int32_t n, int32_t k);
    int32_t EnableMultiCoreSplitK(bool) { return 0; }
    int32_t SetSplitK(bool) { return 0; }
    int32_t GetSingleShape(int32_t& m, int32_t& n, int32_t& k) const;
    int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim) const;
    int64_t GetTiling(::AscendC::tiling::TCubeTiling& out) override;

private:
    bool choose_cores();
    Size most_single_, least_single_, align_;
    int32_t m_cores_ = 1, n_cores_ = 1;
};

class BatchMatmulTiling : public MatmulApiTilingBase {
public:
    using MatmulApiTilingBase::MatmulApiTilingBase;
    int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim, int32_t& batchCoreM, int32_t& batchCoreN) const;
    int64_t GetTiling(::AscendC::tiling::TCubeTiling& out) override;
};

}  // namespace matmul_tiling
