// The softmax family, row by row. Formulas: the API pages of SoftMax, SimpleSoftMax, LogSoftMax, SoftmaxFlash, V2, V3, SoftmaxGrad.
// Sums and maxima are blocks of 32 bytes a row, all lanes alike. Scratch buffers and tiling have no effect on results.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "opmend_sim/rows.h"

namespace AscendC {
struct SoftMaxShapeInfo {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
};
struct SoftMaxParams {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0, loopCnt = 1, splitMeanCnt = 8;
    float alpha = 0.9375f;
};
enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
    bool isCheckTiling = true;
    uint32_t oriSrcM = 0, oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
inline constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};
}  // namespace AscendC

namespace opmend_sim {
enum class SoftmaxForm : uint8_t { Normal, Simple, Log, Flash, FlashUpdate, FlashV2, FlashV2Update, Grad, GradFront };
struct SoftmaxShape {
    uint32_t m = 0, k = 0, used_m = 0, used_k = 0;
    bool nz = false;         // the fractal layout: columns in groups of 16, rows inside
    bool broadcast = true;   // sums and maxima fill a block a row; else one lane a row
};
struct SoftmaxOperands {
    Lanes dst, sum, max, src, exp_max, in_sum, in_max;
};
void softmax(SoftmaxForm form, const SoftmaxShape& shape, const SoftmaxOperands& operands);
struct SoftmaxPasa {
    Lanes dst, mean, sum, max, src, exp_max, in_mean, in_sum, in_max;
    bool update = false;
};
void softmax_pasa(const AscendC::SoftMaxParams& params, const SoftmaxPasa& operands);
bool adjust_softmax(const Lanes& result, const Lanes& max, uint32_t from, float to, const SoftmaxShape& shape, uint32_t step);

// The call says its shape, else its configuration, else the tensor, else the tiling does.
template <class T>
SoftmaxShape softmax_shape(const AscendC::LocalTensor<T>& src, const AscendC::tiling::SoftMaxTiling& tiling, const AscendC::SoftMaxShapeInfo& info,
                           const AscendC::SoftmaxConfig& config, bool nz, const char* call, Where where) {
    SoftmaxShape shape{info.srcM, info.srcK, info.oriSrcM, info.oriSrcK, nz, config.mode == AscendC::SoftmaxMode::SOFTMAX_NORMAL};
    if (config.oriSrcK) shape.used_m = config.oriSrcM, shape.used_k = config.oriSrcK;
    if (!shape.m || !shape.k) {
        const AscendC::ShapeInfo own = src.GetShapeInfo();
        if (own.shapeDim && !nz) {
            shape.k = own.shape[own.shapeDim - 1];
            shape.m = 1;
            for (int i = 0; i + 1 < own.shapeDim; ++i) shape.m *= own.shape[i];
        } else {
            shape.m = tiling.srcM;
            shape.k = tiling.srcK;
        }
    }
    if (!shape.used_m) shape.used_m = shape.m;
    if (!shape.used_k) shape.used_k = shape.k;
    if (!shape.m || !shape.k || shape.used_m > shape.m || shape.used_k > shape.k)
        fail("softmax-shape", std::string(call) + ": shape " + text(shape.m) + " x " + text(shape.k) + " (in use " + text(shape.used_m) + " x " +
             text(shape.used_k) + ") is empty or smaller than what is in use", where);
    if (shape.k * sizeof(T) % 32)
        fail("softmax-shape", std::string(call) + ": the last axis of " + text(shape.k) + " elements is not a multiple of 32 bytes", where);
    return shape;
}
template <class S> uint64_t softmax_block(const SoftmaxShape& shape) {
    return shape.broadcast ? static_cast<uint64_t>(shape.m) * (32 / sizeof(S)) : shape.m;
}
template <class D, class S>
void softmax_normal(SoftmaxForm form, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& sum, const AscendC::LocalTensor<S>& max,
                    const AscendC::LocalTensor<D>& src, const SoftmaxShape& shape, const char* call, Where where) {
    static_assert(one_of<D, half, float> && one_of<S, half, float>, "softmax takes half, float on dav-2201");
    const uint64_t all = static_cast<uint64_t>(shape.m) * shape.k;
    SoftmaxOperands operands;
    operands.dst = written(dst, all, call, "dst", where);
    operands.src = read(src, all, call, "src", where);
    if (sum.raw()) operands.sum = written(sum, softmax_block<S>(shape), call, "sum", where);
    if (max.raw()) operands.max = written(max, softmax_block<S>(shape), call, "max", where);
    softmax(form, shape, operands);
}
template <class D, class S>
void softmax_flash(SoftmaxForm form, bool update, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& sum,
                   const AscendC::LocalTensor<S>& max, const AscendC::LocalTensor<D>& src, const AscendC::LocalTensor<D>& exp_max,
                   const AscendC::LocalTensor<S>& in_sum, const AscendC::LocalTensor<S>& in_max, const SoftmaxShape& shape, const char* call,
                   Where where) {
    static_assert(one_of<D, half, float> && one_of<S, half, float>, "softmax takes half, float on dav-2201");
    const uint64_t all = static_cast<uint64_t>(shape.m) * shape.k, block = softmax_block<S>(shape);
    SoftmaxOperands operands;
    operands.dst = written(dst, all, call, "dst", where);
    operands.sum = written(sum, block, call, "sum", where);
    operands.max = written(max, block, call, "max", where);
    operands.src = read(src, all, call, "src", where);
    if (update) {
        operands.exp_max = written(exp_max, softmax_block<D>(shape), call, "expMax", where);
        operands.in_sum = read(in_sum, block, call, "inSum", where);
        operands.in_max = read(in_max, block, call, "inMax", where);
    }
    softmax(form, shape, operands);
}
}  // namespace opmend_sim

