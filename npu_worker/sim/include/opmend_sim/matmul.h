// The Matmul object. What happens is in product.h; here are the names and types of the public interface (pages "Matmul", "MatmulConfig",
// "SetTensorA", "Iterate", "GetTensorC", "IterateBatch" of the AscendC documentation). All work is done when it is asked for, on the core that
// asks: asynchronous forms have nothing to wait for.
#pragma once
#include "opmend_sim/product.h"

enum class ScheduleType : uint8_t { INNER_PRODUCT, OUTER_PRODUCT, N_BUFFER_33 };
enum class IterateMode : uint8_t {
    ITERATE_MODE_NORMAL = 1, ITERATE_MODE_ALL = 2, ITERATE_MODE_BATCH = 4, ITERATE_MODE_N_BATCH = 8, ITERATE_MODE_DEFAULT = 255,
};
enum class BatchMode : uint8_t { NONE, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum class BatchOutMode : uint8_t { SINGLE_BATCH, MULTI_BATCH };
enum class IterateOrder : uint8_t { ORDER_M, ORDER_N, UNDEF };
enum class TypePara : uint8_t { NOSET };

struct MatrixOffset {
    int32_t offset = 0, row = 0, col = 0, height = 0, width = 0;
};

// How the template works on the device. Nothing of it changes a result here, beside the sizes.
struct MatmulConfig {
    bool doNorm = false, doBasicBlock = false, doMultiDataLoad = false;
    uint32_t basicM = 0, basicN = 0, basicK = 0;
    bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false, doSpecialBasicBlock = false;
    uint32_t doMTE2Preload = 0;
    uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, stepM = 0, stepN = 0, baseMN = 0;
    uint32_t singleCoreMN = 0;
    bool enUnitFlag = true, isPerTensor = false, hasAntiQuantOffset = false, doIBShareNorm = false, doSpecialMDL = false, enableInit = true;
    BatchMode batchMode = BatchMode::NONE;
    bool enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true, enableSetTail = true, enableQuantVector = true,
         enableSetDefineData = true;
    uint8_t iterateMode = 255;
    bool enableReuse = true, enableUBReuse = true, enableL1CacheUB = false, intraBlockPartSum = false;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableDoubleCache = false, isBiasBatch = true, enableStaticPadZeros = false, isPartialOutput = false, enableMixDualMaster = false,
         isA2B2Shared = false, isEnableChannelSplit = false, enableKdimReorderLoad = false, isCO1Shared = false;
    uint32_t sharedCO1BufferSize = 64 * 1024;
    BatchOutMode batchOutMode = BatchOutMode::SINGLE_BATCH;
};
struct MatmulShapeParams {
    uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, basicM = 0, basicN = 0, basicK = 0;
};
struct MatmulFuncParams {
    bool intrinsicsCheck = false, enVecND2NZ = false, enableDoubleCache = false, enableL1CacheUB = false;
    uint32_t doMTE2Preload = 0;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableReuse = true, enableUBReuse = true, isPartialOutput = false, isA2B2Shared = false, isEnableChannelSplit = false,
         enableKdimReorderLoad = false;
};
struct MatmulQuantParams {
    bool isPerTensor = false, hasAntiQuantOffset = false;
};
struct MatmulBatchParams {
    bool isNBatch = false;
    BatchMode batchMode = BatchMode::NONE;
    bool isBiasBatch = true;
    BatchOutMode batchOutMode = BatchOutMode::SINGLE_BATCH;
};
enum class MatmulConfigMode : uint8_t { CONFIG_NORM, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };

namespace opmend_sim {
constexpr MatmulConfig named_config(MatmulConfigMode mode) {
    MatmulConfig config;
    config.doNorm = mode == MatmulConfigMode::CONFIG_NORM;
    config.doMultiDataLoad = mode == MatmulConfigMode::CONFIG_MDL;
    config.doSpecialMDL = mode == MatmulConfigMode::CONFIG_SPECIALMDL;
    config.doIBShareNorm = mode == MatmulConfigMode::CONFIG_IBSHARE;
    return config;
}
constexpr void take(MatmulConfig& to, const MatmulShapeParams& p) {
    to.singleCoreM = p.singleCoreM, to.singleCoreN = p.singleCoreN, to.singleCoreK = p.singleCoreK;
    to.basicM = p.basicM, to.basicN = p.basicN, to.basicK = p.basicK;
}
constexpr void take(MatmulConfig& to, const MatmulFuncParams& p) {
    to.intrinsicsCheck = p.intrinsicsCheck, to.enVecND2NZ = p.enVecND2NZ, to.iterateOrder = p.iterateOrder, to.scheduleType = p.scheduleType;
}
constexpr void take(MatmulConfig& to, const MatmulQuantParams& p) { to.isPerTensor = p.isPerTensor; }
constexpr void take(MatmulConfig& to, const MatmulBatchParams& p) {
    to.isNBatch = p.isNBatch, to.batchMode = p.batchMode, to.isBiasBatch = p.isBiasBatch;
}
}  // namespace opmend_sim

// The getters take the parameters of the public ones; which of them matter here: none.
template <class... A> constexpr MatmulConfig GetNormalConfig(A...) { return ::opmend_sim::named_config(MatmulConfigMode::CONFIG_NORM); }
template <class... A> constexpr MatmulConfig GetMDLConfig(A...) { return ::opmend_sim::named_config(MatmulConfigMode::CONFIG_MDL); }
template <class... A> constexpr MatmulConfig GetSpecialMDLConfig(A...) { return ::opmend_sim::named_config(MatmulConfigMode::CONFIG_SPECIALMDL); }
template <class... A> constexpr MatmulConfig GetIBShareNormConfig(A...) { return ::opmend_sim::named_config(MatmulConfigMode::CONFIG_IBSHARE); }
template <class... A> constexpr MatmulConfig GetBasicConfig(uint32_t m, uint32_t n, uint32_t k, A...) {
    MatmulConfig config = ::opmend_sim::named_config(MatmulConfigMode::CONFIG_NORM);
    config.doBasicBlock = true, config.basicM = m, config.basicN = n, config.basicK = k;
    return config;
}
template <class... A> constexpr MatmulConfig GetSpecialBasicConfig(uint32_t m, uint32_t n, uint32_t k, A...) { return GetBasicConfig(m, n, k); }
template <MatmulConfigMode mode, class... A> constexpr MatmulConfig GetMMConfig(A&&... parts) {
    MatmulConfig config = ::opmend_sim::named_config(mode);
    (::opmend_sim::take(config, parts), ...);
    return config;
}
inline constexpr MatmulConfig CFG_NORM = GetNormalConfig();
inline constexpr MatmulConfig CFG_MDL = GetMDLConfig();
inline constexpr MatmulConfig MM_CFG_BB = GetBasicConfig(128, 128, 128);
inline constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();

namespace AscendC {
using ::BatchMode;
using ::BatchOutMode;
using ::IterateMode;
using ::IterateOrder;
using ::MatmulBatchParams;
using ::MatmulConfig;
using ::MatmulConfigMode;
using ::MatmulFuncParams;
using ::MatmulQuantParams;
using ::MatmulShapeParams;
using ::MatrixOffset;
using ::ScheduleType;
using tiling::TCubeTiling;

template <TPosition position, CubeFormat cube_format, class Type, bool transposable = false, LayoutMode mode = LayoutMode::NONE, bool share = false,
          TPosition source = TPosition::GM>
struct MatmulType {
    static constexpr TPosition pos = position;
    static constexpr CubeFormat format = cube_format;
    using T = Type;
    static constexpr bool isTrans = transposable;
    static constexpr LayoutMode layout = mode;
    static constexpr bool ibShare = share;
    static constexpr TPosition srcPos = source;
};

template <auto copy_out, auto copy_a, auto copy_b> struct MatmulCallBackFunc {
    static constexpr bool given = !(copy_out == nullptr && copy_a == nullptr && copy_b == nullptr);
};
struct MatmulPolicy {};

// A tiling that is known when the kernel is compiled.
struct MatmulApiStaticTiling : TCubeTiling {
    MatmulConfig cfg;
};
template <class A, class B, class C, class Bias> constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& config, int32_t = -1) {
    MatmulApiStaticTiling out{};
    const auto i = [](uint32_t value) { return static_cast<int32_t>(value); };
    out.cfg = config;
    out.usedCoreNum = 1;
    out.M = out.singleCoreM = i(config.singleCoreM), out.N = out.singleCoreN = i(config.singleCoreN);
    out.Ka = out.Kb = out.singleCoreK = i(config.singleCoreK);
    out.baseM = i(config.basicM), out.baseN = i(config.basicN), out.baseK = i(config.basicK);
    out.depthA1 = out.depthB1 = out.stepM = out.stepN = out.stepKa = out.stepKb = out.dbL0A = out.dbL0B = out.dbL0C = 1;
    return out;
}

namespace opmend_detail {
template <class Type> constexpr ::opmend_sim::MatrixType matrix_type() {
    return {::opmend_sim::cell_of<typename Type::T>(), Type::format, Type::pos, Type::isTrans, Type::layout};
}
template <class A, class B, class C> constexpr bool product_types_are_legal() {
    using namespace ::opmend_sim;
    constexpr Cell a = cell_of<A>(), b = cell_of<B>(), c = cell_of<C>();
    if (a == Cell::Int8) return b == Cell::Int8 && (c == Cell::Int32 || c == Cell::Half || c == Cell::Int8 || c == Cell::Uint8);
    if (a == Cell::Half || a == Cell::Bfloat) return a == b && c != Cell::Int32 && c != Cell::Other;
    return a == Cell::Float && b == Cell::Float && (c == Cell::Float || c == Cell::Half || c == Cell::Bfloat);
}
template <const auto& config> TCubeTiling static_tiling() {
    if constexpr (std::is_same_v<std::decay_t<decltype(config)>, MatmulApiStaticTiling>) return config;
    else return TCubeTiling{};
}
}  // namespace opmend_detail

template <class A, class B, class C, class Bias = C, const auto& config = CFG_NORM, class CallBack = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          class Policy = MatmulPolicy>
class MatmulImpl {
    using AT = typename A::T;
    using BT = typename B::T;
    using CT = typename C::T;
    using BiasT = typename Bias::T;
    static_assert(opmend_detail::product_types_are_legal<AT, BT, CT>(),
                  "Matmul takes half or bfloat16_t (result float, half, bfloat16_t, int8_t), float (result float, half, bfloat16_t), "
                  "int8_t (result int32_t, half, int8_t)");
    static_assert(!CallBack::given, "unsupported by the simulator: Matmul with MatmulCallBackFunc");

public:
    using AType = A;
    using BType = B;
    using CType = C;
    using BiasType = Bias;
    static constexpr bool opmend_is_client = false;

