// Vector calls: elementwise with one or two sources, scalar operands, Duplicate. Each in three forms:
// count, mask length + repeat, mask bits + repeat. Loops are compiled once, in runtime/lanes.cpp.
#pragma once
#include "opmend_sim/tensor.h"

namespace opmend_sim {

enum class Binary : uint8_t { Add, Sub, Mul, Div, Max, Min, And, Or, AddRelu, SubRelu, MulAddDst, FusedMulAdd, FusedMulAddRelu };
enum class Unary : uint8_t { Exp, Ln, Abs, Sqrt, Rsqrt, Reciprocal, Relu, Not, Tanh, Sigmoid, Gelu, FasterGelu, Silu, Erf, Erfc, Sin, Cos, Tan,
                             Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Log2, Log10, Sign, Floor, Ceil, Round, Trunc, Rint, Frac, Neg, Square };
enum class Scalar : uint8_t { Adds, Muls, Maxs, Mins, LeakyRelu, ShiftLeft, ShiftRight, ShiftRightRound, Subs, Divs, Power, Axpy };

// dst and sources are equal or apart, or overlap; n lanes. Defined for the types that the wrappers below allow.
template <class T> void lanes(Binary op, T* dst, const T* a, const T* b, size_t n);
template <class T> void lanes(Unary op, T* dst, const T* a, size_t n);
template <class T> void lanes(Scalar op, T* dst, const T* a, T scalar, size_t n);
void axpy(float* dst, const half* a, half scalar, size_t n);
template <class T> void fill(T* dst, T value, size_t n) {
    for (size_t i = 0; i < n; ++i) dst[i] = value;
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
    if (!set || now.mask_mode == MaskMode::Counter) return mask_of_length(0, 0, false, "", Where{"", 0});
    return {false, 0, bits[0], bits[1]};
}

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
    const uint32_t a_run = 32 / widest;
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
template <class T> T* moved(T* data, uint64_t bytes) { return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(data) + bytes); }

