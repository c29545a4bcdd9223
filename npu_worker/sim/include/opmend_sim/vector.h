// Vector calls: elementwise with one or two sources, scalar operands, Duplicate. Each in three forms:
// count, mask length + repeat, mask bits + repeat. Loops are compiled once, in runtime/lanes.cpp.
#pragma once
#include "opmend_sim/operands.h"

namespace opmend_sim {

enum class Binary : uint8_t { Add, Sub, Mul, Div, Max, Min, And, Or, AddRelu, SubRelu, MulAddDst, FusedMulAdd, FusedMulAddRelu, MulAddRelu };
enum class Unary : uint8_t { Exp, Ln, Abs, Sqrt, Rsqrt, Reciprocal, Relu, Not, Tanh, Sigmoid, Gelu, FasterGelu, Silu, Erf, Erfc, Sin, Cos, Tan,
                             Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Log2, Log10, Sign, Floor, Ceil, Round, Trunc, Rint, Frac, Neg,
                                 Square };
enum class Scalar : uint8_t { Adds, Muls, Maxs, Mins, LeakyRelu, ShiftLeft, ShiftRight, ShiftRightRound, Subs, Divs, Power, Axpy };

// dst and sources are equal or apart, or overlap; n lanes. Defined for the types that the wrappers below allow.
template <class T> void lanes(Binary op, T* dst, const T* a, const T* b, size_t n);
template <class T> void lanes(Unary op, T* dst, const T* a, size_t n);
template <class T> void lanes(Scalar op, T* dst, const T* a, T scalar, size_t n);
void axpy(float* dst, const half* a, half scalar, size_t n);
template <class T> void fill(T* dst, T value, size_t n) {
    for (size_t i = 0; i < n; ++i) dst[i] = value;
}

// dst += a * b, fused, in float.
void mul_add(float* dst, const half* a, const half* b, size_t n);
// A shift by less than 0 or more than the width (16 or 32) is not defined.
void note_shift(int64_t by, const char* call, Where where);
inline void check_shift(Scalar op, int64_t by, size_t size, const char* call, Where where) {
    if (op != Scalar::ShiftLeft && op != Scalar::ShiftRight && op != Scalar::ShiftRightRound) return;
    if (__builtin_expect(by < 0 || by > static_cast<int64_t>(8 * size), 0)) note_shift(by, call, where);
}

// The lanes a mask form touches. Counter mode: `count` lanes in all; else `low`/`high` bits of each repeat.
struct Mask {
    bool counter = false;
    uint64_t count = 0;
    uint64_t low = 0, high = 0;
};
inline Mask mask_of_length(uint64_t length, uint32_t lanes_a_repeat, bool set, const char* call, Where where) {
    Core& now = core();
    if (!set) {
        if (now.mask_mode == MaskMode::Counter) return {true, now.mask[0], 0, 0};
        return {false, 0, now.mask[0], now.mask[1]};
    }
    if (now.mask_mode == MaskMode::Counter) return {true, length, 0, 0};
    if (length == 0 || length > lanes_a_repeat)
        fail("mask-out-of-range", std::string(call) + ": mask " + text(length) + " is not in 1.." + text(lanes_a_repeat), where);
    return {false, 0, length >= 64 ? ~0ull : (1ull << length) - 1, length >= 128 ? ~0ull : length > 64 ? (1ull << (length - 64)) - 1 : 0};
}
inline Mask mask_of_bits(const uint64_t bits[2], bool set) {
    Core& now = core();
    if (!set) return mask_of_length(0, 0, false, "", Where{"", 0});
    if (now.mask_mode == MaskMode::Counter) return {true, bits[0], 0, 0};
    return {false, 0, bits[0], bits[1]};
}
inline uint64_t repeats_for(const Mask& mask, uint32_t lanes_a_repeat, uint32_t repeats) {
    return mask.counter ? (mask.count + lanes_a_repeat - 1) / lanes_a_repeat : repeats;
}
// The highest lane of a repeat that the mask lets through.
inline uint32_t last_lane(const Mask& mask, uint32_t lanes_a_repeat) {
    if (mask.counter) return mask.count < lanes_a_repeat && mask.count ? static_cast<uint32_t>(mask.count - 1) : lanes_a_repeat - 1;
    const uint32_t top = mask.high && lanes_a_repeat > 64 ? 127u - static_cast<uint32_t>(__builtin_clzll(mask.high))
                                                          : mask.low ? 63u - static_cast<uint32_t>(__builtin_clzll(mask.low)) : 0u;
    return top < lanes_a_repeat ? top : lanes_a_repeat - 1;
}

// Calls body(offsets in bytes..., n) for each run of lanes that is contiguous in every operand.
template <size_t N, class Body> void each_run(const Mask& mask, uint32_t lanes_a_repeat, uint32_t repeats, const Walk (&ways)[N], Body body) {
    uint64_t left = mask.counter ? mask.count : ~0ull;
    const uint64_t total = mask.counter ? (mask.count + lanes_a_repeat - 1) / lanes_a_repeat : repeats;
    uint32_t widest = 1;
    bool flat = true;
    for (const Walk& way : ways) {
        if (way.size > widest) widest = way.size;
        flat = flat && way.block == 32 && way.repeat == static_cast<uint64_t>(lanes_a_repeat) * way.size;
    }
    const uint64_t full_high = lanes_a_repeat >= 128 ? ~0ull : lanes_a_repeat > 64 ? (1ull << (lanes_a_repeat - 64)) - 1 : 0;
    const uint64_t full_low = lanes_a_repeat >= 64 ? ~0ull : (1ull << lanes_a_repeat) - 1;
    const bool whole = !mask.counter && (mask.low & full_low) == full_low && (mask.high & full_high) == full_high;
    uint64_t offsets[N] = {};
    if (flat && (whole || mask.counter)) {
        body(offsets, mask.counter ? mask.count : total * lanes_a_repeat);
        return;
    }
    bool blocks_touch = true;  // the lanes of one repeat lie side by side in every operand
    for (const Walk& way : ways) blocks_touch = blocks_touch && way.block == 32;
    const uint32_t a_run = blocks_touch ? lanes_a_repeat : 32 / widest;
    for (uint64_t r = 0; r < total; ++r) {
        const uint32_t here = left < lanes_a_repeat ? static_cast<uint32_t>(left) : lanes_a_repeat;
        for (uint32_t lane = 0; lane < here; lane += a_run) {
            const uint32_t end = lane + a_run < here ? lane + a_run : here;
            uint32_t first = lane;
            while (first < end) {
                auto on = [&](uint32_t i) { return mask.counter || (i < 64 ? mask.low >> i & 1 : mask.high >> (i - 64) & 1); };
                while (first < end && !on(first)) ++first;
                uint32_t last = first;
                while (last < end && on(last)) ++last;
                if (last > first) {
                    for (size_t k = 0; k < N; ++k) offsets[k] = ways[k].at(r, first);
                    body(offsets, static_cast<uint64_t>(last - first));
                }
                first = last;
            }
        }
        left -= here;
    }
}
// Bytes from the first to behind the last lane an operand touches.
inline uint64_t reach(const Mask& mask, uint32_t lanes_a_repeat, uint32_t repeats, const Walk& way) {
    uint64_t far = 0;
    const Walk ways[1] = {way};
    each_run<1>(mask, lanes_a_repeat, repeats, ways, [&](const uint64_t (&offset)[1], uint64_t n) {
        const uint64_t end = offset[0] + n * way.size;
        if (end > far) far = end;
    });
    return far;
}
template <class T> uint64_t reach_in_lanes(const Mask& mask, uint32_t lanes_a_repeat, uint32_t repeats, const Walk& way) {
    return (reach(mask, lanes_a_repeat, repeats, way) + sizeof(T) - 1) / sizeof(T);
}
// The mask and repeat forms of `source`, `target` and `target_of_lanes` (tensor.h).
template <class T>
const T* reached_source(const AscendC::LocalTensor<T>& tensor, const Mask& mask, uint32_t lanes_a_repeat, uint32_t repeats, const Walk& way,
                        const char* call, const char* operand, Where where) {
    return source(tensor, reach_in_lanes<T>(mask, lanes_a_repeat, repeats, way), call, operand, where);
}
template <class T>
T* reached_target_of_lanes(const AscendC::LocalTensor<T>& tensor, const Mask& mask, uint32_t lanes_a_repeat, uint32_t repeats, const Walk& way,
                           const char* call, const char* operand, Where where) {
    return target_of_lanes(tensor, reach_in_lanes<T>(mask, lanes_a_repeat, repeats, way), call, operand, where);
}
template <class T>
T* reached_target(const AscendC::LocalTensor<T>& tensor, const Mask& mask, uint32_t lanes_a_repeat, uint32_t repeats, const Walk& way,
                  const char* call, const char* operand, Where where) {
    T* data = reached_target_of_lanes(tensor, mask, lanes_a_repeat, repeats, way, call, operand, where);
    const Walk ways[1] = {way};
    each_run<1>(mask, lanes_a_repeat, repeats, ways,
                [&](const uint64_t (&offset)[1], uint64_t n) { mark_written(reinterpret_cast<uint8_t*>(data) + offset[0], n * way.size); });
    return data;
}
// Finds unwritten lanes among those that a reduction or comparison makes visible.
template <class T>
void observe_reached(const AscendC::LocalTensor<T>& tensor, const Mask& mask, uint32_t lanes_a_repeat, uint32_t repeats, const Walk& way,
                     const char* call, const char* operand, Where where) {
    const uint8_t* data = reinterpret_cast<const uint8_t*>(tensor.raw());
    const uint64_t far = reach(mask, lanes_a_repeat, repeats, way);
    if (!unwritten(data, far)) return;
    bool found = false;
    const Walk ways[1] = {way};
    each_run<1>(mask, lanes_a_repeat, repeats, ways, [&](const uint64_t (&offset)[1], uint64_t n) {
        if (!found) found = observe(data + offset[0], n * way.size, call, operand, where, tensor.buffer());
    });
}
inline void check_meeting(const void* dst, const Walk& to, const void* src, const Walk& from, const Mask& mask, uint32_t lanes_a_repeat,
                          uint32_t repeats,
                          Meet meet, const char* call, const char* operand, Where where) {
    const uint64_t total = repeats_for(mask, lanes_a_repeat, repeats);
    if (total == 0) return;
    const uint32_t last = last_lane(mask, lanes_a_repeat);
    // Counter mode's last repeat may be short: a tensor that begins right behind it is apart.
    const uint32_t end = mask.counter ? static_cast<uint32_t>((mask.count - 1) % lanes_a_repeat) : last;
    const auto extent = [&](const Walk& way) {
        const uint64_t whole = total > 1 ? way.at(total - 2, last) : 0, tail = way.at(total - 1, end);
        return (whole > tail ? whole : tail) + way.size;
    };
    check_overlap(dst, to, extent(to), src, from, extent(from), lanes_a_repeat, last, total, meet, call, operand, where);
}
template <class T> T* moved(T* data, uint64_t bytes) { return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(data) + bytes); }

