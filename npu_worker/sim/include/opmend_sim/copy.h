// DataCopy and DataCopyPad: between global memory and local memories, and between local memories.
#pragma once
#include "opmend_sim/pipe.h"

namespace opmend_sim {
enum class Element : uint8_t { Other, Int8, Int16, Int32, Half, Bfloat, Float };
template <class T> constexpr Element element_of() {
    if constexpr (std::is_same_v<T, int8_t>) return Element::Int8;
    else if constexpr (std::is_same_v<T, int16_t>) return Element::Int16;
    else if constexpr (std::is_same_v<T, int32_t>) return Element::Int32;
    else if constexpr (std::is_same_v<T, half>) return Element::Half;
    else if constexpr (std::is_same_v<T, bfloat16_t>) return Element::Bfloat;
    else if constexpr (std::is_same_v<T, float>) return Element::Float;
    else return Element::Other;
}

// One side of a copy. limit: the bytes its own tensor holds from data on (local), or the storage's range (global).
struct Global {
    uint8_t* data;
    Range range;
};
struct Local {
    uint8_t* data;
    uint64_t limit;
    AscendC::TPosition position = AscendC::TPosition::VECCALC;
    const Buffer* buffer = nullptr;
};
// blocks of `bytes` each; *_step is the distance between starts of blocks, in bytes.
struct CopyShape {
    uint32_t blocks;
    uint64_t bytes, source_step, destination_step;
};
struct Padding {
    bool given = false;
    uint32_t left = 0, right = 0;  // bytes
    uint64_t value = 0;            // bits of one element
    uint32_t size = 1;             // bytes of one element
};
void copy_in(Local to, Global from, CopyShape shape, const char* call, Where where);
void copy_in_padded(Local to, Global from, CopyShape shape, Padding padding, const char* call, Where where);
void copy_out(Global to, Local from, CopyShape shape, Element element, const char* call, Where where);
void copy_within(Local to, Local from, CopyShape shape, const char* call, Where where);
// For data that lies in no local memory (what the cube unit hands over): the checks, the atomics and the records of the global side alone.
void store_global(Global to, const void* from, CopyShape shape, Element element, const char* call, Where where);
// Bytes outside the storage are poison.
void load_global(void* to, Global from, uint64_t bytes, const char* call, Where where);
// Truncates to a multiple of 32 bytes as hardware does, and records the violation.
uint64_t truncated(uint64_t bytes, const char* call, Where where);

template <class T> Global side(const AscendC::GlobalTensor<T>& tensor) {
    return Global{reinterpret_cast<uint8_t*>(tensor.GetPhyAddr()), tensor.range()};
}
template <class T> Local side(const AscendC::LocalTensor<T>& tensor) {
    return Local{reinterpret_cast<uint8_t*>(tensor.raw()), tensor.GetLength(), tensor.GetPosition(), tensor.buffer()};
}
// Blocks of 32 bytes; of 64 into the bias table and of 128 into the fixpipe buffer (pages "DataCopy (L1 to BiasTable)", "(L1 to Fixpipe)").
inline CopyShape in_blocks(const AscendC::DataCopyParams& p, Space destination = Space::UB) {
    const uint64_t unit = destination == Space::BT ? 64 : destination == Space::FB ? 128 : 32, bytes = unit * p.blockLen;
    return CopyShape{p.blockCount, bytes, bytes + 32ull * p.srcStride, bytes + unit * p.dstStride};
}
}  // namespace opmend_sim

