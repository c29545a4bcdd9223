// The normalisation family. Formulas: the API pages of LayerNorm, RmsNorm, GroupNorm, BatchNorm, DeepNorm, Normalize, LayerNormGrad,
// LayerNormGradBeta, WelfordUpdate, WelfordFinalize. Scratch buffers have no effect; shapes come from the tiling, as on a device.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "opmend_sim/rows.h"

namespace AscendC {
struct LayerNormConfig {
    bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
inline constexpr LayerNormConfig LNCFG_NORM = {false, false, false};
inline constexpr LayerNormConfig LNCFG_NOBETA = {true, false, false};
inline constexpr LayerNormConfig LNCFG_NOGAMMA = {false, true, false};
struct LayerNormPara {
    uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0;
};
enum class ReducePattern : uint32_t { AR = 0, RA };
struct NormalizeConfig {
    ReducePattern reducePattern = ReducePattern::AR;
    int32_t aLength = -1;
    bool isNoBeta = false, isNoGamma = false;
};
inline constexpr NormalizeConfig NLCFG_NORM = {ReducePattern::AR, -1, false, false};
struct NormalizePara {
    uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0;
};
struct LayerNormGradShapeInfo {
    int32_t dataFormat = 0;
};
struct WelfordUpdateConfig {
    bool isInplace = false;
};
inline constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG = {false};
struct WelfordUpdateParam {
    uint32_t rnLength = 0, abLength = 0, abComputeLength = 0;
    float nRec = 0;
};
struct WelfordFinalizePara {
    uint32_t rnLength = 0, abLength = 0, headCount = 0, headCountLength = 0, tailCount = 0, tailCountLength = 0;
    float abRec = 0, rRec = 0;
};
}  // namespace AscendC

namespace opmend_sim {
// Which mean and spread a row is normalised by, and what is put out of it.
enum class Spread : uint8_t { Computed, Given, RootMeanSquare };
struct NormalizeCall {
    Lanes out, mean, spread;   // spread: the variance, or with `reciprocal` one over the standard deviation
    Lanes x, added, gamma, beta, in_mean, in_variance;
    uint32_t rows = 0, width = 0, used = 0;
    uint32_t rows_a_factor = 0;  // gamma and beta have one lane a this many lanes (GroupNorm's channels); 0: one a lane
    uint32_t groups = 0;         // rows share factors in turn: row r uses those of r % groups
    float epsilon = 0, alpha = 1;
    Spread kind = Spread::Computed;
    bool reciprocal = false;
};
void normalize(const NormalizeCall& call);
void batch_norm(const NormalizeCall& call, uint32_t batch, uint32_t features);
struct NormalizeGradient {
    Lanes dx, for_gamma, dy, x, variance, mean, gamma;
    uint32_t rows = 0, width = 0, used = 0;
    float epsilon = 0;
};
void normalize_gradient(const NormalizeGradient& call);
void sum_of_rows(const Lanes& gamma, const Lanes& beta, const Lanes& for_gamma, const Lanes& dy, uint32_t rows, uint32_t width);
void welford_update(const Lanes& mean, const Lanes& variance, const Lanes& in_mean, const Lanes& in_variance, const Lanes& x, uint32_t length,
                    uint32_t whole, float reciprocal, bool in_place);
void welford_finalize(const Lanes& mean, const Lanes& variance, const Lanes& in_mean, const Lanes& in_variance, const Lanes& counts,
                      const AscendC::WelfordFinalizePara& para);
void check_rows(uint64_t rows, uint32_t width, uint32_t used, uint32_t size, const char* call, Where where);
}  // namespace opmend_sim

namespace AscendC {
#define OPMEND_TMP const LocalTensor<uint8_t>&

template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const ::opmend_sim::Same<T> epsilon, const tiling::LayerNormTiling& tiling,
               OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "LayerNorm takes half, float on dav-2201");
    ::opmend_sim::NormalizeCall call;
    call.rows = tiling.bLength * tiling.sLength, call.width = tiling.hLength,
    call.used = tiling.originalHLength ? tiling.originalHLength : tiling.hLength;
    ::opmend_sim::check_rows(call.rows, call.width, call.used, sizeof(T), "LayerNorm", where);
    const uint64_t all = static_cast<uint64_t>(call.rows) * call.width;
    call.out = ::opmend_sim::written(output, all, "LayerNorm", "output", where);
    call.mean = ::opmend_sim::written(outputMean, call.rows, "LayerNorm", "outputMean", where);
    call.spread = ::opmend_sim::written(outputVariance, call.rows, "LayerNorm", "outputVariance", where);
    call.x = ::opmend_sim::read(inputX, all, "LayerNorm", "inputX", where);
    call.gamma = ::opmend_sim::read(gamma, call.used, "LayerNorm", "gamma", where);
    call.beta = ::opmend_sim::read(beta, call.used, "LayerNorm", "beta", where);
    call.epsilon = static_cast<float>(epsilon);
    ::opmend_sim::normalize(call);
}
template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, OPMEND_TMP, const ::opmend_sim::Same<T> epsilon,
               const tiling::LayerNormTiling& tiling, OPMEND_WHERE) {
    LayerNorm<T, isReuseSource>(output, outputMean, outputVariance, inputX, gamma, beta, epsilon, tiling, where);
}
// The form that puts out one over the standard deviation. U: of gamma and beta.
template <class U, class T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean, const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX,
               const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon, const LayerNormPara& para,
               const tiling::LayerNormSeparateTiling&, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float> && ::opmend_sim::one_of<U, half, float>, "LayerNorm takes half, float on dav-2201");
    ::opmend_sim::NormalizeCall call;
    call.rows = para.aLength, call.width = para.rLengthWithPadding, call.used = para.rLength;
    ::opmend_sim::check_rows(call.rows, call.width, call.used, sizeof(T), "LayerNorm", where);
    const uint64_t all = static_cast<uint64_t>(call.rows) * call.width;
    call.out = ::opmend_sim::written(output, all, "LayerNorm", "output", where);
    call.mean = ::opmend_sim::written(outputMean, call.rows, "LayerNorm", "outputMean", where);
    call.spread = ::opmend_sim::written(outputRstd, call.rows, "LayerNorm", "outputRstd", where);
    call.x = ::opmend_sim::read(inputX, all, "LayerNorm", "inputX", where);
    if constexpr (!config.isNoGamma) call.gamma = ::opmend_sim::read(gamma, call.used, "LayerNorm", "gamma", where);
    if constexpr (!config.isNoBeta) call.beta = ::opmend_sim::read(beta, call.used, "LayerNorm", "beta", where);
    call.epsilon = epsilon;
    call.reciprocal = true;
    ::opmend_sim::normalize(call);
}
template <class U, class T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean, const LocalTensor<float>& outputRstd, const LocalTensor<T>& inputX,
               const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon, OPMEND_TMP, const LayerNormPara& para,
               const tiling::LayerNormSeparateTiling& tiling, OPMEND_WHERE) {
    LayerNorm<U, T, isReuseSource, config>(output, outputMean, outputRstd, inputX, gamma, beta, epsilon, para, tiling, where);
}
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma, const ::opmend_sim::Same<T> epsilon,
             const tiling::RmsNormTiling& tiling, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "RmsNorm takes half, float on dav-2201");
    ::opmend_sim::NormalizeCall call;
    call.rows = tiling.bLength * tiling.sLength, call.width = tiling.hLength,
    call.used = tiling.originalHLength ? tiling.originalHLength : tiling.hLength;
    ::opmend_sim::check_rows(call.rows, call.width, call.used, sizeof(T), "RmsNorm", where);
    const uint64_t all = static_cast<uint64_t>(call.rows) * call.width;
    call.out = ::opmend_sim::written(dst, all, "RmsNorm", "dst", where);
    call.x = ::opmend_sim::read(src, all, "RmsNorm", "src", where);
    call.gamma = ::opmend_sim::read(gamma, call.used, "RmsNorm", "gamma", where);
    call.epsilon = static_cast<float>(epsilon);
    call.kind = ::opmend_sim::Spread::RootMeanSquare;
    ::opmend_sim::normalize(call);
}
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma, OPMEND_TMP, const ::opmend_sim::Same<T> epsilon,
             const tiling::RmsNormTiling& tiling, OPMEND_WHERE) {
    RmsNorm<T, isBasicBlock>(dst, src, gamma, epsilon, tiling, where);
}
// LayerNorm of alpha * src + gx; the third output is one over the standard deviation.
template <class T, bool isReuseSrc = false, bool isBasicBlock = false>
void DeepNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean, const LocalTensor<T>& rstd, const LocalTensor<T>& src, const LocalTensor<T>& gx,
              const LocalTensor<T>& beta, const LocalTensor<T>& gamma, const ::opmend_sim::Same<T> alpha, const ::opmend_sim::Same<T> epsilon,
              const tiling::DeepNormTiling& tiling, OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "DeepNorm takes half, float on dav-2201");
    ::opmend_sim::NormalizeCall call;
    call.rows = tiling.bLength * tiling.sLength, call.width = tiling.hLength,
    call.used = tiling.originalHLength ? tiling.originalHLength : tiling.hLength;
    ::opmend_sim::check_rows(call.rows, call.width, call.used, sizeof(T), "DeepNorm", where);
    const uint64_t all = static_cast<uint64_t>(call.rows) * call.width;
    call.out = ::opmend_sim::written(dst, all, "DeepNorm", "dst", where);
    call.mean = ::opmend_sim::written(mean, call.rows, "DeepNorm", "mean", where);
    call.spread = ::opmend_sim::written(rstd, call.rows, "DeepNorm", "rstd", where);
    call.x = ::opmend_sim::read(src, all, "DeepNorm", "src", where);
    call.added = ::opmend_sim::read(gx, all, "DeepNorm", "gx", where);
    call.gamma = ::opmend_sim::read(gamma, call.used, "DeepNorm", "gamma", where);
    call.beta = ::opmend_sim::read(beta, call.used, "DeepNorm", "beta", where);
    call.alpha = static_cast<float>(alpha);
    call.epsilon = static_cast<float>(epsilon);
    call.reciprocal = true;
    ::opmend_sim::normalize(call);
}
template <class T, bool isReuseSrc = false, bool isBasicBlock = false>
void DeepNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean, const LocalTensor<T>& rstd, const LocalTensor<T>& src, const LocalTensor<T>& gx,
              const LocalTensor<T>& beta, const LocalTensor<T>& gamma, OPMEND_TMP, const ::opmend_sim::Same<T> alpha,
              const ::opmend_sim::Same<T> epsilon, const tiling::DeepNormTiling& tiling, OPMEND_WHERE) {
    DeepNorm<T, isReuseSrc, isBasicBlock>(dst, mean, rstd, src, gx, beta, gamma, alpha, epsilon, tiling, where);
}
// Mean and variance are given; puts out one over the standard deviation.
template <class U, class T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>
void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd, const LocalTensor<float>& inputMean,
               const LocalTensor<float>& inputVariance, const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta,
               const float epsilon, const NormalizePara& para, OPMEND_WHERE) {
    static_assert(config.reducePattern == ReducePattern::AR, "unsupported by the simulator: Normalize with ReducePattern::RA");
    ::opmend_sim::NormalizeCall call;
    call.rows = para.aLength, call.width = para.rLengthWithPadding, call.used = para.rLength;
    ::opmend_sim::check_rows(call.rows, call.width, call.used, sizeof(T), "Normalize", where);
    const uint64_t all = static_cast<uint64_t>(call.rows) * call.width;
    call.out = ::opmend_sim::written(output, all, "Normalize", "output", where);
    call.spread = ::opmend_sim::written(outputRstd, call.rows, "Normalize", "outputRstd", where);
    call.in_mean = ::opmend_sim::read(inputMean, call.rows, "Normalize", "inputMean", where);
    call.in_variance = ::opmend_sim::read(inputVariance, call.rows, "Normalize", "inputVariance", where);
    call.x = ::opmend_sim::read(inputX, all, "Normalize", "inputX", where);
    if constexpr (!config.isNoGamma) call.gamma = ::opmend_sim::read(gamma, call.used, "Normalize", "gamma", where);
    if constexpr (!config.isNoBeta) call.beta = ::opmend_sim::read(beta, call.used, "Normalize", "beta", where);
    call.epsilon = epsilon;
    call.kind = ::opmend_sim::Spread::Given;
    call.reciprocal = true;
    ::opmend_sim::normalize(call);
}
template <class U, class T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>
void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd, const LocalTensor<float>& inputMean,
               const LocalTensor<float>& inputVariance, const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta,
               OPMEND_TMP, const float epsilon, const NormalizePara& para, OPMEND_WHERE) {
    Normalize<U, T, isReuseSource, config>(output, outputRstd, inputMean, inputVariance, inputX, gamma, beta, epsilon, para, where);
}
// [N, C, H, W] in g groups of channels: each (C / g) * H * W lanes; gamma and beta have one lane a channel. H * W is padded to 32 bytes.
template <class T, bool isReuseSource = false>
void GroupNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const ::opmend_sim::Same<T> epsilon, const tiling::GroupNormTiling& tiling,
               OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "GroupNorm takes half, float on dav-2201");
    ::opmend_sim::NormalizeCall call;
    const uint32_t depth = tiling.g ? tiling.c / tiling.g : 0, padded = ::opmend_sim::aligned(tiling.hw, sizeof(T));
    if (!depth || !tiling.hw || !tiling.n || tiling.c % tiling.g)
        ::opmend_sim::fail("norm-shape",
                           "GroupNorm: " + ::opmend_sim::text(tiling.c) + " channels are no multiple of " + ::opmend_sim::text(tiling.g) + " groups",
                           where);
    call.rows = tiling.n * tiling.g, call.width = depth * padded, call.used = tiling.hw, call.rows_a_factor = padded, call.groups = tiling.g;
    const uint64_t all = static_cast<uint64_t>(call.rows) * call.width;
    call.out = ::opmend_sim::written(output, all, "GroupNorm", "output", where);
    call.mean = ::opmend_sim::written(outputMean, call.rows, "GroupNorm", "outputMean", where);
    call.spread = ::opmend_sim::written(outputVariance, call.rows, "GroupNorm", "outputVariance", where);
    call.x = ::opmend_sim::read(inputX, all, "GroupNorm", "inputX", where);
    call.gamma = ::opmend_sim::read(gamma, tiling.c, "GroupNorm", "gamma", where);
    call.beta = ::opmend_sim::read(beta, tiling.c, "GroupNorm", "beta", where);
    call.epsilon = static_cast<float>(epsilon);
    ::opmend_sim::normalize(call);
}
template <class T, bool isReuseSource = false>
void GroupNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, OPMEND_TMP, const ::opmend_sim::Same<T> epsilon,
               const tiling::GroupNormTiling& tiling, OPMEND_WHERE) {
    GroupNorm<T, isReuseSource>(output, outputMean, outputVariance, inputX, gamma, beta, epsilon, tiling, where);
}
// Over the first axis of [B, S * H]; gamma and beta have one lane a batch.
template <class T, bool isReuseSource = false, bool isBasicBlock = false>
void BatchNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
               const LocalTensor<T>& gamm, const LocalTensor<T>& beta, const ::opmend_sim::Same<T> epsilon, const tiling::BatchNormTiling& tiling,
               OPMEND_WHERE) {
    static_assert(::opmend_sim::one_of<T, half, float>, "BatchNorm takes half, float on dav-2201");
    ::opmend_sim::NormalizeCall call;
    const uint32_t batch = tiling.originalBLength, features = tiling.sLength * tiling.hLength;
    ::opmend_sim::check_rows(batch, features, features, sizeof(T), "BatchNorm", where);
    const uint64_t all = static_cast<uint64_t>(batch) * features;
    call.out = ::opmend_sim::written(output, all, "BatchNorm", "output", where);
    call.mean = ::opmend_sim::written(outputMean, features, "BatchNorm", "outputMean", where);
    call.spread = ::opmend_sim::written(outputVariance, features, "BatchNorm", "outputVariance", where);
    call.x = ::opmend_sim::read(inputX, all, "BatchNorm", "inputX", where);
    call.gamma = ::opmend_sim::read(gamm, batch, "BatchNorm", "gamm", where);
    call.beta = ::opmend_sim::read(beta, batch, "BatchNorm", "beta", where);
    call.epsilon = static_cast<float>(epsilon);
    ::opmend_sim::batch_norm(call, batch, features);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false>
void BatchNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance, const LocalTensor<T>& inputX,
               const LocalTensor<T>& gamm, const LocalTensor<T>& beta, OPMEND_TMP, const ::opmend_sim::Same<T> epsilon,
               const tiling::BatchNormTiling& tiling, OPMEND_WHERE) {
    BatchNorm<T, isReuseSource, isBasicBlock>(output, outputMean, outputVariance, inputX, gamm, beta, epsilon, tiling, where);
}
template <class T, bool isReuseSource = false>
void LayerNormGrad(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,
                   const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean, const LocalTensor<T>& inputGamma,
                   ::opmend_sim::Same<T> epsilon, const tiling::LayerNormGradTiling& tiling, const LayerNormGradShapeInfo& = {}, OPMEND_WHERE) {
    ::opmend_sim::NormalizeGradient call;
    call.rows = tiling.bLength * tiling.sLength, call.width = tiling.hLength,
    call.used = tiling.originalHLength ? tiling.originalHLength : tiling.hLength;
    ::opmend_sim::check_rows(call.rows, call.width, call.used, sizeof(T), "LayerNormGrad", where);
    const uint64_t all = static_cast<uint64_t>(call.rows) * call.width;
    call.dx = ::opmend_sim::written(outputPdX, all, "LayerNormGrad", "outputPdX", where);
    call.for_gamma = ::opmend_sim::written(resForGamma, all, "LayerNormGrad", "resForGamma", where);
    call.dy = ::opmend_sim::read(inputDy, all, "LayerNormGrad", "inputDy", where);
    call.x = ::opmend_sim::read(inputX, all, "LayerNormGrad", "inputX", where);
    call.variance = ::opmend_sim::read(inputVariance, call.rows, "LayerNormGrad", "inputVariance", where);
    call.mean = ::opmend_sim::read(inputMean, call.rows, "LayerNormGrad", "inputMean", where);
    call.gamma = ::opmend_sim::read(inputGamma, call.used, "LayerNormGrad", "inputGamma", where);
    call.epsilon = static_cast<float>(epsilon);
    ::opmend_sim::normalize_gradient(call);
}
template <class T, bool isReuseSource = false>
void LayerNormGrad(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy, const LocalTensor<T>& inputX,
                   const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean, const LocalTensor<T>& inputGamma, OPMEND_TMP,
                   ::opmend_sim::Same<T> epsilon, const tiling::LayerNormGradTiling& tiling, const LayerNormGradShapeInfo& shape = {}, OPMEND_WHERE) {
    LayerNormGrad<T, isReuseSource>(outputPdX, resForGamma, inputDy, inputX, inputVariance, inputMean, inputGamma, epsilon, tiling, shape, where);
}
template <class T, bool isReuseSource = false>
void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta, const LocalTensor<T>& resForGamma,
                       const LocalTensor<T>& inputDy, const tiling::LayerNormGradBetaTiling& tiling, OPMEND_WHERE) {
    const uint32_t rows = tiling.bLength * tiling.sLength, width = tiling.hLength;
    ::opmend_sim::check_rows(rows, width, width, sizeof(T), "LayerNormGradBeta", where);
    const uint64_t all = static_cast<uint64_t>(rows) * width;
    ::opmend_sim::sum_of_rows(::opmend_sim::written(outputPdGamma, width, "LayerNormGradBeta", "outputPdGamma", where),
                              ::opmend_sim::written(outputPdBeta, width, "LayerNormGradBeta", "outputPdBeta", where),
                              ::opmend_sim::read(resForGamma, all, "LayerNormGradBeta", "resForGamma", where),
                              ::opmend_sim::read(inputDy, all, "LayerNormGradBeta", "inputDy", where), rows, width);
}
template <class T, bool isReuseSource = false>
void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta, const LocalTensor<T>& resForGamma,
                       const LocalTensor<T>& inputDy, OPMEND_TMP, const tiling::LayerNormGradBetaTiling& tiling, OPMEND_WHERE) {
    LayerNormGradBeta<T, isReuseSource>(outputPdGamma, outputPdBeta, resForGamma, inputDy, tiling, where);
}
template <class T, class U, bool isReuseSource = false, const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>
void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance, const LocalTensor<U>& inputMean,
                   const LocalTensor<U>& inputVariance, const LocalTensor<T>& inputX, const WelfordUpdateParam& para, OPMEND_WHERE) {
    const uint64_t whole = static_cast<uint64_t>(para.rnLength ? para.rnLength : 1) * para.abLength;
    ::opmend_sim::welford_update(::opmend_sim::written(outputMean, whole, "WelfordUpdate", "outputMean", where),
                                 ::opmend_sim::written(outputVariance, whole, "WelfordUpdate", "outputVariance", where),
                                 ::opmend_sim::read(inputMean, whole, "WelfordUpdate", "inputMean", where),
                                 ::opmend_sim::read(inputVariance, whole, "WelfordUpdate", "inputVariance", where),
                                 ::opmend_sim::read(inputX, para.abComputeLength, "WelfordUpdate", "inputX", where), para.abComputeLength,
                                 static_cast<uint32_t>(whole), para.nRec, config.isInplace);
}
template <class T, class U, bool isReuseSource = false, const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>
void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance, const LocalTensor<U>& inputMean,
                   const LocalTensor<U>& inputVariance, const LocalTensor<T>& inputX, OPMEND_TMP, const WelfordUpdateParam& para, OPMEND_WHERE) {
    WelfordUpdate<T, U, isReuseSource, config>(outputMean, outputVariance, inputMean, inputVariance, inputX, para, where);
}
template <bool isReuseSource = false>
void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance, const LocalTensor<float>& inputMean,
                     const LocalTensor<float>& inputVariance, const LocalTensor<int32_t>& counts, OPMEND_TMP, const WelfordFinalizePara& para,
                     OPMEND_WHERE) {
    ::opmend_sim::welford_finalize(
        ::opmend_sim::written(outputMean, 1, "WelfordFinalize", "outputMean", where),
        ::opmend_sim::written(outputVariance, 1, "WelfordFinalize", "outputVariance", where),
        ::opmend_sim::read(inputMean, para.abLength, "WelfordFinalize", "inputMean", where),
        ::opmend_sim::read(inputVariance, para.abLength, "WelfordFinalize", "inputVariance", where),
        counts.raw() ? ::opmend_sim::read(counts, para.abLength, "WelfordFinalize", "counts", where) : ::opmend_sim::Lanes{}, para);
}
template <bool isReuseSource = false>
void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance, const LocalTensor<float>& inputMean,
                     const LocalTensor<float>& inputVariance, OPMEND_TMP tmp, const WelfordFinalizePara& para, OPMEND_WHERE) {
    WelfordFinalize<isReuseSource>(outputMean, outputVariance, inputMean, inputVariance, LocalTensor<int32_t>(), tmp, para, where);
}
template <bool isReuseSource = false>
void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance, const LocalTensor<float>& inputMean,
                     const LocalTensor<float>& inputVariance, const LocalTensor<int32_t>& counts, const WelfordFinalizePara& para, OPMEND_WHERE) {
    WelfordFinalize<isReuseSource>(outputMean, outputVariance, inputMean, inputVariance, counts, LocalTensor<uint8_t>(), para, where);
}
template <bool isReuseSource = false>
void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance, const LocalTensor<float>& inputMean,
                     const LocalTensor<float>& inputVariance, const WelfordFinalizePara& para, OPMEND_WHERE) {
    WelfordFinalize<isReuseSource>(outputMean, outputVariance, inputMean, inputVariance, LocalTensor<int32_t>(), LocalTensor<uint8_t>(), para, where);
}
}  // namespace AscendC