    MatmulImpl() : MatmulImpl(false) {}
    explicit MatmulImpl(bool client)
        : product_(opmend_detail::matrix_type<A>(), opmend_detail::matrix_type<B>(), opmend_detail::matrix_type<C>(),
                   opmend_detail::matrix_type<Bias>(), client) {
        const TCubeTiling known = opmend_detail::static_tiling<config>();
        if (known.baseM > 0) product_.init(known, ::opmend_sim::Where{"", 0});
    }
    void Init(const TCubeTiling* tiling, TPipe* = nullptr, OPMEND_WHERE) {
        if (tiling) product_.init(*tiling, where);
    }
    void SetSubBlockIdx(uint8_t index) { sub_block_ = index; }
    uint8_t GetSubBlockIdx() const { return sub_block_; }

    void SetTensorA(const GlobalTensor<AT>& tensor, bool transposed = false, OPMEND_WHERE) {
        product_.set_left(::opmend_sim::place_of(tensor, transposed), where);
    }
    void SetTensorA(const LocalTensor<AT>& tensor, bool transposed = false, OPMEND_WHERE) {
        product_.set_left(::opmend_sim::place_of(tensor, transposed), where);
    }
    void SetTensorA(AT value, OPMEND_WHERE) { product_.set_left(scalar(value), where); }
    void SetTensorB(const GlobalTensor<BT>& tensor, bool transposed = false, OPMEND_WHERE) {
        product_.set_right(::opmend_sim::place_of(tensor, transposed), where);
    }
    void SetTensorB(const LocalTensor<BT>& tensor, bool transposed = false, OPMEND_WHERE) {
        product_.set_right(::opmend_sim::place_of(tensor, transposed), where);
    }
    void SetTensorB(BT value, OPMEND_WHERE) { product_.set_right(scalar(value), where); }
    void SetBias(const GlobalTensor<BiasT>& tensor) { product_.set_bias(::opmend_sim::place_of(tensor)); }
    void SetBias(const LocalTensor<BiasT>& tensor) { product_.set_bias(::opmend_sim::place_of(tensor)); }
    void DisableBias() { product_.disable_bias(); }
    void ClearBias() { product_.disable_bias(); }

