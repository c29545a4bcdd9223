// Enumerations and parameter structs of the AscendC interface (names and units from its public documentation).
#pragma once
#include <cstdint>

#include "opmend_sim/numeric.h"

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __mix__(...)
#define __cube__
#define __vector__
#define __sync_alias__
#define __sync_out__
#define __sync_in__
#define __simd_vf__
#define __inline__ inline
#ifndef __force_inline__
#define __force_inline__ inline
#endif
#define GM_ADDR uint8_t*
#define ASCENDC_SIMULATED_BY_OPMEND 1
// What a device's compiler says of the chip: sources choose their code by it, `#if __CCE_AICORE__ == 220` or `#if __NPU_ARCH__ == 2201`.
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif

namespace opmend_sim {
// A parameter as the device keeps it, and whether the caller's value did not fit: the device then sees the low bits alone.
template <class U> struct Field {
    U value = 0;
    bool cut = false;
    constexpr Field() = default;
    template <class A, std::enable_if_t<std::is_arithmetic_v<A> || std::is_enum_v<A>, int> = 0>
    constexpr Field(A given) : value(static_cast<U>(given)), cut(static_cast<int64_t>(given) != static_cast<int64_t>(value)) {}
    constexpr operator U() const { return value; }
    template <class A> Field& operator+=(A other) { return *this = Field(value + other); }
    template <class A> Field& operator-=(A other) { return *this = Field(value - other); }
    template <class A> Field& operator*=(A other) { return *this = Field(value * other); }
    template <class A> Field& operator/=(A other) { return *this = Field(value / other); }
};
using Repeat = Field<uint8_t>;
// Elements of a tensor that lie in one object of its type.
template <class T> inline constexpr uint32_t packed = 1;
}  // namespace opmend_sim

namespace AscendC {

enum class TPosition : uint8_t {
    GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, C2PIPE2GM, C2PIPE2LOCAL, MAX,
};
using QuePosition = TPosition;

enum class HardEvent : uint8_t {
    MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, MTE2_V, V_MTE2, MTE3_V, V_MTE3, M_V, V_M, V_V, MTE3_MTE1, MTE1_MTE3, MTE1_V,
    MTE2_M, M_MTE2, V_MTE1, M_FIX, FIX_M, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2, MTE2_S, S_MTE3, MTE3_S, MTE2_FIX,
    FIX_MTE2, FIX_S, M_S, FIX_MTE3, MTE1_FIX, FIX_MTE1, FIX_FIX, FIX_V, MAX,
};

enum class RoundMode : uint8_t {
    CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD, CAST_HYBRID,
};
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class MaskMode : uint8_t { NORMAL, COUNTER };
enum class CacheLine : uint8_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint8_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class CacheMode : uint8_t { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };
enum class CacheRwMode : uint8_t { READ = 1, WRITE = 2, RW = 3 };
enum class AtomicDtype : uint8_t { ATOMIC_NONE, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };

using TEventID = int8_t;

// Two in a byte; sizeof is that of the byte.
struct int4b_t {
    int8_t storage;
    using T = int8_t;
};

struct DataCopyParams {  // DataCopy: length and gaps in 32-byte blocks. DataCopyPad: length in bytes
    uint16_t blockCount = 1;
    uint16_t blockLen = 0;
    union { uint16_t srcStride = 0; uint16_t srcGap; };
    union { uint16_t dstStride = 0; uint16_t dstGap; };
    DataCopyParams() = default;
    DataCopyParams(uint16_t count, uint16_t length, uint16_t source, uint16_t destination)
        : blockCount(count), blockLen(length), srcStride(source), dstStride(destination) {}
};
struct DataCopyExtParams {  // DataCopyPad: length in bytes; gap in bytes on the global side, 32-byte blocks on the local one
    uint16_t blockCount = 1;
    uint32_t blockLen = 0;
    uint32_t srcStride = 0;
    uint32_t dstStride = 0;
    uint32_t rsv = 0;
    DataCopyExtParams() = default;
    DataCopyExtParams(uint16_t count, uint32_t length, uint32_t source, uint32_t destination, uint32_t reserved)
        : blockCount(count), blockLen(length), srcStride(source), dstStride(destination), rsv(reserved) {}
};
struct DataCopyPadParams {
    bool isPad = false;
    uint8_t leftPadding = 0;
    uint8_t rightPadding = 0;
    uint64_t paddingValue = 0;  // the low bytes are the element's bits
    DataCopyPadParams() = default;
    DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};
template <class T> struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0;   // elements
    uint8_t rightPadding = 0;  // elements
    T paddingValue{};
    DataCopyPadExtParams() = default;
    template <class V>
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, V value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(static_cast<T>(value)) {}
};
template <class V> DataCopyPadExtParams(bool, uint8_t, uint8_t, V) -> DataCopyPadExtParams<V>;

