// The cube unit's own calls: copies that arrange fractals (ND to NZ, LoadData), Mmad, Fixpipe. Sources: pages "DataCopy (GM to L1, ND2NZ)",
// "LoadData (2D)", "LoadDataWithTranspose", "LoadData (3D)", "Mmad", "Fixpipe (L0C to GM, L0C to L1)", "Fill", "DataCopy (L1 to BiasTable)".
// A fractal is 512 bytes: 16 rows of 32 bytes. L0A holds rows of fractals (Zz), L0B fractals of 16 columns by 32 bytes of depth, depth first (Zn),
// L0C columns of 16 elements (Nz). Loops are in runtime/cube.cpp; here are names, defaults and types.
#pragma once
#include "opmend_sim/gemm.h"
#include "opmend_sim/layout.h"

enum QuantMode_t : uint8_t { NoQuant, F322F16, F322BF16, DEQF16, VDEQF16, QF322B8_PRE, VQF322B8_PRE, REQ8, VREQ8 };

namespace AscendC {
using ::QuantMode_t;

struct Nd2NzParams {
    uint16_t ndNum = 0, nValue = 0, dValue = 0;  // matrices; rows and columns of one, in elements
    uint64_t srcNdMatrixStride = 0;              // between matrices, in elements
    uint16_t srcDValue = 0;                      // between rows, in elements
    uint16_t dstNzC0Stride = 0, dstNzNStride = 0;  // between columns of fractals and between rows, in 32 bytes
    uint32_t dstNzMatrixStride = 0;              // between matrices, in elements
    Nd2NzParams() = default;
    Nd2NzParams(uint16_t matrices, uint16_t rows, uint16_t columns, uint64_t matrix_stride, uint16_t row_stride, uint16_t c0_stride,
            uint16_t n_stride,
                uint32_t nz_matrix_stride)
        : ndNum(matrices), nValue(rows), dValue(columns), srcNdMatrixStride(matrix_stride), srcDValue(row_stride), dstNzC0Stride(c0_stride),
          dstNzNStride(n_stride), dstNzMatrixStride(nz_matrix_stride) {}
};
struct LoadData2DParams {  // in fractals
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;
    uint8_t sid = 0;
    uint16_t dstGap = 0;
    bool ifTranspose = false;
    uint8_t addrMode = 0;
    LoadData2DParams() = default;
    LoadData2DParams(uint16_t start, uint8_t repeats, uint16_t stride, uint8_t reserved, uint16_t gap, bool transpose, uint8_t mode)
        : startIndex(start), repeatTimes(repeats), srcStride(stride), sid(reserved), dstGap(gap), ifTranspose(transpose), addrMode(mode) {}
};
using LoadData2dParams = LoadData2DParams;
struct LoadData2dTransposeParams {  // sources in squares of 1 (16-bit) or 2 fractals, gaps in fractals
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0, dstGap = 0;
    uint16_t dstFracGap = 0, srcFracGap = 0;
    uint8_t addrMode = 0;
    LoadData2dTransposeParams() = default;
    LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap, uint16_t fractal_gap, uint8_t mode = 0)
        : startIndex(start), repeatTimes(repeats), srcStride(stride), dstGap(gap), dstFracGap(fractal_gap), addrMode(mode) {}
};
struct LoadData2dTransposeParamsV2 : LoadData2dTransposeParams {
    LoadData2dTransposeParamsV2() = default;
    LoadData2dTransposeParamsV2(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap, uint16_t fractal_gap, uint16_t source_fractal_gap,
                                uint8_t mode = 0)
        : LoadData2dTransposeParams(start, repeats, stride, gap, fractal_gap, mode) {
        srcFracGap = source_fractal_gap;
    }
};
template <class T> struct LoadData3DParamsV2 {
    uint8_t padList[4] = {0, 0, 0, 0};  // left, right, top, bottom
    uint16_t l1H = 0, l1W = 0, channelSize = 0;
    uint16_t kExtension = 0, mExtension = 0, kStartPt = 0, mStartPt = 0;
    uint8_t strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationFilterW = 1, dilationFilterH = 1;
    bool enTranspose = false, enSmallK = false;
    T padValue = T(0);
    bool filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
    LoadData3DParamsV2() = default;
    LoadData3DParamsV2(const uint8_t pads[4], uint16_t height, uint16_t width, uint16_t channels, uint16_t k_extension, uint16_t m_extension,
                       uint16_t k_start, uint16_t m_start, uint8_t stride_w, uint8_t stride_h, uint8_t filter_w, uint8_t filter_h, uint8_t dilation_w,
                       uint8_t dilation_h, bool transpose, bool small_k, T pad, bool size_w = false, bool size_h = false, bool matrix = false)
        : l1H(height), l1W(width), channelSize(channels), kExtension(k_extension), mExtension(m_extension), kStartPt(k_start), mStartPt(m_start),
          strideW(stride_w), strideH(stride_h), filterW(filter_w), filterH(filter_h), dilationFilterW(dilation_w), dilationFilterH(dilation_h),
          enTranspose(transpose), enSmallK(small_k), padValue(pad), filterSizeW(size_w), filterSizeH(size_h), fMatrixCtrl(matrix) {
        for (int i = 0; i < 4; ++i) padList[i] = pads[i];
    }
};
struct LoadData3DParamsV2Pro {
    uint16_t channelSize = 0;
    bool enTranspose = false, enSmallK = false, filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
    uint64_t extConfig = 0;                // mStartPt, kStartPt, mExtension, kExtension, 16 bits each from the top
    uint64_t filterConfig = 0x10101010101;  // dilationFilterH, dilationFilterW, filterH, filterW, strideH, strideW, 8 bits each
};
struct LoadDataRepeatParam {
    uint16_t repeatStride = 0;
    uint8_t repeatTime = 1;
    uint8_t repeatMode = 0;
    LoadDataRepeatParam() = default;
    LoadDataRepeatParam(uint16_t stride, uint8_t times, uint8_t mode) : repeatStride(stride), repeatTime(times), repeatMode(mode) {}
};
struct IsResetLoad3dConfig {
    bool isSetFMatrix = true, isSetPadding = true;
};
inline constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG{true, true};
enum class FmatrixMode : uint8_t { FMATRIX_LEFT = 0, FMATRIX_RIGHT = 1 };