    void SetOrgShape(int m, int n, int k) { product_.set_org_shape(m, n, k, k, 0); }
    void SetOrgShape(int m, int n, int ka, int kb, int kc = 0) { product_.set_org_shape(m, n, ka, kb, kc); }
    void SetSingleShape(int m, int n, int k) { product_.set_single_shape(m, n, k); }
    void SetTail(int m = -1, int n = -1, int k = -1) { product_.set_single_shape(m, n, k); }
    void SetHF32(bool on = false, int32_t transMode = 0) { product_.set_hf32(on, transMode == 1); }
    void SetQuantScalar(const uint64_t scale) { product_.set_scale(scale); }
    void SetQuantVector(const GlobalTensor<uint64_t>& scales) { product_.set_scales(::opmend_sim::place_of(scales)); }
    void SetBatchNum(int32_t batchA, int32_t batchB) { product_.set_batch(static_cast<uint32_t>(batchA), static_cast<uint32_t>(batchB)); }
    template <class T> void SetWorkspace(__gm__ const T* address, int bytes, OPMEND_WHERE) {
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(const_cast<T*>(address), static_cast<uint64_t>(bytes) / sizeof(T), where);
        product_.set_workspace(::opmend_sim::place_of(tensor));
    }
    template <class T> void SetWorkspace(GlobalTensor<T>& tensor) { product_.set_workspace(::opmend_sim::place_of(tensor)); }
    void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
    template <class T> void SetSelfDefineData(T) {}
    void SetUserDefInfo(uint64_t) {}
    void SetAntiQuantScalar(AT, AT, OPMEND_WHERE) { ::opmend_sim::unsupported("Matmul.SetAntiQuantScalar", where); }