struct BinaryRepeatParams {  // strides in 32-byte blocks
    using Step = ::opmend_sim::Field<uint8_t>;
    Step dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
    Step dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    BinaryRepeatParams() = default;
    BinaryRepeatParams(Step dst, Step src0, Step src1, Step dst_repeat, Step src0_repeat, Step src1_repeat)
        : dstBlkStride(dst), src0BlkStride(src0), src1BlkStride(src1), dstRepStride(dst_repeat), src0RepStride(src0_repeat),
          src1RepStride(src1_repeat) {}
    bool cut() const {
        return dstBlkStride.cut || src0BlkStride.cut || src1BlkStride.cut || dstRepStride.cut || src0RepStride.cut || src1RepStride.cut;
    }
};
struct UnaryRepeatParams {
    using Step = ::opmend_sim::Field<uint8_t>;
    using BlockStep = ::opmend_sim::Field<uint16_t>;
    BlockStep dstBlkStride = 1, srcBlkStride = 1;
    Step dstRepStride = 8, srcRepStride = 8;
    bool halfBlock = false;
    UnaryRepeatParams() = default;
    UnaryRepeatParams(BlockStep dst, BlockStep src, Step dst_repeat, Step src_repeat, bool half_block = false)
        : dstBlkStride(dst), srcBlkStride(src), dstRepStride(dst_repeat), srcRepStride(src_repeat), halfBlock(half_block) {}
    bool cut() const { return dstBlkStride.cut || srcBlkStride.cut || dstRepStride.cut || srcRepStride.cut; }
};
struct CopyRepeatParams {
    uint16_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
    CopyRepeatParams() = default;
    CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dst_repeat, uint16_t src_repeat)
        : dstStride(dst), srcStride(src), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat) {}
};
struct BrcbRepeatParams {
    uint16_t dstBlkStride = 1, dstRepStride = 8;
    BrcbRepeatParams() = default;
    BrcbRepeatParams(uint16_t block, uint16_t repeat) : dstBlkStride(block ? block : 1), dstRepStride(repeat) {}  // a stride of 0 is 1
};
struct GatherMaskParams {
    uint8_t src0BlockStride = 1;
    uint16_t repeatTimes = 1, src0RepeatStride = 8;
    uint8_t src1RepeatStride = 0;
    GatherMaskParams() = default;
    GatherMaskParams(uint8_t block, uint16_t repeat, uint16_t src0, uint8_t src1)
        : src0BlockStride(block), repeatTimes(repeat), src0RepeatStride(src0), src1RepeatStride(src1) {}
};
struct GatherRepeatParams {  // strides in 32-byte blocks
    uint32_t dstBlkStride = 1, dstRepStride = 8;
    GatherRepeatParams() = default;
    GatherRepeatParams(uint32_t block, uint32_t repeat) : dstBlkStride(block), dstRepStride(repeat) {}
};
struct TransDataTo5HDParams {  // strides in 32-byte blocks
    bool dstHighHalf = false, srcHighHalf = false;
    uint8_t repeatTimes = 1;
    uint16_t dstRepStride = 0, srcRepStride = 0;
    TransDataTo5HDParams() = default;
    TransDataTo5HDParams(bool dst_high, bool src_high, uint8_t repeats, uint16_t dst_repeat, uint16_t src_repeat)
        : dstHighHalf(dst_high), srcHighHalf(src_high), repeatTimes(repeats), dstRepStride(dst_repeat), srcRepStride(src_repeat) {}
};
enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE, TRANSPOSE_NZ2ND_0213, TRANSPOSE_NZ2NZ_0213, TRANSPOSE_NZ2NZ_012_WITH_N, TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N, TRANSPOSE_NZ2NZ_012_WITHOUT_N, TRANSPOSE_ND2ND_ONLY, TRANSPOSE_ND_UB_GM, TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW,
};
struct TransposeParamsExt {
    uint16_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
    TransposeParamsExt() = default;
    TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w, TransposeType type)
        : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type) {}
};
inline constexpr int32_t MRG_SORT_ELEMENT_LEN = 4;
inline constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;
inline constexpr int32_t VDEQ_TENSOR_SIZE = 16;
struct MrgSort4Info {  // lengths in elements of 8 bytes (MrgSort) or proposals (MrgSort4)
    uint16_t elementLengths[MRG_SORT_ELEMENT_LEN] = {};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint8_t repeatTimes = 1;
    MrgSort4Info() = default;
    MrgSort4Info(const uint16_t lengths[MRG_SORT_ELEMENT_LEN], bool suspend, uint16_t valid, uint16_t repeats)
        : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(static_cast<uint8_t>(repeats)) {
        for (int i = 0; i < MRG_SORT_ELEMENT_LEN; ++i) elementLengths[i] = lengths[i];
    }
};
struct VdeqInfo {
    float vdeqScale[VDEQ_TENSOR_SIZE] = {};
    int16_t vdeqOffset[VDEQ_TENSOR_SIZE] = {};
    bool vdeqSignMode[VDEQ_TENSOR_SIZE] = {};
    VdeqInfo() = default;
    VdeqInfo(const float scale[VDEQ_TENSOR_SIZE], const int16_t offset[VDEQ_TENSOR_SIZE], const bool sign[VDEQ_TENSOR_SIZE]) {
        for (int i = 0; i < VDEQ_TENSOR_SIZE; ++i) vdeqScale[i] = scale[i], vdeqOffset[i] = offset[i], vdeqSignMode[i] = sign[i];
    }
};
struct TilingPlaceholder {};

inline constexpr uint64_t MASK_PLACEHOLDER = 0;
inline constexpr uint32_t ONE_BLK_SIZE = 32;
inline constexpr uint32_t ONE_REPEAT_BYTE_SIZE = 256;
inline constexpr uint32_t DEFAULT_C0_SIZE = 32;
inline constexpr uint8_t DEFAULT_BLK_STRIDE = 1;
inline constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
inline constexpr uint8_t DEFAULT_BLK_NUM = 8;
inline constexpr uint32_t MAX_REPEAT_TIMES = 255;

// A 64-bit mask pair or a count, as the mask forms take them.
template <class T> constexpr uint32_t elements_per_repeat() { return 256 / sizeof(T); }

}  // namespace AscendC

namespace opmend_sim {
template <> inline constexpr uint32_t packed<AscendC::int4b_t> = 2;
}  // namespace opmend_sim

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_FIX };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