namespace AscendC {

template <class T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count, OPMEND_WHERE) {
    const uint64_t bytes = ::opmend_sim::truncated(static_cast<uint64_t>(count) * sizeof(T), "DataCopy", where);
    ::opmend_sim::copy_in(::opmend_sim::side(dst), ::opmend_sim::side(src), {1, bytes, bytes, bytes}, "DataCopy", where);
}
template <class T> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, OPMEND_WHERE) {
    const uint64_t bytes = ::opmend_sim::truncated(static_cast<uint64_t>(count) * sizeof(T), "DataCopy", where);
    ::opmend_sim::copy_out(::opmend_sim::side(dst), ::opmend_sim::side(src), {1, bytes, bytes, bytes}, ::opmend_sim::element_of<T>(), "DataCopy",
                           where);
}
template <class T> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, OPMEND_WHERE) {
    const uint64_t bytes = ::opmend_sim::truncated(static_cast<uint64_t>(count) * sizeof(T), "DataCopy", where);
    ::opmend_sim::copy_within(::opmend_sim::side(dst), ::opmend_sim::side(src), {1, bytes, bytes, bytes}, "DataCopy", where);
}
template <class T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params, OPMEND_WHERE) {
    ::opmend_sim::copy_in(::opmend_sim::side(dst), ::opmend_sim::side(src), ::opmend_sim::in_blocks(params), "DataCopy", where);
}
template <class T> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, OPMEND_WHERE) {
    ::opmend_sim::copy_out(::opmend_sim::side(dst), ::opmend_sim::side(src), ::opmend_sim::in_blocks(params), ::opmend_sim::element_of<T>(),
                           "DataCopy", where);
}
template <class T> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, OPMEND_WHERE) {
    const auto to = ::opmend_sim::side(dst);
    ::opmend_sim::copy_within(to, ::opmend_sim::side(src), ::opmend_sim::in_blocks(params, ::opmend_sim::space_of(to.position)), "DataCopy", where);
}

namespace opmend_detail {
inline uint64_t up32(uint64_t bytes) { return (bytes + 31) / 32 * 32; }
template <class T, class Params>
void pad_in(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Params& p, ::opmend_sim::Padding padding, ::opmend_sim::Where where) {
    const uint64_t row = up32(padding.left + static_cast<uint64_t>(p.blockLen) + padding.right);
    ::opmend_sim::copy_in_padded(::opmend_sim::side(dst), ::opmend_sim::side(src),
        {p.blockCount, p.blockLen, static_cast<uint64_t>(p.blockLen) + p.srcStride, row + 32ull * p.dstStride}, padding, "DataCopyPad", where);
}
template <class T, class Params> void pad_out(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Params& p, ::opmend_sim::Where where) {
    ::opmend_sim::copy_out(::opmend_sim::side(dst), ::opmend_sim::side(src),
        {p.blockCount, p.blockLen, up32(p.blockLen) + 32ull * p.srcStride, static_cast<uint64_t>(p.blockLen) + p.dstStride},
        ::opmend_sim::element_of<T>(), "DataCopyPad", where);
}
template <class T> ::opmend_sim::Padding padding_of(const DataCopyPadExtParams<T>& pad) {
    uint64_t bits = 0;
    std::memcpy(&bits, &pad.paddingValue, sizeof(T));
    if (!pad.isPad) return {false, 0, 0, 0, sizeof(T)};
    return {true, static_cast<uint32_t>(pad.leftPadding * sizeof(T)), static_cast<uint32_t>(pad.rightPadding * sizeof(T)), bits, sizeof(T)};
}
template <class T> ::opmend_sim::Padding padding_of(const DataCopyPadParams& pad) {
    if (!pad.isPad) return {false, 0, 0, 0, sizeof(T)};
    return {true, static_cast<uint32_t>(pad.leftPadding * sizeof(T)), static_cast<uint32_t>(pad.rightPadding * sizeof(T)), pad.paddingValue,
            sizeof(T)};
}
}  // namespace opmend_detail

template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params, const DataCopyPadExtParams<T>& pad,
                 OPMEND_WHERE) {
    opmend_detail::pad_in(dst, src, params, opmend_detail::padding_of(pad), where);
}
template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params, const DataCopyPadParams& pad,
                 OPMEND_WHERE) {
    opmend_detail::pad_in(dst, src, params, opmend_detail::padding_of<T>(pad), where);
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params, OPMEND_WHERE) {
    opmend_detail::pad_out(dst, src, params, where);
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, OPMEND_WHERE) {
    opmend_detail::pad_out(dst, src, params, where);
}

}  // namespace AscendC