namespace AscendC {

#define OPMEND_TMP const LocalTensor<uint8_t>&

// SoftMax with sums and maxima; S is float beside half where the call has both.
template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class D, class S>
void SoftMax(const LocalTensor<D>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<D>& src,
             const tiling::SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}, OPMEND_WHERE) {
    ::opmend_sim::softmax_normal(::opmend_sim::SoftmaxForm::Normal, dst, sum, max, src,
                                 ::opmend_sim::softmax_shape(src, tiling, shape, config, isDataFormatNZ, "SoftMax", where), "SoftMax", where);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class D, class S>
void SoftMax(const LocalTensor<D>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<D>& src, OPMEND_TMP,
             const tiling::SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}, OPMEND_WHERE) {
    SoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(dst, sum, max, src, tiling, shape, where);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const tiling::SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
             OPMEND_WHERE) {
    ::opmend_sim::softmax_normal(::opmend_sim::SoftmaxForm::Normal, dst, LocalTensor<T>(), LocalTensor<T>(), src,
                                 ::opmend_sim::softmax_shape(src, tiling, shape, config, false, "SoftMax", where), "SoftMax", where);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, OPMEND_TMP, const tiling::SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, OPMEND_WHERE) {
    SoftMax<T, isReuseSource, isBasicBlock, config>(dst, src, tiling, shape, where);
}
// exp(src - max) / sum with maxima and sums that are given.
template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class D, class S>
void SimpleSoftMax(const LocalTensor<D>& dst, const LocalTensor<S>& inSum, const LocalTensor<S>& inMax, const LocalTensor<D>& src,
                   const tiling::SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    const auto shape = ::opmend_sim::softmax_shape(src, tiling, info, config, isDataFormatNZ, "SimpleSoftMax", where);
    const uint64_t all = static_cast<uint64_t>(shape.m) * shape.k, block = ::opmend_sim::softmax_block<S>(shape);
    ::opmend_sim::SoftmaxOperands operands;
    operands.dst = ::opmend_sim::written(dst, all, "SimpleSoftMax", "dst", where);
    operands.src = ::opmend_sim::read(src, all, "SimpleSoftMax", "src", where);
    operands.in_sum = ::opmend_sim::read(inSum, block, "SimpleSoftMax", "inSum", where);
    operands.in_max = ::opmend_sim::read(inMax, block, "SimpleSoftMax", "inMax", where);
    ::opmend_sim::softmax(::opmend_sim::SoftmaxForm::Simple, shape, operands);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class D, class S>
void SimpleSoftMax(const LocalTensor<D>& dst, const LocalTensor<S>& inSum, const LocalTensor<S>& inMax, const LocalTensor<D>& src, OPMEND_TMP,
                   const tiling::SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    SimpleSoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(dst, inSum, inMax, src, tiling, info, where);
}
// The documented formula takes the logarithm to base 10.
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max, const LocalTensor<T>& src,
                const tiling::LogSoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    tiling::SoftMaxTiling rows;
    rows.srcM = tiling.srcM, rows.srcK = tiling.srcK;
    ::opmend_sim::softmax_normal(::opmend_sim::SoftmaxForm::Log, dst, sum, max, src,
                                 ::opmend_sim::softmax_shape(src, rows, info, SOFTMAX_DEFAULT_CFG, isDataFormatNZ, "LogSoftMax", where), "LogSoftMax",
                                 where);
}
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max, const LocalTensor<T>& src, OPMEND_TMP,
                const tiling::LogSoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    LogSoftMax<T, isReuseSource, isDataFormatNZ>(dst, sum, max, src, tiling, info, where);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false, class D, class S>
