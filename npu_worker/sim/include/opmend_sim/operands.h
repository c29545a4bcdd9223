// Operands of vector calls beyond the checks of tensor.h: addresses with a weaker alignment, parameters that did not fit their bits,
// operands that overlap (CANN 8.5 API pages "General description and constraints" and those of the calls).
#pragma once
#include "opmend_sim/tensor.h"

namespace opmend_sim {

// An operand's way through memory: block and repeat strides in bytes.
struct Walk {
    uint32_t size;  // bytes a lane
    uint64_t block, repeat;
    uint64_t at(uint64_t repeat_index, uint32_t lane) const {
        const uint32_t a_block = 32 / size;
        return repeat_index * repeat + (lane / a_block) * block + (lane % a_block) * size;
    }
};
template <class T> Walk walk(uint64_t block_stride, uint64_t repeat_stride) { return Walk{sizeof(T), block_stride * 32, repeat_stride * 32}; }

// An operand that needs less than its memory's alignment (a reduction's single value): checked from the block it lies in.
void not_aligned(uint32_t alignment, const char* call, const char* name, const Buffer* buffer, Where where);
template <class T>
T* operand_aligned(const AscendC::LocalTensor<T>& tensor, uint64_t count, uint32_t alignment, Use use, const char* call, const char* name,
                   Where where) {
    const auto address = reinterpret_cast<uintptr_t>(tensor.raw());
    if (__builtin_expect(address % alignment != 0, 0)) not_aligned(alignment, call, name, tensor.buffer(), where);
    const auto past = static_cast<uint32_t>(address % 32);
    operand(reinterpret_cast<uint8_t*>(tensor.raw()) - past, count * sizeof(T) + past, tensor.GetLength() + past, tensor.GetPosition(),
            tensor.buffer(), use, call, name, where, PIPE_V);
    return tensor.raw();
}
// The caller's loop sets the shadow.
template <class T>
T* span_aligned(const AscendC::LocalTensor<T>& tensor, uint64_t count, uint32_t alignment, const char* call, const char* name, Where where) {
    return operand_aligned(tensor, count, alignment, Use::Lanes, call, name, where);
}
template <class T>
T* target_aligned(const AscendC::LocalTensor<T>& tensor, uint64_t count, uint32_t alignment, const char* call, const char* name, Where where) {
    T* data = operand_aligned(tensor, count, alignment, Use::Lanes, call, name, where);
    mark_written(data, count * sizeof(T));
    return data;
}
template <class T>
const T* source_aligned(const AscendC::LocalTensor<T>& tensor, uint64_t count, uint32_t alignment, const char* call, const char* name, Where where) {
    return operand_aligned(tensor, count, alignment, Use::Read, call, name, where);
}

void note_cut(const char* call, const char* what, uint64_t seen, Where where);
// The repeat count that the device sees.
inline uint32_t repeats_of(Repeat repeat, const char* call, Where where) {
    if (__builtin_expect(repeat.cut, 0)) note_cut(call, "repeat", repeat.value, where);
    return repeat.value;
}
template <class P> void check_strides(const P& params, const char* call, Where where) {
    if (__builtin_expect(params.cut(), 0)) note_cut(call, "stride", 0, where);
}
// A repeat count that is an int: 0 to 255.
uint32_t repeats_in_range(int64_t repeat, const char* call, Where where);

// How a call may meet its own results: in-order accumulation is allowed for some calls and their second source.
enum class Meet : uint8_t { No, SecondSource };
void find_overlap(const void* dst, const Walk& to, const void* src, const Walk& from, uint32_t lanes_a_repeat, uint32_t last_lane, uint64_t repeats,
                  Meet meet,
                  const char* call, const char* operand, Where where);
// dst and one source: equal in each iteration, or apart; and no iteration reads what an earlier one wrote.
inline void check_overlap(const void* dst, const Walk& to, uint64_t dst_bytes, const void* src, const Walk& from, uint64_t src_bytes,
                          uint32_t lanes_a_repeat,
                          uint32_t last_lane, uint64_t repeats, Meet meet, const char* call, const char* operand, Where where) {
    const auto d = reinterpret_cast<uintptr_t>(dst), s = reinterpret_cast<uintptr_t>(src);
    if (__builtin_expect(d >= s + src_bytes || s >= d + dst_bytes, 1)) return;
    if (d == s && to.size == from.size && to.block == from.block && to.repeat == from.repeat && to.repeat >= 8 * to.block) return;
    find_overlap(dst, to, src, from, lanes_a_repeat, last_lane, repeats, meet, call, operand, where);
}
// The count form: 256 bytes an iteration.
template <class D, class S>
void check_overlap(const D* dst, const S* src, uint64_t count, const char* call, const char* operand, Where where) {
    constexpr uint32_t lanes = 256 / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));
    check_overlap(dst, walk<D>(1, lanes * sizeof(D) / 32), count * sizeof(D), src, walk<S>(1, lanes * sizeof(S) / 32), count * sizeof(S), lanes,
                  lanes - 1,
                  (count + lanes - 1) / lanes, Meet::No, call, operand, where);
}

// The call is not on this SoC: on a device it would not build, or do nothing.
void need_architecture(const uint32_t* allowed, size_t count, const char* call, const char* instead, Where where);

}  // namespace opmend_sim