// What binary calls with accumulation in order (the second source may be dst, with a repeat stride of 0): by the general constraints page.
template <class T> constexpr Meet meet_of(Binary op) {
    const bool listed = op == Binary::Add || op == Binary::Sub || op == Binary::Mul || op == Binary::Max || op == Binary::Min ||
                        op == Binary::AddRelu || op == Binary::SubRelu;
    return listed && one_of<T, half, float, int32_t> ? Meet::SecondSource : Meet::No;
}
template <class T>
void binary_run(Binary op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b, const Mask& mask,
                Repeat repeat, const AscendC::BinaryRepeatParams& p, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const uint32_t repeats = repeats_of(repeat, call, where);
    check_strides(p, call, where);
    const Walk ways[3] = {walk<T>(p.dstBlkStride, p.dstRepStride), walk<T>(p.src0BlkStride, p.src0RepStride), walk<T>(p.src1BlkStride,
                                                                                                                      p.src1RepStride)};
    T* to = reached_target_of_lanes(d, mask, most, repeats, ways[0], call, "dst", where);
    const T* left = reached_source(a, mask, most, repeats, ways[1], call, "src0", where);
    const T* right = reached_source(b, mask, most, repeats, ways[2], call, "src1", where);
    check_meeting(to, ways[0], left, ways[1], mask, most, repeats, Meet::No, call, "src0", where);
    check_meeting(to, ways[0], right, ways[2], mask, most, repeats, meet_of<T>(op), call, "src1", where);
    each_run<3>(mask, most, repeats, ways, [&](const uint64_t (&o)[3], uint64_t n) {
        lanes<T>(op, moved(to, o[0]), moved(left, o[1]), moved(right, o[2]), n);
    });
}
template <class T>
void unary_run(Unary op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, const Mask& mask, Repeat repeat,
               const AscendC::UnaryRepeatParams& p, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const uint32_t repeats = repeats_of(repeat, call, where);
    check_strides(p, call, where);
    const Walk ways[2] = {walk<T>(p.dstBlkStride, p.dstRepStride), walk<T>(p.srcBlkStride, p.srcRepStride)};
    T* to = reached_target_of_lanes(d, mask, most, repeats, ways[0], call, "dst", where);
    const T* from = reached_source(a, mask, most, repeats, ways[1], call, "src", where);
    check_meeting(to, ways[0], from, ways[1], mask, most, repeats, Meet::No, call, "src", where);
    each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) { lanes<T>(op, moved(to, o[0]), moved(from, o[1]), n); });
}
template <class T>
void scalar_run(Scalar op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, T scalar, const Mask& mask, Repeat repeat,
                const AscendC::UnaryRepeatParams& p, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const uint32_t repeats = repeats_of(repeat, call, where);
    check_strides(p, call, where);
    const Walk ways[2] = {walk<T>(p.dstBlkStride, p.dstRepStride), walk<T>(p.srcBlkStride, p.srcRepStride)};
    T* to = reached_target_of_lanes(d, mask, most, repeats, ways[0], call, "dst", where);
    const T* from = reached_source(a, mask, most, repeats, ways[1], call, "src", where);
    check_meeting(to, ways[0], from, ways[1], mask, most, repeats, Meet::No, call, "src", where);
    check_shift(op, static_cast<int64_t>(static_cast<Wide<T>>(scalar)), sizeof(T), call, where);
    each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) { lanes<T>(op, moved(to, o[0]), moved(from, o[1]), scalar, n); });
}
// The count forms.
template <class T>
void binary_count(Binary op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b, int32_t count,
                  const char* call, Where where) {
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    T* to = target_of_lanes(d, n, call, "dst", where);
    const T* left = source(a, n, call, "src0", where);
    const T* right = source(b, n, call, "src1", where);
    if (__builtin_expect(to != left, 1)) check_overlap(to, left, n, call, "src0", where);
    if (__builtin_expect(to != right, 1)) check_overlap(to, right, n, call, "src1", where);
    lanes<T>(op, to, left, right, n);
}
template <class T>
void unary_count(Unary op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, int32_t count, const char* call, Where where) {
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    T* to = target_of_lanes(d, n, call, "dst", where);
    const T* from = source(a, n, call, "src", where);
    if (to != from) check_overlap(to, from, n, call, "src", where);
    lanes<T>(op, to, from, n);
}
// set: false takes the number of lanes from SetVectorMask in Counter mode.
template <class T>
void scalar_count(Scalar op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, T scalar, int32_t count, bool set, const char* call,
                  Where where) {
    const size_t n = !set && core().mask_mode == MaskMode::Counter ? core().mask[0] : count > 0 ? static_cast<size_t>(count) : 0;
    T* to = target_of_lanes(d, n, call, "dst", where);
    const T* from = source(a, n, call, "src", where);
    if (to != from) check_overlap(to, from, n, call, "src", where);
    check_shift(op, static_cast<int64_t>(static_cast<Wide<T>>(scalar)), sizeof(T), call, where);
    lanes<T>(op, to, from, scalar, n);
}
// T where it must not take part in deduction, so that a literal of another type converts.
template <class T> struct Identity { using type = T; };
template <class T> using Same = typename Identity<T>::type;
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_TYPES(Name, ...) static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201")
#define OPMEND_BINARY(Name, ...)                                                                                                            \
    template <class T>                                                                                                                      \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int32_t count, OPMEND_WHERE) {              \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::binary_count(::opmend_sim::Binary::Name, dst, src0, src1, count, #Name, where);                                        \
    }                                                                                                                                       \
    template <class T, bool isSetMask = true>                                                                                               \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask, ::opmend_sim::Repeat repeat, \
              const BinaryRepeatParams& params, OPMEND_WHERE) {                                                                              \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::binary_run(::opmend_sim::Binary::Name, dst, src0, src1,                                                               \
                                 ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, #Name, where), repeat, params, #Name, where); \
    }                                                                                                                                       \
    template <class T, bool isSetMask = true>                                                                                               \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint64_t mask[],                      \
              ::opmend_sim::Repeat repeat, const BinaryRepeatParams& params, OPMEND_WHERE) {                                                 \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::binary_run(::opmend_sim::Binary::Name, dst, src0, src1, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params,   \
                                 #Name, where);                                                                                             \
    }
OPMEND_BINARY(Add, half, float, int16_t, int32_t)
OPMEND_BINARY(Sub, half, float, int16_t, int32_t)
OPMEND_BINARY(Mul, half, float, int16_t, int32_t)
OPMEND_BINARY(Div, half, float)
OPMEND_BINARY(Max, half, float, int16_t, int32_t)
OPMEND_BINARY(Min, half, float, int16_t, int32_t)
OPMEND_BINARY(And, int16_t, uint16_t)
OPMEND_BINARY(Or, int16_t, uint16_t)
OPMEND_BINARY(AddRelu, half, float, int16_t)
OPMEND_BINARY(SubRelu, half, float, int16_t)
OPMEND_BINARY(MulAddDst, half, float)
OPMEND_BINARY(FusedMulAdd, half, float)
OPMEND_BINARY(FusedMulAddRelu, half, float)
OPMEND_BINARY(MulAddRelu, half, float)  // a newer name of FusedMulAddRelu
#undef OPMEND_BINARY

// MulAddDst with a half product added to float lanes: the only pair of unlike types.
inline void MulAddDst(const LocalTensor<float>& dst, const LocalTensor<half>& src0, const LocalTensor<half>& src1, int32_t count, OPMEND_WHERE) {
    const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
    ::opmend_sim::mul_add(::opmend_sim::target_of_lanes(dst, n, "MulAddDst", "dst", where), ::opmend_sim::source(src0, n, "MulAddDst", "src0", where),
                          ::opmend_sim::source(src1, n, "MulAddDst", "src1", where), n);
}

#define OPMEND_UNARY(Name, ...)                                                                                                             \
    template <class T> void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count, OPMEND_WHERE) {                        \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::unary_count(::opmend_sim::Unary::Name, dst, src, count, #Name, where);                                                 \
    }                                                                                                                                       \
    template <class T, bool isSetMask = true>                                                                                               \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, ::opmend_sim::Repeat repeat,                              \
              const UnaryRepeatParams& params, OPMEND_WHERE) {                                                                               \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::unary_run(::opmend_sim::Unary::Name, dst, src,                                                                        \
                                ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, #Name, where), repeat, params, #Name, where); \
    }                                                                                                                                       \
    template <class T, bool isSetMask = true>                                                                                               \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], ::opmend_sim::Repeat repeat,                      \
              const UnaryRepeatParams& params, OPMEND_WHERE) {                                                                               \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::unary_run(::opmend_sim::Unary::Name, dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params, #Name,     \
                                where);                                                                                                     \
    }