void SoftmaxFlash(const LocalTensor<D>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<D>& src,
                  const LocalTensor<D>& expMax, const LocalTensor<S>& inSum, const LocalTensor<S>& inMax, const tiling::SoftMaxTiling& tiling,
                  bool isUpdate = false, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    ::opmend_sim::softmax_flash(
        isUpdate ? ::opmend_sim::SoftmaxForm::FlashUpdate : ::opmend_sim::SoftmaxForm::Flash, isUpdate, dst, sum, max, src, expMax, inSum, inMax,
        ::opmend_sim::softmax_shape(src, tiling, info, SOFTMAX_DEFAULT_CFG, false, "SoftmaxFlash", where), "SoftmaxFlash", where);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false, class D, class S>
void SoftmaxFlash(const LocalTensor<D>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<D>& src,
                  const LocalTensor<D>& expMax, const LocalTensor<S>& inSum, const LocalTensor<S>& inMax, OPMEND_TMP,
                  const tiling::SoftMaxTiling& tiling, bool isUpdate = false, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    SoftmaxFlash<T, isReuseSource, isBasicBlock>(dst, sum, max, src, expMax, inSum, inMax, tiling, isUpdate, info, where);
}
template <class T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class D, class S>
void SoftmaxFlashV2(const LocalTensor<D>& dst, const LocalTensor<S>& expSum, const LocalTensor<S>& max, const LocalTensor<D>& src,
                    const LocalTensor<D>& expMax, const LocalTensor<S>& inExpSum, const LocalTensor<S>& inMax, const tiling::SoftMaxTiling& tiling,
                    const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    ::opmend_sim::softmax_flash(
        isUpdate ? ::opmend_sim::SoftmaxForm::FlashV2Update : ::opmend_sim::SoftmaxForm::FlashV2, isUpdate, dst, expSum, max, src, expMax, inExpSum,
        inMax, ::opmend_sim::softmax_shape(src, tiling, info, config, isDataFormatNZ, "SoftmaxFlashV2", where), "SoftmaxFlashV2", where);
}
template <class T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class D, class S>
void SoftmaxFlashV2(const LocalTensor<D>& dst, const LocalTensor<S>& expSum, const LocalTensor<S>& max, const LocalTensor<D>& src,
                    const LocalTensor<D>& expMax, const LocalTensor<S>& inExpSum, const LocalTensor<S>& inMax, OPMEND_TMP,
                    const tiling::SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    SoftmaxFlashV2<T, isUpdate, isReuseSource, isBasicBlock, isDataFormatNZ, config>(dst, expSum, max, src, expMax, inExpSum, inMax, tiling, info,
                                                                                     where);
}
template <class T, class U, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftmaxFlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean, const LocalTensor<U>& expSum, const LocalTensor<U>& max,
                    const LocalTensor<T>& src, const LocalTensor<T>& expMax, const LocalTensor<U>& inMean, const LocalTensor<U>& inExpSum,
                    const LocalTensor<U>& inMax, const tiling::SoftMaxTiling&, const SoftMaxParams& params, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half> && ::opmend_sim::one_of<U, float>, "SoftmaxFlashV3 takes half data and float sums");
    using ::opmend_sim::read;
    using ::opmend_sim::written;
    if (params.srcK < 512 || params.srcK % 64 || params.splitMeanCnt != 8 || params.loopCnt < 1)
        ::opmend_sim::fail("softmax-shape", "SoftmaxFlashV3: srcK is a multiple of 64 from 512 on, splitMeanCnt 8, loopCnt from 1 on", where);
    const uint64_t all = static_cast<uint64_t>(params.srcM) * params.srcK, block = static_cast<uint64_t>(params.srcM) * (32 / sizeof(U));
    ::opmend_sim::SoftmaxPasa operands;
    operands.update = isUpdate;
    operands.dst = written(dst, all, "SoftmaxFlashV3", "dst", where);
    operands.mean = written(mean, block, "SoftmaxFlashV3", "mean", where);
    operands.sum = written(expSum, block, "SoftmaxFlashV3", "expSum", where);
    operands.max = written(max, block, "SoftmaxFlashV3", "max", where);
    operands.src = read(src, all, "SoftmaxFlashV3", "src", where);
    if constexpr (isUpdate) {
        operands.exp_max = written(expMax, static_cast<uint64_t>(params.srcM) * (32 / sizeof(T)), "SoftmaxFlashV3", "expMax", where);
        operands.in_mean = read(inMean, block, "SoftmaxFlashV3", "inMean", where);
        operands.in_sum = read(inExpSum, block, "SoftmaxFlashV3", "inExpSum", where);
        operands.in_max = read(inMax, block, "SoftmaxFlashV3", "inMax", where);
    }
    ::opmend_sim::softmax_pasa(params, operands);
}
template <class T, class U, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftmaxFlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean, const LocalTensor<U>& expSum, const LocalTensor<U>& max,
                    const LocalTensor<T>& src, const LocalTensor<T>& expMax, const LocalTensor<U>& inMean, const LocalTensor<U>& inExpSum,
                    const LocalTensor<U>& inMax, OPMEND_TMP, const tiling::SoftMaxTiling& tiling, const SoftMaxParams& params, OPMEND_WHERE) {
    SoftmaxFlashV3<T, U, isUpdate>(dst, mean, expSum, max, src, expMax, inMean, inExpSum, inMax, tiling, params, where);
}
// dst = (grad - sum(grad * src)) * src, or with isFront the sums alone, a block a row.
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src, const tiling::SoftMaxTiling& tiling,
                 bool isFront = false, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    const auto shape = ::opmend_sim::softmax_shape(src, tiling, info, SOFTMAX_DEFAULT_CFG, isDataFormatNZ, "SoftmaxGrad", where);
    const uint64_t all = static_cast<uint64_t>(shape.m) * shape.k;
    ::opmend_sim::SoftmaxOperands operands;
    operands.dst = ::opmend_sim::written(dst, isFront ? ::opmend_sim::softmax_block<T>(shape) : all, "SoftmaxGrad", "dst", where);
    operands.src = ::opmend_sim::read(src, all, "SoftmaxGrad", "src", where);
    operands.in_sum = ::opmend_sim::read(grad, all, "SoftmaxGrad", "grad", where);
    ::opmend_sim::softmax(isFront ? ::opmend_sim::SoftmaxForm::GradFront : ::opmend_sim::SoftmaxForm::Grad, shape, operands);
}
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src, OPMEND_TMP, const tiling::SoftMaxTiling& tiling,
                 bool isFront = false, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    SoftmaxGrad<T, isReuseSource, isDataFormatNZ>(dst, grad, src, tiling, isFront, info, where);
}
template <class T, bool isBasicBlock = false, bool isDataFormatNZ = false>
void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src, const tiling::SoftMaxTiling& tiling,
                      const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    SoftmaxGrad<T, false, isDataFormatNZ>(dst, grad, src, tiling, true, info, where);
}
template <class T, bool isBasicBlock = false, bool isDataFormatNZ = false>
void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src, OPMEND_TMP,
                      const tiling::SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, OPMEND_WHERE) {
    SoftmaxGrad<T, false, isDataFormatNZ>(dst, grad, src, tiling, true, info, where);
}
// Rows whose maximum has the bits `from` become `to`. Returns whether there was one.
template <class T1, class T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor, const uint32_t from, const ::opmend_sim::Same<T1> to,
                      const SoftMaxShapeInfo& info, OPMEND_WHERE) {
    const auto shape =
        ::opmend_sim::softmax_shape(softMaxRes, tiling::SoftMaxTiling{}, info, SOFTMAX_DEFAULT_CFG, isDataFormatNZ, "AdjustSoftMaxRes", where);
    constexpr uint32_t step = stepSizeMode ? 1 : 32 / sizeof(T2);
    return ::opmend_sim::adjust_softmax(
        ::opmend_sim::written(softMaxRes, static_cast<uint64_t>(shape.m) * shape.k, "AdjustSoftMaxRes", "softMaxRes", where),
        ::opmend_sim::read(maxTensor, static_cast<uint64_t>(shape.m) * step, "AdjustSoftMaxRes", "maxTensor", where), from, static_cast<float>(to),
        shape, step);
}
}  // namespace AscendC