template <class T> struct InitConstValueParams {
    uint16_t repeatTimes = 0, blockNum = 0, dstGap = 0;  // blocks of 32 bytes in L1, of 512 in L0
    T initValue = T(0);
    InitConstValueParams() = default;
    InitConstValueParams(uint16_t repeats, T value) : repeatTimes(repeats), blockNum(16), initValue(value) {}
    InitConstValueParams(uint16_t repeats, uint16_t blocks, uint16_t gap, T value) : repeatTimes(repeats), blockNum(blocks), dstGap(gap),
            initValue(value) {}
};

struct MmadParams {
    uint16_t m = 0, n = 0, k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false, enWinogradA = false, enWinogradB = false;
    uint8_t unitFlag = 0;
    bool kDirectionAlign = false, cmatrixSource = false, cmatrixInitVal = true;
    MmadParams() = default;
    MmadParams(uint16_t rows, uint16_t columns, uint16_t depth) : m(rows), n(columns), k(depth) {}
    MmadParams(uint16_t rows, uint16_t columns, uint16_t depth, uint8_t unit, bool source, bool zero)
        : m(rows), n(columns), k(depth), unitFlag(unit), cmatrixSource(source), cmatrixInitVal(zero) {}
    MmadParams(uint16_t rows, uint16_t columns, uint16_t depth, bool add, int32_t offset, bool sparse, bool winograd_a, bool winograd_b)
        : m(rows), n(columns), k(depth), isBias(add), fmOffset(offset), enSsparse(sparse), enWinogradA(winograd_a), enWinogradB(winograd_b) {}
};

enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR, COLUMN_MAJOR };
struct FixpipeConfig {
    CO2Layout format;
};
inline constexpr FixpipeConfig CFG_NZ{CO2Layout::NZ}, CFG_ROW_MAJOR{CO2Layout::ROW_MAJOR}, CFG_COLUMN_MAJOR{CO2Layout::COLUMN_MAJOR};
struct FixpipeParamsV220 {
    uint16_t nSize = 0, mSize = 0;
    uint16_t srcStride = 0;  // between columns of the source, in rows of 16 elements
    uint32_t dstStride = 0;  // rows: elements from one to the next; fractals: 32 bytes from one column to the next
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;  // source in fractals of 256 elements, destination in elements
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
    FixpipeParamsV220() = default;
    FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t source, uint32_t destination, bool relu)
        : nSize(n), mSize(m), srcStride(source), dstStride(destination), reluEn(relu) {}
    FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t source, uint32_t destination, bool relu, QuantMode_t quant, int64_t scale, uint16_t matrices,
                      uint16_t source_nd, uint16_t destination_nd, uint8_t unit)
        : nSize(n), mSize(m), srcStride(source), dstStride(destination), quantPre(quant), deqScalar(static_cast<uint64_t>(scale)), ndNum(matrices),
          srcNdStride(source_nd), dstNdStride(destination_nd), reluEn(relu), unitFlag(unit) {}
};
struct DataCopyCO12DstParams {
    uint16_t sid = 0, nSize = 0, mSize = 0;
    uint32_t dstStride = 0;
    uint16_t srcStride = 0;
    uint8_t unitFlag = 0, clipReluPre = 0, eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint8_t reluPre = 0;
    bool channelSplit = false, nz2ndEn = false;
    DataCopyCO12DstParams() = default;
    DataCopyCO12DstParams(uint16_t n, uint16_t m, uint32_t destination, uint16_t source, QuantMode_t quant, uint8_t relu, bool split, bool rows)
        : nSize(n), mSize(m), dstStride(destination), srcStride(source), quantPre(quant), reluPre(relu), channelSplit(split), nz2ndEn(rows) {}
};
}  // namespace AscendC

namespace opmend_sim {

// What the cube's special registers hold. All zero when a kernel begins.
struct CubeRegisters {
    uint64_t pad_value, quant;
    const uint64_t* quants;
    uint32_t nd_destination;
    uint16_t height, width, nd_number, nd_source;
    uint16_t repeat_stride;
    uint8_t repeat_times, repeat_mode;  // 0 times: SetLoadDataRepeat was not called
    uint8_t pads[4];
    bool hf32, hf32_toward_zero;
};
CubeRegisters& cube_registers();
// Global memory that the framework gives a kernel beside its own workspace: nothing is kept there.
uint8_t* system_workspace();

void nd_to_nz(Local to, const uint8_t* from, uint64_t limit, const Range* global, const AscendC::Nd2NzParams& p, uint32_t size, const char* call,
        Where where);
void load_fractals(Local to, Local from, const Global* global, const AscendC::LoadData2DParams& p, uint32_t size, Where where);
void load_transposed(Local to, Local from, const AscendC::LoadData2dTransposeParams& p, uint32_t size, Where where);

// LoadData3D, all numbers widened. The feature map lies in L1 as C1, H, W, C0.
struct ImageWindow {
    uint8_t pads[4];
    uint32_t height, width, channels, k_extension, m_extension, k_start, m_start, stride_w, stride_h, filter_w, filter_h, dilation_w, dilation_h;
    bool transpose;
    uint64_t pad_value;
};
void load_image(Local to, Local from, ImageWindow window, bool set_matrix, bool set_padding, uint32_t size, Where where);
void fill_blocks(Local to, uint32_t repeats, uint32_t blocks, uint32_t gap, const void* value, uint32_t size, Where where);

struct MultiplyOperands {
    Local result, left, right, bias;
    Cell result_cell, left_cell, right_cell;
    bool has_bias;
};
void multiply(const MultiplyOperands& operands, const AscendC::MmadParams& p, Where where);

struct FixpipeShape {
    uint32_t n, m, source_stride, destination_stride;
    QuantMode_t quant;
    uint64_t scale;
    const uint64_t* scales;  // one a column, or null
    uint32_t matrices, source_matrix_stride, destination_matrix_stride;
    bool relu, rows, split;
};
void fixpipe(const Global* global, const Local* local, Cell to, Local from, Cell source, FixpipeShape shape, const char* call, Where where);
void copy_to_table(Local to, Local from, const AscendC::DataCopyParams& p, Cell to_cell, Cell from_cell, Where where);

template <class T> ImageWindow window_of(const AscendC::LoadData3DParamsV2<T>& p) {
    ImageWindow w{{p.padList[0], p.padList[1], p.padList[2], p.padList[3]}, p.l1H, p.l1W, p.channelSize, p.kExtension, p.mExtension, p.kStartPt,
                  p.mStartPt, p.strideW, p.strideH, p.filterW + (p.filterSizeW ? 256u : 0u), p.filterH + (p.filterSizeH ? 256u : 0u),
                          p.dilationFilterW,
                  p.dilationFilterH, p.enTranspose, 0};
    std::memcpy(&w.pad_value, &p.padValue, sizeof(T));
    return w;
}
inline FixpipeShape shape_of(const AscendC::FixpipeParamsV220& p, AscendC::CO2Layout layout, const uint64_t* scales) {
    return {p.nSize, p.mSize, p.srcStride, p.dstStride, p.quantPre, p.deqScalar, scales, p.ndNum, p.srcNdStride, p.dstNdStride, p.reluEn,
            layout == AscendC::CO2Layout::ROW_MAJOR, p.isChannelSplit};
}
inline FixpipeShape shape_of(const AscendC::DataCopyCO12DstParams& p) {
    const CubeRegisters& now = cube_registers();
    return {p.nSize, p.mSize, p.srcStride, p.dstStride, p.quantPre, now.quant, now.quants, now.nd_number, now.nd_source, now.nd_destination,
            p.reluPre != 0, p.nz2ndEn, p.channelSplit};
}
// The source of per-column scales must hold as many as the call takes columns.
template <class S> const uint64_t* scales_of(const AscendC::LocalTensor<S>& tensor, uint32_t columns, Where where) {
    static_assert(sizeof(S) == 8, "quantisation tensors hold uint64_t");
    return reinterpret_cast<const uint64_t*>(source(tensor, columns, "Fixpipe", "cbufWorkspace", where, PIPE_FIX));
}
template <class T, class U> constexpr bool fixpipe_types_are_legal() {
    constexpr Cell to = cell_of<T>(), from = cell_of<U>();
    if (from == Cell::Float) return to == Cell::Float || to == Cell::Half || to == Cell::Bfloat || to == Cell::Int8 || to == Cell::Uint8;
    return from == Cell::Int32 && (to == Cell::Int32 || to == Cell::Half || to == Cell::Int8 || to == Cell::Uint8);
}
#define OPMEND_FIXPIPE_TYPES(T, U) \
    static_assert(::opmend_sim::fixpipe_types_are_legal<T, U>(),              \
                  "Fixpipe takes float to float, half, bfloat16_t, int8_t, uint8_t, and int32_t to int32_t, half, int8_t, uint8_t")
}  // namespace opmend_sim