OPMEND_UNARY(Exp, half, float)
OPMEND_UNARY(Ln, half, float)
OPMEND_UNARY(Abs, half, float)
OPMEND_UNARY(Sqrt, half, float)
OPMEND_UNARY(Rsqrt, half, float)
OPMEND_UNARY(Reciprocal, half, float)
OPMEND_UNARY(Relu, half, float, int32_t)
OPMEND_UNARY(Not, int16_t, uint16_t)
#undef OPMEND_UNARY

#define OPMEND_SCALAR(Name, ...)                                                                                                            \
    template <class T, bool isSetMask = true>                                                                                               \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Same<T> scalar, int32_t count, OPMEND_WHERE) {             \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::scalar_count(::opmend_sim::Scalar::Name, dst, src, static_cast<T>(scalar), count, isSetMask, #Name, where);            \
    }                                                                                                                                       \
    template <class T, bool isSetMask = true>                                                                                                \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Same<T> scalar, uint64_t mask, ::opmend_sim::Repeat repeat, \
              const UnaryRepeatParams& params, OPMEND_WHERE) {                                                                               \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::scalar_run(::opmend_sim::Scalar::Name, dst, src, static_cast<T>(scalar),                                              \
                                 ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, #Name, where), repeat, params, #Name, where); \
    }                                                                                                                                       \
    template <class T, bool isSetMask = true>                                                                                               \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Same<T> scalar, const uint64_t mask[],                     \
              ::opmend_sim::Repeat repeat, const UnaryRepeatParams& params, OPMEND_WHERE) {                                                  \
        OPMEND_TYPES(Name, __VA_ARGS__);                                                                                                    \
        ::opmend_sim::scalar_run(::opmend_sim::Scalar::Name, dst, src, static_cast<T>(scalar), ::opmend_sim::mask_of_bits(mask, isSetMask),  \
                                 repeat, params, #Name, where);                                                                             \
    }
OPMEND_SCALAR(Adds, half, float, int16_t, int32_t)
OPMEND_SCALAR(Muls, half, float, int16_t, int32_t)
OPMEND_SCALAR(Maxs, half, float, int16_t, int32_t)
OPMEND_SCALAR(Mins, half, float, int16_t, int32_t)
OPMEND_SCALAR(LeakyRelu, half, float)
OPMEND_SCALAR(ShiftLeft, int16_t, uint16_t, int32_t, uint32_t)
OPMEND_SCALAR(ShiftRight, int16_t, uint16_t, int32_t, uint32_t)
#undef OPMEND_SCALAR

// ShiftRight that rounds to the nearest (roundEn): half of the last bit that stays is added first.
template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Same<T> scalar, uint64_t mask, ::opmend_sim::Repeat repeat,
                const UnaryRepeatParams& params, bool roundEn, OPMEND_WHERE) {
    OPMEND_TYPES(ShiftRight, int16_t, int32_t, uint16_t, uint32_t);
    ::opmend_sim::scalar_run(roundEn ? ::opmend_sim::Scalar::ShiftRightRound : ::opmend_sim::Scalar::ShiftRight, dst, src, static_cast<T>(scalar),
                             ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, "ShiftRight", where), repeat, params, "ShiftRight",
                                 where);
}
template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Same<T> scalar, const uint64_t mask[],
                ::opmend_sim::Repeat repeat,
                const UnaryRepeatParams& params, bool roundEn, OPMEND_WHERE) {
    OPMEND_TYPES(ShiftRight, int16_t, int32_t, uint16_t, uint32_t);
    ::opmend_sim::scalar_run(roundEn ? ::opmend_sim::Scalar::ShiftRightRound : ::opmend_sim::Scalar::ShiftRight, dst, src, static_cast<T>(scalar),
                             ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params, "ShiftRight", where);
}

}  // namespace AscendC