    template <bool sync = true> bool Iterate(bool enPartialSum = false, OPMEND_WHERE) { return product_.iterate(enPartialSum, !sync, where); }
    template <bool sync = true>
    void IterateAll(const GlobalTensor<CT>& c, uint8_t enAtomic = 0, bool enSequentialWrite = false, bool = false, bool = false, OPMEND_WHERE) {
        product_.run_all(::opmend_sim::place_of(c), enAtomic, enSequentialWrite, "IterateAll", where);
    }
    template <bool sync = true> void IterateAll(const LocalTensor<CT>& c, uint8_t enAtomic = 0, OPMEND_WHERE) {
        product_.run_all(::opmend_sim::place_of(c), enAtomic, false, "IterateAll", where);
    }
    template <bool sync = true> void GetTensorC(const LocalTensor<CT>& c, uint8_t enAtomic = 0, bool enSequentialWrite = false, OPMEND_WHERE) {
        product_.write(::opmend_sim::place_of(c), enAtomic, enSequentialWrite, "GetTensorC", where);
    }
    template <bool sync = true> void GetTensorC(const GlobalTensor<CT>& c, uint8_t enAtomic = 0, bool enSequentialWrite = false, OPMEND_WHERE) {
        product_.write(::opmend_sim::place_of(c), enAtomic, enSequentialWrite, "GetTensorC", where);
    }
    template <bool sync = true>
    void GetTensorC(const GlobalTensor<CT>& c, const LocalTensor<CT>& local, uint8_t enAtomic = 0, bool enSequentialWrite = false, OPMEND_WHERE) {
        product_.write_both(::opmend_sim::place_of(c), ::opmend_sim::place_of(local), enAtomic, enSequentialWrite, "GetTensorC", where);
    }
    template <bool sync = true> GlobalTensor<CT> GetTensorC(uint8_t enAtomic = 0, bool = false, OPMEND_WHERE) {
        const uint64_t offset = product_.write_to_workspace(enAtomic, "GetTensorC", where);
        const ::opmend_sim::MatrixPlace& workspace = product_.workspace();
        GlobalTensor<CT> tensor;
        tensor.assume(reinterpret_cast<CT*>(workspace.data) + offset, workspace.range,
                      static_cast<uint64_t>(product_.tiling().baseM) * static_cast<uint64_t>(product_.tiling().baseN));
        return tensor;
    }
    template <bool sync = true> void AsyncGetTensorC(const LocalTensor<CT>& c, OPMEND_WHERE) {
        product_.write(::opmend_sim::place_of(c), 0, true, "AsyncGetTensorC", where);
    }
    MatrixOffset GetOffsetC() const {
        const ::opmend_sim::BaseBlock& block = product_.block();
        return MatrixOffset{static_cast<int32_t>(product_.offset_of_block()), static_cast<int32_t>(block.row), static_cast<int32_t>(block.column),
                            static_cast<int32_t>(block.rows), static_cast<int32_t>(block.columns)};
    }

