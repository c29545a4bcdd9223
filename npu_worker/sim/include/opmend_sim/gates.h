// High-level elementwise calls of two sources or with parameters: gated units, Fmod, Power, Xor, Lgamma, Digamma, DropOut, Arange, Pad. API pages
// of the same names. Computed in float (gamma functions in double), rounded once.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "opmend_sim/activate.h"
#include "opmend_sim/rows.h"

namespace AscendC {
struct DropOutShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};
struct PadParams {
    uint16_t leftPad = 0, rightPad = 0;
    int32_t padValue = 0;
};
struct UnPadParams {
    uint16_t leftPad = 0, rightPad = 0;
};
}  // namespace AscendC

namespace opmend_sim {
enum class Gate : uint8_t { GeGLU, SwiGLU, ReGlu, Fmod, Power, Lgamma, Digamma, FasterGeluV2, Swish, Exp };
// dst[i] = f(a[i], b[i]); b may be left out. All have one type.
void gate(Gate which, const Lanes& dst, const Lanes& a, const Lanes& b, size_t n, float parameter);
void drop_out(const Lanes& dst, const Lanes& src, const Lanes& mask, const AscendC::DropOutShapeInfo& info, float keep, bool bits);

template <class T>
void gate_call(Gate which, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>* b, size_t n,
               float parameter, const char* call, Where where) {
    static_assert(one_of<T, half, float>, "this call takes half, float on dav-2201");
    const Lanes to = written(dst, n, call, "dst", where);
    gate(which, to, read(a, n, call, "src0", where), b ? read(*b, n, call, "src1", where) : Lanes{}, n, parameter);
}
}  // namespace opmend_sim

namespace AscendC {
#define OPMEND_TMP const LocalTensor<uint8_t>&
// Each with and without scratch, and with and without a count.
#define OPMEND_GATE(Name)                                                                                                                            \
    template <class T, bool isReuseSource = false>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint32_t count, OPMEND_WHERE) {                     \
        ::opmend_sim::gate_call(::opmend_sim::Gate::Name, dst, src0, &src1, count, 1.0f, #Name, where);                                              \
    }                                                                                                                                                \
    template <class T, bool isReuseSource = false>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_WHERE) {                                     \
        Name<T>(dst, src0, src1, src0.GetSize(), where);                                                                                             \
    }                                                                                                                                                \
    template <class T, bool isReuseSource = false>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_TMP, uint32_t count, OPMEND_WHERE) {         \
        Name<T>(dst, src0, src1, count, where);                                                                                                      \
    }                                                                                                                                                \
    template <class T, bool isReuseSource = false>                                                                                                   \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_TMP, OPMEND_WHERE) {                         \
        Name<T>(dst, src0, src1, src0.GetSize(), where);                                                                                             \
    }
OPMEND_GATE(GeGLU)
OPMEND_GATE(ReGlu)
OPMEND_GATE(Fmod)
#undef OPMEND_GATE
#define OPMEND_GATE(Name)                                                                                                                            \
    template <class T, bool first = false, bool second = false>                                                                                      \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, OPMEND_WHERE) {                                                  \
        ::opmend_sim::gate_call(::opmend_sim::Gate::Name, dst, src, static_cast<const LocalTensor<T>*>(nullptr), count, 1.0f, #Name, where);         \
    }                                                                                                                                                \
    template <class T, bool first = false, bool second = false>                                                                                      \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_WHERE) {                                                                  \
        Name<T>(dst, src, src.GetSize(), where);                                                                                                     \
    }                                                                                                                                                \
    template <class T, bool first = false, bool second = false>                                                                                      \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_TMP, uint32_t count, OPMEND_WHERE) {                                      \
        Name<T>(dst, src, count, where);                                                                                                             \
    }                                                                                                                                                \
    template <class T, bool first = false, bool second = false>                                                                                      \
    void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_TMP, OPMEND_WHERE) {                                                      \
        Name<T>(dst, src, src.GetSize(), where);                                                                                                     \
    }
