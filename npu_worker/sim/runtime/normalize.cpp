// Normalisation row by row: float values, means and variances in double, one rounding where a result is stored. Variances are of the population.
#include "opmend_sim/normalize.h"

#include <cmath>
#include <vector>

namespace opmend_sim {
namespace {

float one_of_row(const Lanes& lanes, size_t index, bool& known) {
    known = known && !unwritten(lanes, index, 1);
    float value = 0;
    load(lanes, index, 1, &value);
    return value;
}
void put_one(const Lanes& lanes, size_t index, float value, bool known) {
    if (!lanes) return;
    store(lanes, index, 1, &value);
    mark(lanes, index, 1, known);
}
bool load_all(const Lanes& lanes, size_t first, size_t n, float* to) {
    load(lanes, first, n, to);
    return !unwritten(lanes, first, n);
}

}  // namespace

void check_rows(uint64_t rows, uint32_t width, uint32_t used, uint32_t size, const char* call, Where where) {
    if (!rows || !width || used > width)
        fail("norm-shape", std::string(call) + ": " + text(rows) + " rows of " + text(width) + " elements, " + text(used) +
             " in use: empty, or more in use than there are; is the tiling filled in?", where);
    if (static_cast<uint64_t>(width) * size % 32)
        fail("norm-shape", std::string(call) + ": the last axis of " + text(width) + " elements is not a multiple of 32 bytes", where);
}

void normalize(const NormalizeCall& call) {
    // A row has pieces of `used` lanes, each padded to `stride`: one piece, or a channel each in GroupNorm.
    const uint32_t stride = call.rows_a_factor ? call.rows_a_factor : call.width, pieces = call.width / stride, n = pieces * call.used;
    const uint32_t factors = call.rows_a_factor ? pieces * call.groups : call.used;
    std::vector<float> x(n), other(call.used), gamma(factors, 1.0f), beta(factors, 0.0f);
    bool sure = true;
    if (call.gamma) sure = load_all(call.gamma, 0, factors, gamma.data()) && sure;
    if (call.beta) sure = load_all(call.beta, 0, factors, beta.data()) && sure;
    for (uint32_t r = 0; r < call.rows; ++r) {
        bool known = true;
        for (uint32_t p = 0; p < pieces; ++p) {
            const size_t first = static_cast<size_t>(r) * call.width + static_cast<size_t>(p) * stride;
            float* part = x.data() + static_cast<size_t>(p) * call.used;
            known = load_all(call.x, first, call.used, part) && known;
            if (call.added) {
                known = load_all(call.added, first, call.used, other.data()) && known;
                for (uint32_t i = 0; i < call.used; ++i) part[i] = call.alpha * part[i] + other[i];
            }
        }
        double mean = 0, variance = 0;
        if (call.kind == Spread::Given) {
            mean = one_of_row(call.in_mean, r, known);
            variance = one_of_row(call.in_variance, r, known);
        } else {
            if (call.kind == Spread::Computed) {
                for (const float value : x) mean += value;
                mean /= n;
            }
            for (const float value : x) variance += (value - mean) * (value - mean);
            variance /= n;
        }
        const double scale = 1.0 / std::sqrt(variance + call.epsilon);
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t factor = call.rows_a_factor ? r % call.groups * pieces + i / call.used : i;
            x[i] = static_cast<float>((x[i] - mean) * scale) * gamma[factor] + beta[factor];
        }
        for (uint32_t p = 0; p < pieces; ++p) {
            const size_t first = static_cast<size_t>(r) * call.width + static_cast<size_t>(p) * stride;
            store(call.out, first, call.used, x.data() + static_cast<size_t>(p) * call.used);
            mark(call.out, first, call.used, known && sure);
        }
        put_one(call.mean, r, static_cast<float>(mean), known);
        put_one(call.spread, r, static_cast<float>(call.reciprocal ? scale : variance), known);
    }
}

void batch_norm(const NormalizeCall& call, uint32_t batch, uint32_t features) {
    std::vector<float> x(static_cast<size_t>(batch) * features), gamma(batch), beta(batch);
    load(call.x, 0, x.size(), x.data());
    bool known = !unwritten(call.x, 0, x.size());
    known = load_all(call.gamma, 0, batch, gamma.data()) && known;
    known = load_all(call.beta, 0, batch, beta.data()) && known;
    for (uint32_t f = 0; f < features; ++f) {
        double mean = 0, variance = 0;
        for (uint32_t b = 0; b < batch; ++b) mean += x[static_cast<size_t>(b) * features + f];
        mean /= batch;
        for (uint32_t b = 0; b < batch; ++b) {
            const double apart = x[static_cast<size_t>(b) * features + f] - mean;
            variance += apart * apart;
        }
        variance /= batch;
        const double scale = 1.0 / std::sqrt(variance + call.epsilon);
        for (uint32_t b = 0; b < batch; ++b) {
            float& value = x[static_cast<size_t>(b) * features + f];
            value = static_cast<float>((value - mean) * scale) * gamma[b] + beta[b];
        }
        put_one(call.mean, f, static_cast<float>(mean), known);
        put_one(call.spread, f, static_cast<float>(variance), known);
    }
    store(call.out, 0, x.size(), x.data());
    mark(call.out, 0, x.size(), known);
}