namespace AscendC {

template <class T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params, OPMEND_WHERE) {
    const auto from = ::opmend_sim::side(src);
    ::opmend_sim::nd_to_nz(::opmend_sim::side(dst), from.data, 0, &from.range, params, sizeof(T), "DataCopy", where);
}
template <class T> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Nd2NzParams& params, OPMEND_WHERE) {
    const auto from = ::opmend_sim::side(src);
    ::opmend_sim::nd_to_nz(::opmend_sim::side(dst), from.data, from.limit, nullptr, params, sizeof(T), "DataCopy", where);
}
// Into the bias table, with a conversion where the types differ.
template <class T, class U, std::enable_if_t<!std::is_same_v<T, U>, int> = 0>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params, OPMEND_WHERE) {
    ::opmend_sim::copy_to_table(::opmend_sim::side(dst), ::opmend_sim::side(src), params, ::opmend_sim::cell_of<T>(), ::opmend_sim::cell_of<U>(),
            where);
}

template <class T> void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params, OPMEND_WHERE) {
    ::opmend_sim::load_fractals(::opmend_sim::side(dst), ::opmend_sim::side(src), nullptr, params, sizeof(T), where);
}
template <class T> void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& params, OPMEND_WHERE) {
    const auto from = ::opmend_sim::side(src);
    ::opmend_sim::load_fractals(::opmend_sim::side(dst), ::opmend_sim::Local{}, &from, params, sizeof(T), where);
}
template <class T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG, class U>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<U>& params, OPMEND_WHERE) {
    ::opmend_sim::load_image(::opmend_sim::side(dst), ::opmend_sim::side(src), ::opmend_sim::window_of(params), config.isSetFMatrix,
            config.isSetPadding,
                             sizeof(T), where);
}
template <class T> void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& p, OPMEND_WHERE) {
    const auto part = [](uint64_t word, int from, int bits) { return static_cast<uint32_t>(word >> from & ((1ull << bits) - 1)); };
    ::opmend_sim::ImageWindow w{{0, 0, 0, 0}, 0, 0, p.channelSize, part(p.extConfig, 0, 16), part(p.extConfig, 16, 16), part(p.extConfig, 32, 16),
                                part(p.extConfig, 48, 16), part(p.filterConfig, 0, 8), part(p.filterConfig, 8, 8),
                                part(p.filterConfig, 16, 8) + (p.filterSizeW ? 256u : 0u), part(p.filterConfig, 24, 8) + (p.filterSizeH ? 256u : 0u),
                                part(p.filterConfig, 32, 8), part(p.filterConfig, 40, 8), p.enTranspose, 0};
    ::opmend_sim::load_image(::opmend_sim::side(dst), ::opmend_sim::side(src), w, false, false, sizeof(T), where);
}
template <class T> void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2dTransposeParams& params,
        OPMEND_WHERE) {
    ::opmend_sim::load_transposed(::opmend_sim::side(dst), ::opmend_sim::side(src), params, sizeof(T), where);
}

inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& mode = FmatrixMode::FMATRIX_LEFT, OPMEND_WHERE) {
    if (mode == FmatrixMode::FMATRIX_RIGHT) ::opmend_sim::unsupported("SetFmatrix with FMATRIX_RIGHT", where);
    auto& now = ::opmend_sim::cube_registers();
    now.height = l1H, now.width = l1W;
    for (int i = 0; i < 4; ++i) now.pads[i] = padList[i];
}
template <class T> void SetLoadDataPaddingValue(const T value) {
    ::opmend_sim::cube_registers().pad_value = 0;
    std::memcpy(&::opmend_sim::cube_registers().pad_value, &value, sizeof(T));
}
inline void SetLoadDataRepeat(const LoadDataRepeatParam& repeat) {
    auto& now = ::opmend_sim::cube_registers();
    now.repeat_stride = repeat.repeatStride, now.repeat_times = repeat.repeatTime, now.repeat_mode = repeat.repeatMode;
}
inline void SetLoadDataBoundary(uint32_t) {}
inline void SetHF32Mode(bool on) { ::opmend_sim::cube_registers().hf32 = on; }
inline void SetHF32TransMode(bool towardZero) { ::opmend_sim::cube_registers().hf32_toward_zero = towardZero; }
inline void SetMMLayoutTransform(bool) {}

template <class T> void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& p, OPMEND_WHERE) {
    ::opmend_sim::fill_blocks(::opmend_sim::side(dst), p.repeatTimes, p.blockNum, p.dstGap, &p.initValue, sizeof(T), where);
}
template <class T> void Fill(const LocalTensor<T>& dst, const InitConstValueParams<T>& p, OPMEND_WHERE) { InitConstValue(dst, p, where); }

namespace opmend_detail {
template <class T, class U, class S> constexpr bool multiply_types_are_legal() {
    if constexpr (std::is_same_v<T, int32_t>) return std::is_same_v<U, int8_t> && std::is_same_v<S, int8_t>;
    else return std::is_same_v<T, float> && std::is_same_v<U, S> && ::opmend_sim::one_of<U, half, bfloat16_t, float>;
}
}  // namespace opmend_detail
#define OPMEND_MULTIPLY_TYPES(T, U, S)                                            \
    static_assert(opmend_detail::multiply_types_are_legal<T, U, S>(),             \
                  "Mmad takes half, bfloat16_t or float into float, and int8_t into int32_t, on dav-2201")
template <class T, class U, class S>
void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter, const MmadParams& params, OPMEND_WHERE) {
    OPMEND_MULTIPLY_TYPES(T, U, S);
    ::opmend_sim::multiply({::opmend_sim::side(dst), ::opmend_sim::side(fm), ::opmend_sim::side(filter), ::opmend_sim::Local{},
            ::opmend_sim::cell_of<T>(),
                            ::opmend_sim::cell_of<U>(), ::opmend_sim::cell_of<S>(), false}, params, where);
}
template <class T, class U, class S, class V>
void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter, const LocalTensor<V>& bias, const MmadParams& params,
          OPMEND_WHERE) {
    OPMEND_MULTIPLY_TYPES(T, U, S);
    static_assert(std::is_same_v<T, V>, "Mmad's bias has the type of its result: float or int32_t");
    ::opmend_sim::multiply({::opmend_sim::side(dst), ::opmend_sim::side(fm), ::opmend_sim::side(filter), ::opmend_sim::side(bias),
                            ::opmend_sim::cell_of<T>(), ::opmend_sim::cell_of<U>(), ::opmend_sim::cell_of<S>(), true}, params, where);
}