OPMEND_GATE(Lgamma)
OPMEND_GATE(Digamma)
OPMEND_GATE(FasterGeluV2)
#undef OPMEND_GATE
// src0 * src1 / (1 + exp(-beta * src1))
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& beta, const uint32_t count,
            OPMEND_WHERE) {
    ::opmend_sim::gate_call(::opmend_sim::Gate::SwiGLU, dst, src0, &src1, count, beta, "SwiGLU", where);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& beta, OPMEND_WHERE) {
    SwiGLU<T>(dst, src0, src1, beta, src0.GetSize(), where);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& beta, OPMEND_TMP, const uint32_t count,
            OPMEND_WHERE) {
    SwiGLU<T>(dst, src0, src1, beta, count, where);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& beta, OPMEND_TMP, OPMEND_WHERE) {
    SwiGLU<T>(dst, src0, src1, beta, src0.GetSize(), where);
}
// Exp by a Taylor series of so many terms on a device; here the exact value.
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, OPMEND_WHERE) {
    ::opmend_sim::gate_call(::opmend_sim::Gate::Exp, dst, src, static_cast<const LocalTensor<T>*>(nullptr), count, 0.0f, "Exp", where);
}
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_TMP, const uint32_t count, OPMEND_WHERE) {
    Exp<T, taylorExpandLevel, isReuseSource>(dst, src, count, where);
}
// The scratch forms of calls whose plain forms stand elsewhere.
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_TMP, uint32_t count, OPMEND_WHERE) {
    Power<T, isReuseSource>(dst, src0, src1, count, where);
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_TMP, OPMEND_WHERE) {
    Power<T, isReuseSource>(dst, src0, src1, src0.GetSize(), where);
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_WHERE) {
    Power<T, isReuseSource>(dst, src0, src1, src0.GetSize(), where);
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const ::opmend_sim::Same<T>& src1, OPMEND_TMP, uint32_t count, OPMEND_WHERE) {
    Power<T, isReuseSource>(dst, src0, src1, count, where);
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const ::opmend_sim::Same<T>& src1, OPMEND_TMP, OPMEND_WHERE) {
    Power<T, isReuseSource>(dst, src0, src1, src0.GetSize(), where);
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& src0, const LocalTensor<T>& src1, uint32_t count, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "Power takes half, float here");
    const ::opmend_sim::Lanes to = ::opmend_sim::written(dst, count, "Power", "dst", where);
    ::opmend_sim::gate(::opmend_sim::Gate::Power, to, ::opmend_sim::Lanes{}, ::opmend_sim::read(src1, count, "Power", "src1", where), count,
                       static_cast<float>(src0));
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const ::opmend_sim::Same<T>& src0, const LocalTensor<T>& src1, OPMEND_TMP, uint32_t count, OPMEND_WHERE) {
    Power<T, isReuseSource>(dst, src0, src1, count, where);
}
template <class T, bool isReuseSource = false>
void ClampMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ::opmend_sim::Same<T> scalar, const uint32_t count, OPMEND_WHERE) {
    ClampMax<T, isReuseSource>(dst, src, LocalTensor<uint8_t>(), scalar, count, where);
}
template <class T, bool isReuseSource = false>
void ClampMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ::opmend_sim::Same<T> scalar, const uint32_t count, OPMEND_WHERE) {
    ClampMin<T, isReuseSource>(dst, src, LocalTensor<uint8_t>(), scalar, count, where);
}
template <class T, class U, bool isReuseSource = false>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U scalar, OPMEND_TMP, const uint32_t count, OPMEND_WHERE) {
    Axpy(dst, src, scalar, static_cast<int32_t>(count), where);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint32_t count, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, int16_t, uint16_t>, "Xor takes int16_t, uint16_t on dav-2201");
    T* to = ::opmend_sim::target_of_lanes(dst, count, "Xor", "dst", where);
    const T* a = ::opmend_sim::source(src0, count, "Xor", "src0", where);
    const T* b = ::opmend_sim::source(src1, count, "Xor", "src1", where);
    ::opmend_sim::join(to, a, b, count * sizeof(T));
    for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<T>(a[i] ^ b[i]);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_TMP, const uint32_t count, OPMEND_WHERE) {
    Xor<T>(dst, src0, src1, count, where);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_TMP, OPMEND_WHERE) {
    Xor<T>(dst, src0, src1, src0.GetSize(), where);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, OPMEND_WHERE) {
    Xor<T>(dst, src0, src1, src0.GetSize(), where);
}
// A byte a lane, or (dropOutMode 3 and 4, or rows of the mask shorter than the data's) a bit a lane: kept and divided by keepProb, or 0.
template <class T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask, const float keepProb,
             const DropOutShapeInfo& info, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "DropOut takes half, float on dav-2201");
    if (!(keepProb > 0.0f && keepProb <= 1.0f)) ::opmend_sim::fail("dropout-probability", "DropOut: keepProb is not in (0, 1]", where);
    const bool bits = dropOutMode ? dropOutMode >= 3 : info.maskLastAxis < info.srcLastAxis;
    const uint64_t all = static_cast<uint64_t>(info.firstAxis) * info.srcLastAxis;
    const ::opmend_sim::Lanes to = ::opmend_sim::written(dst, all, "DropOut", "dst", where);
    ::opmend_sim::drop_out(to, ::opmend_sim::read(src, all, "DropOut", "src", where),
                           ::opmend_sim::read(mask, static_cast<uint64_t>(info.firstAxis) * info.maskLastAxis, "DropOut", "mask", where), info,
                           keepProb, bits);
}
template <class T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask, OPMEND_TMP, const float keepProb,
             const DropOutShapeInfo& info, OPMEND_WHERE) {
    DropOut<T, isInitBitMode, dropOutMode>(dst, src, mask, keepProb, info, where);
}
// Rows of srcOriWidth lanes (stored srcWidth apart) with leftPad lanes before and rightPad behind.
template <class T>
void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const PadParams& params, const tiling::PadTiling& tiling, OPMEND_WHERE) {
    const uint32_t used = tiling.srcOriWidth ? tiling.srcOriWidth : tiling.srcWidth, width = used + params.leftPad + params.rightPad;
    T* to = ::opmend_sim::target(dst, static_cast<uint64_t>(tiling.srcHeight) * width, "Pad", "dst", where);
    const T* from = ::opmend_sim::source(src, static_cast<uint64_t>(tiling.srcHeight) * tiling.srcWidth, "Pad", "src", where);
    for (uint32_t r = 0; r < tiling.srcHeight; ++r) {
        T* row = to + static_cast<size_t>(r) * width;
        for (uint32_t i = 0; i < width; ++i) row[i] = static_cast<T>(params.padValue);
        ::opmend_sim::join(row + params.leftPad, from + static_cast<size_t>(r) * tiling.srcWidth, used * sizeof(T));
        for (uint32_t i = 0; i < used; ++i) row[params.leftPad + i] = from[static_cast<size_t>(r) * tiling.srcWidth + i];
    }
}
template <class T>
void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const PadParams& params, OPMEND_TMP, const tiling::PadTiling& tiling, OPMEND_WHERE) {
    Pad<T>(dst, src, params, tiling, where);
}
template <class T>
void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const UnPadParams& params, const tiling::UnPadTiling& tiling, OPMEND_WHERE) {
    if (params.leftPad + params.rightPad >= tiling.srcWidth) ::opmend_sim::fail("pad-shape", "UnPad: the pads take all of a row", where);
    const uint32_t width = tiling.srcWidth - params.leftPad - params.rightPad;
    T* to = ::opmend_sim::target_of_lanes(dst, static_cast<uint64_t>(tiling.srcHeight) * width, "UnPad", "dst", where);
    const T* from = ::opmend_sim::source(src, static_cast<uint64_t>(tiling.srcHeight) * tiling.srcWidth, "UnPad", "src", where);
    for (uint32_t r = 0; r < tiling.srcHeight; ++r) {
        const T* row = from + static_cast<size_t>(r) * tiling.srcWidth + params.leftPad;
        ::opmend_sim::join(to + static_cast<size_t>(r) * width, row, width * sizeof(T));
        for (uint32_t i = 0; i < width; ++i) to[static_cast<size_t>(r) * width + i] = row[i];
    }
}
template <class T>
void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const UnPadParams& params, OPMEND_TMP, const tiling::UnPadTiling& tiling,
           OPMEND_WHERE) {
    UnPad<T>(dst, src, params, tiling, where);
}
}  // namespace AscendC