void normalize_gradient(const NormalizeGradient& call) {
    const uint32_t n = call.used;
    std::vector<float> dy(n), x(n), gamma(n), dx(n), for_gamma(n);
    const bool sure = load_all(call.gamma, 0, n, gamma.data());
    for (uint32_t r = 0; r < call.rows; ++r) {
        const size_t first = static_cast<size_t>(r) * call.width;
        bool known = load_all(call.dy, first, n, dy.data()) && sure;
        known = load_all(call.x, first, n, x.data()) && known;
        const double mean = one_of_row(call.mean, r, known), variance = one_of_row(call.variance, r, known);
        const double scale = 1.0 / std::sqrt(variance + call.epsilon);
        double by_variance = 0, by_mean = 0, apart = 0;
        for (uint32_t i = 0; i < n; ++i) {
            const double weighted = static_cast<double>(dy[i]) * gamma[i], centred = x[i] - mean;
            by_variance += weighted * centred * -0.5 * scale * scale * scale;
            by_mean -= weighted * scale;
            apart += -2.0 * centred;
        }
        by_mean += by_variance * apart / n;
        for (uint32_t i = 0; i < n; ++i) {
            const double centred = x[i] - mean;
            dx[i] = static_cast<float>(static_cast<double>(dy[i]) * gamma[i] * scale + by_variance * 2.0 / n * centred + by_mean / n);
            for_gamma[i] = static_cast<float>(centred * scale);
        }
        store(call.dx, first, n, dx.data());
        mark(call.dx, first, n, known);
        store(call.for_gamma, first, n, for_gamma.data());
        mark(call.for_gamma, first, n, known);
    }
}

void sum_of_rows(const Lanes& gamma, const Lanes& beta, const Lanes& for_gamma, const Lanes& dy, uint32_t rows, uint32_t width) {
    std::vector<float> factor(width), gradient(width), out(width);
    std::vector<double> of_gamma(width, 0.0), of_beta(width, 0.0);
    bool known = true;
    for (uint32_t r = 0; r < rows; ++r) {
        known = load_all(for_gamma, static_cast<size_t>(r) * width, width, factor.data()) && known;
        known = load_all(dy, static_cast<size_t>(r) * width, width, gradient.data()) && known;
        for (uint32_t i = 0; i < width; ++i) {
            of_gamma[i] += static_cast<double>(gradient[i]) * factor[i];
            of_beta[i] += gradient[i];
        }
    }
    for (uint32_t i = 0; i < width; ++i) out[i] = static_cast<float>(of_gamma[i]);
    store(gamma, 0, width, out.data());
    mark(gamma, 0, width, known);
    for (uint32_t i = 0; i < width; ++i) out[i] = static_cast<float>(of_beta[i]);
    store(beta, 0, width, out.data());
    mark(beta, 0, width, known);
}

void welford_update(const Lanes& mean, const Lanes& variance, const Lanes& in_mean, const Lanes& in_variance, const Lanes& x, uint32_t length,
                    uint32_t whole, float reciprocal, bool in_place) {
    for (uint32_t i = 0; i < whole; ++i) {
        bool known = true;
        float m = one_of_row(in_mean, i, known), v = one_of_row(in_variance, i, known);
        if (i < length) {
            const float value = one_of_row(x, i, known), apart = value - m;
            m += reciprocal * apart;
            v += apart * (value - m);
        } else if (in_place) {
            break;
        }
        put_one(mean, i, m, known);
        put_one(variance, i, v, known);
    }
}

void welford_finalize(const Lanes& mean, const Lanes& variance, const Lanes& in_mean, const Lanes& in_variance, const Lanes& counts,
                      const AscendC::WelfordFinalizePara& para) {
    std::vector<float> means(para.abLength), variances(para.abLength), weights(para.abLength, static_cast<float>(para.rnLength));
    bool known = load_all(in_mean, 0, means.size(), means.data());
    known = load_all(in_variance, 0, variances.size(), variances.data()) && known;
    if (counts) {
        known = load_all(counts, 0, weights.size(), weights.data()) && known;
    } else if (para.tailCountLength) {
        for (uint32_t i = 0; i < para.abLength; ++i) weights[i] = static_cast<float>(i < para.headCountLength ? para.headCount : para.tailCount);
    }
    double all = 0, sum = 0, spread = 0;
    for (uint32_t i = 0; i < para.abLength; ++i) {
        all += weights[i];
        sum += static_cast<double>(weights[i]) * means[i];
    }
    const double centre = all ? sum / all : 0;
    for (uint32_t i = 0; i < para.abLength; ++i) spread += variances[i] + weights[i] * (means[i] - centre) * (means[i] - centre);
    put_one(mean, 0, static_cast<float>(centre), known);
    put_one(variance, 0, static_cast<float>(spread * para.rRec), known);
}

}  // namespace opmend_sim