template <class T>
void binary_run(Binary op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b, const Mask& mask,
                uint32_t repeats, const AscendC::BinaryRepeatParams& p, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk ways[3] = {walk<T>(p.dstBlkStride, p.dstRepStride), walk<T>(p.src0BlkStride, p.src0RepStride), walk<T>(p.src1BlkStride, p.src1RepStride)};
    T* to = reached_target_of_lanes(d, mask, most, repeats, ways[0], call, "dst", where);
    const T* left = reached_source(a, mask, most, repeats, ways[1], call, "src0", where);
    const T* right = reached_source(b, mask, most, repeats, ways[2], call, "src1", where);
    each_run<3>(mask, most, repeats, ways, [&](const uint64_t (&o)[3], uint64_t n) {
        lanes<T>(op, moved(to, o[0]), moved(left, o[1]), moved(right, o[2]), n);
    });
}
template <class T>
void unary_run(Unary op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, const Mask& mask, uint32_t repeats,
               const AscendC::UnaryRepeatParams& p, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk ways[2] = {walk<T>(p.dstBlkStride, p.dstRepStride), walk<T>(p.srcBlkStride, p.srcRepStride)};
    T* to = reached_target_of_lanes(d, mask, most, repeats, ways[0], call, "dst", where);
    const T* from = reached_source(a, mask, most, repeats, ways[1], call, "src", where);
    each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) { lanes<T>(op, moved(to, o[0]), moved(from, o[1]), n); });
}
template <class T>
void scalar_run(Scalar op, const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a, T scalar, const Mask& mask, uint32_t repeats,
                const AscendC::UnaryRepeatParams& p, const char* call, Where where) {
    constexpr uint32_t most = 256 / sizeof(T);
    const Walk ways[2] = {walk<T>(p.dstBlkStride, p.dstRepStride), walk<T>(p.srcBlkStride, p.srcRepStride)};
    T* to = reached_target_of_lanes(d, mask, most, repeats, ways[0], call, "dst", where);
    const T* from = reached_source(a, mask, most, repeats, ways[1], call, "src", where);
    each_run<2>(mask, most, repeats, ways, [&](const uint64_t (&o)[2], uint64_t n) { lanes<T>(op, moved(to, o[0]), moved(from, o[1]), scalar, n); });
}
// T where it must not take part in deduction, so that a literal of another type converts.
template <class T> struct Identity { using type = T; };
template <class T> using Same = typename Identity<T>::type;
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_BINARY(Name, ...)                                                                                                          \
    template <class T> void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int32_t count,         \
                                 OPMEND_WHERE) {                                                                            \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        const size_t n = count > 0 ? static_cast<size_t>(count) : 0;                                                                       \
        ::opmend_sim::lanes<T>(::opmend_sim::Binary::Name, ::opmend_sim::target_of_lanes(dst, n, #Name, "dst", where),                                \
                               ::opmend_sim::source(src0, n, #Name, "src0", where), ::opmend_sim::source(src1, n, #Name, "src1", where), n);   \
    }                                                                                                                                      \
    template <class T, bool isSetMask = true>                                                                                              \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask, const uint8_t repeat,       \
              const BinaryRepeatParams& params, OPMEND_WHERE) {                                                             \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        ::opmend_sim::binary_run(::opmend_sim::Binary::Name, dst, src0, src1,                                                              \
                                 ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, #Name, where), repeat, params, #Name, where); \
    }                                                                                                                                      \
    template <class T, bool isSetMask = true>                                                                                              \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[], const uint8_t repeat,     \
              const BinaryRepeatParams& params, OPMEND_WHERE) {                                                             \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        ::opmend_sim::binary_run(::opmend_sim::Binary::Name, dst, src0, src1, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params, \
                                 #Name, where);                                                                                           \
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
#undef OPMEND_BINARY

#define OPMEND_UNARY(Name, ...)                                                                                                           \
    template <class T> void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count, OPMEND_WHERE) {       \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        const size_t n = count > 0 ? static_cast<size_t>(count) : 0;                                                                       \
        ::opmend_sim::lanes<T>(::opmend_sim::Unary::Name, ::opmend_sim::target_of_lanes(dst, n, #Name, "dst", where),                                 \
                               ::opmend_sim::source(src, n, #Name, "src", where), n);                                                        \
    }                                                                                                                                      \
    template <class T, bool isSetMask = true>                                                                                              \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const uint8_t repeat, const UnaryRepeatParams& params,   \
              OPMEND_WHERE) {                                                                                               \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        ::opmend_sim::unary_run(::opmend_sim::Unary::Name, dst, src,                                                                       \
                                ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, #Name, where), repeat, params, #Name, where); \
    }                                                                                                                                      \
    template <class T, bool isSetMask = true>                                                                                              \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], const uint8_t repeat, const UnaryRepeatParams& params, \
              OPMEND_WHERE) {                                                                                               \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        ::opmend_sim::unary_run(::opmend_sim::Unary::Name, dst, src, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params, #Name, where); \
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

#define OPMEND_SCALAR(Name, ...)                                                                                                          \
    template <class T, bool isSetMask = true>                                                                                              \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Same<T> scalar, int32_t count,                            \
              OPMEND_WHERE) {                                                                                               \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        const size_t n = count > 0 ? static_cast<size_t>(count) : 0;                                                                       \
        ::opmend_sim::lanes<T>(::opmend_sim::Scalar::Name, ::opmend_sim::target_of_lanes(dst, n, #Name, "dst", where),                                \
                               ::opmend_sim::source(src, n, #Name, "src", where), scalar, n);                                                 \
    }                                                                                                                                      \
    template <class T, bool isSetMask = true>                                                                                              \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Same<T> scalar, uint64_t mask, const uint8_t repeat,      \
              const UnaryRepeatParams& params, OPMEND_WHERE) {                                                              \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        ::opmend_sim::scalar_run(::opmend_sim::Scalar::Name, dst, src, scalar,                                                             \
                                 ::opmend_sim::mask_of_length(mask, 256 / sizeof(T), isSetMask, #Name, where), repeat, params, #Name, where); \
    }                                                                                                                                      \
    template <class T, bool isSetMask = true>                                                                                              \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, ::opmend_sim::Same<T> scalar, uint64_t mask[], const uint8_t repeat,    \
              const UnaryRepeatParams& params, OPMEND_WHERE) {                                                              \
        static_assert(::opmend_sim::one_of<T, __VA_ARGS__>, #Name " takes " #__VA_ARGS__ " on dav-2201");                                  \
        ::opmend_sim::scalar_run(::opmend_sim::Scalar::Name, dst, src, scalar, ::opmend_sim::mask_of_bits(mask, isSetMask), repeat, params, \
                                 #Name, where);                                                                                           \
    }
OPMEND_SCALAR(Adds, half, float, int16_t, int32_t)
OPMEND_SCALAR(Muls, half, float, int16_t, int32_t)
OPMEND_SCALAR(Maxs, half, float, int16_t, int32_t)
OPMEND_SCALAR(Mins, half, float, int16_t, int32_t)
OPMEND_SCALAR(LeakyRelu, half, float)
OPMEND_SCALAR(ShiftLeft, int16_t, uint16_t, int32_t, uint32_t)
OPMEND_SCALAR(ShiftRight, int16_t, uint16_t, int32_t, uint32_t)
#undef OPMEND_SCALAR

}  // namespace AscendC