template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& params, OPMEND_WHERE) {
    OPMEND_FIXPIPE_TYPES(T, U);
    const auto to = ::opmend_sim::side(dst);
    ::opmend_sim::fixpipe(&to, nullptr, ::opmend_sim::cell_of<T>(), ::opmend_sim::side(src), ::opmend_sim::cell_of<U>(),
                          ::opmend_sim::shape_of(params, config.format, nullptr), "Fixpipe", where);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR, class S = uint64_t>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace, const FixpipeParamsV220& params,
        OPMEND_WHERE) {
    OPMEND_FIXPIPE_TYPES(T, U);
    const auto to = ::opmend_sim::side(dst);
    ::opmend_sim::fixpipe(&to, nullptr, ::opmend_sim::cell_of<T>(), ::opmend_sim::side(src), ::opmend_sim::cell_of<U>(),
                          ::opmend_sim::shape_of(params, config.format, ::opmend_sim::scales_of(cbufWorkspace, params.nSize, where)), "Fixpipe",
                                  where);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& params, OPMEND_WHERE) {
    OPMEND_FIXPIPE_TYPES(T, U);
    const auto to = ::opmend_sim::side(dst);
    ::opmend_sim::fixpipe(nullptr, &to, ::opmend_sim::cell_of<T>(), ::opmend_sim::side(src), ::opmend_sim::cell_of<U>(),
                          ::opmend_sim::shape_of(params, config.format, nullptr), "Fixpipe", where);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR, class S = uint64_t>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace, const FixpipeParamsV220& params,
        OPMEND_WHERE) {
    OPMEND_FIXPIPE_TYPES(T, U);
    const auto to = ::opmend_sim::side(dst);
    ::opmend_sim::fixpipe(nullptr, &to, ::opmend_sim::cell_of<T>(), ::opmend_sim::side(src), ::opmend_sim::cell_of<U>(),
                          ::opmend_sim::shape_of(params, config.format, ::opmend_sim::scales_of(cbufWorkspace, params.nSize, where)), "Fixpipe",
                                  where);
}
// The same in steps: registers first, then a copy out of L0C.
inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride) {
    auto& now = ::opmend_sim::cube_registers();
    now.nd_number = ndNum, now.nd_source = srcNdStride, now.nd_destination = dstNdStride;
}
inline void SetFixpipePreQuantFlag(uint64_t config) { ::opmend_sim::cube_registers().quant = config; }
template <class S> void SetFixPipeConfig(const LocalTensor<S>& quantPre, bool = false) {
    static_assert(sizeof(S) == 8, "quantisation tensors hold uint64_t");
    ::opmend_sim::cube_registers().quants = reinterpret_cast<const uint64_t*>(quantPre.raw());
}
inline void SetFixPipeClipRelu(uint64_t, OPMEND_WHERE) { ::opmend_sim::unsupported("SetFixPipeClipRelu", where); }
template <class T, class U> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& params, OPMEND_WHERE) {
    OPMEND_FIXPIPE_TYPES(T, U);
    const auto to = ::opmend_sim::side(dst);
    ::opmend_sim::fixpipe(&to, nullptr, ::opmend_sim::cell_of<T>(), ::opmend_sim::side(src), ::opmend_sim::cell_of<U>(),
            ::opmend_sim::shape_of(params),
                          "DataCopy", where);
}
template <class T, class U> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& params, OPMEND_WHERE) {
    OPMEND_FIXPIPE_TYPES(T, U);
    const auto to = ::opmend_sim::side(dst);
    ::opmend_sim::fixpipe(nullptr, &to, ::opmend_sim::cell_of<T>(), ::opmend_sim::side(src), ::opmend_sim::cell_of<U>(),
            ::opmend_sim::shape_of(params),
                          "DataCopy", where);
}

inline GM_ADDR GetSysWorkSpacePtr() { return ::opmend_sim::system_workspace(); }

}  // namespace AscendC
using AscendC::GetSysWorkSpacePtr;