    template <bool sync = true, bool wait = false>
    void IterateBatch(const GlobalTensor<CT>& c, uint32_t batchA, uint32_t batchB, bool, uint32_t strideA = 0, uint32_t strideB = 0,
                      uint32_t strideC = 0, bool enPartialSum = false, uint8_t enAtomic = 0, OPMEND_WHERE) {
        product_.set_batch(batchA, batchB);
        product_.run_batches(::opmend_sim::place_of(c), enPartialSum, enAtomic, strideA, strideB, strideC, where);
    }
    template <bool sync = true>
    void IterateBatch(const LocalTensor<CT>& c, uint32_t batchA, uint32_t batchB, bool, uint32_t strideA = 0, uint32_t strideB = 0,
                      uint32_t strideC = 0, bool enPartialSum = false, uint8_t enAtomic = 0, OPMEND_WHERE) {
        product_.set_batch(batchA, batchB);
        product_.run_batches(::opmend_sim::place_of(c), enPartialSum, enAtomic, strideA, strideB, strideC, where);
    }
    // The form of kernels for cube cores alone: batches by SetBatchNum. The second argument's type tells the forms apart.
    template <class Flag, std::enable_if_t<std::is_same_v<Flag, bool>, int> = 0>
    void IterateBatch(const GlobalTensor<CT>& c, Flag enPartialSum, uint8_t enAtomic, bool, uint32_t strideA = 0, uint32_t strideB = 0,
                      uint32_t strideC = 0, OPMEND_WHERE) {
        product_.run_batches(::opmend_sim::place_of(c), enPartialSum, enAtomic, strideA, strideB, strideC, where);
    }
    template <bool sync = true, bool wait = false> void IterateNBatch(uint32_t, uint32_t, uint32_t, bool, OPMEND_WHERE) {
        ::opmend_sim::unsupported("Matmul.IterateNBatch", where);
    }
    void WaitIterateAll() {}
    void WaitIterateBatch() {}
    void WaitGetTensorC() {}
    void End() { product_.reset(); }

private:
    template <class T> static ::opmend_sim::MatrixPlace scalar(T value) {
        ::opmend_sim::MatrixPlace place;
        place.scalar = true;
        place.value = static_cast<double>(static_cast<float>(value));
        return place;
    }
    ::opmend_sim::MatrixProduct product_;
    uint8_t sub_block_ = 0;
};

#ifdef ASCENDC_CUBE_ONLY
#define OPMEND_CUBE_ONLY true
template <class A, class B, class C, class Bias = C, const auto& config = CFG_NORM, class CallBack = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          class Policy = MatmulPolicy>
using Matmul = MatmulImpl<A, B, C, Bias, config, CallBack, Policy>;
#else
#define OPMEND_CUBE_ONLY false
// On a SoC whose cube and vector cores are apart, the vector core's object sends its work to the cube core.
template <class A, class B, class C, class Bias = C, const auto& config = CFG_NORM, class CallBack = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          class Policy = MatmulPolicy>
class Matmul : public MatmulImpl<A, B, C, Bias, config, CallBack, Policy> {
public:
    static constexpr bool opmend_is_client = true;
    Matmul() : MatmulImpl<A, B, C, Bias, config, CallBack, Policy>(true) {}
};
#endif

namespace opmend_detail {
template <class Object, class Next, class... Rest>
void take_tiling(::opmend_sim::Where where, TPipe* pipe, Object& object, Next& next, Rest&... rest);
template <class T> constexpr bool is_tiling = std::is_convertible_v<std::decay_t<T>, const TCubeTiling*>;
inline void register_products(::opmend_sim::Where, TPipe*) {}
// An object takes the tiling behind it, if one is there.
template <class Object, class... Rest> void register_products(::opmend_sim::Where where, TPipe* pipe, Object& object, Rest&&... rest) {
    if constexpr (sizeof...(Rest) > 0) take_tiling(where, pipe, object, rest...);
}
template <class Object, class Next, class... Rest>
void take_tiling(::opmend_sim::Where where, TPipe* pipe, Object& object, Next& next, Rest&... rest) {
    if constexpr (is_tiling<Next>) {
        object.Init(next, pipe, where);
        register_products(where, pipe, rest...);
    } else {
        register_products(where, pipe, next, rest...);
    }
}
template <bool cube_only, class First, class... Rest>
void begin_products(const void* workspace, ::opmend_sim::Where where, First&, Rest&&...) {
    ::opmend_sim::begin_product(First::opmend_is_client, cube_only, workspace, where);
}
}  // namespace opmend_detail
}  // namespace AscendC

// Objects, each with its tiling or without one.
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)                                                                              \
    do {                                                                                                                      \
        ::AscendC::opmend_detail::begin_products<OPMEND_CUBE_ONLY>((const void*)(workspace), ::opmend_sim::Where::here(), __VA_ARGS__); \
        ::AscendC::opmend_detail::register_products(::opmend_sim::Where::here(), tpipe, __VA_ARGS__);                          \
    } while (0)
#define REGIST_CUBE_OBJ(tpipe, workspace, ...) REGIST_MATMUL_OBJ(tpipe, workspace, __VA_ARGS__)

namespace matmul {
using namespace AscendC;
}
