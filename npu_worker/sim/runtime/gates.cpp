// Loops of gates.h and quantize.h.
#include "opmend_sim/gates.h"

#include <cmath>

#include "opmend_sim/quantize.h"

namespace opmend_sim {
namespace {

constexpr size_t kChunk = 256;

// Recurrence up to 6, then the asymptotic series; reflection for what is negative.
double digamma(double x) {
    if (x <= 0 && x == std::floor(x)) return NAN;
    double result = 0;
    if (x < 0) {
        constexpr double pi = 3.14159265358979323846;
        result = -pi / std::tan(pi * x);
        x = 1 - x;
    }
    for (; x < 6; x += 1) result -= 1 / x;
    const double square = 1 / (x * x);
    return result + std::log(x) - 0.5 / x - square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * (1.0 / 240 - square / 132))));
}
float value_of(Gate which, float a, float b, float parameter) {
    switch (which) {
        case Gate::GeGLU: return a * (b / (1 + std::exp(-1.5957691216057308f * (b + 0.044715f * b * b * b))));
        case Gate::SwiGLU: return a * (b / (1 + std::exp(-parameter * b)));
        case Gate::ReGlu: return a * (b > 0 || std::isnan(b) ? b : 0.0f);
        case Gate::Fmod: return std::fmod(a, b);
        case Gate::Power: return std::pow(a, b);
        case Gate::Lgamma: return static_cast<float>(std::lgamma(static_cast<double>(a)));
        case Gate::Digamma: return static_cast<float>(digamma(a));
        // Sign and square of a clipped value, as the API page writes it.
        case Gate::FasterGeluV2: {
            const float clipped = std::fmin(std::fabs(a) * 0.7071067811865475f, 1.769f),
                        curve = -0.1444f * (clipped - 1.769f) * (clipped - 1.769f) + 0.5f;
            return a * (a > 0 ? curve + 0.5f : a < 0 ? -curve + 0.5f : 0.5f);
        }
        case Gate::Swish: return a / (1 + std::exp(parameter * a));
        case Gate::Exp: return std::exp(a);
    }
    return a;
}

}  // namespace

void gate(Gate which, const Lanes& dst, const Lanes& a, const Lanes& b, size_t n, float parameter) {
    float x[kChunk], y[kChunk];
    for (float& value : x) value = parameter;
    for (float& value : y) value = parameter;
    const Lanes& one = a ? a : b;
    join(dst.data, one.data, b ? b.data : one.data, n * size_of(dst.number));
    for (size_t first = 0; first < n; first += kChunk) {
        const size_t m = n - first < kChunk ? n - first : kChunk;
        if (a) load(a, first, m, x);
        if (b) load(b, first, m, y);
        for (size_t i = 0; i < m; ++i) x[i] = value_of(which, x[i], y[i], parameter);
        store(dst, first, m, x);
        if (!a)
            for (size_t i = 0; i < m; ++i) x[i] = parameter;
    }
}

void drop_out(const Lanes& dst, const Lanes& src, const Lanes& mask, const AscendC::DropOutShapeInfo& info, float keep, bool bits) {
    const auto* flags = static_cast<const uint8_t*>(mask.data);
    for (uint32_t r = 0; r < info.firstAxis; ++r) {
        const size_t first = static_cast<size_t>(r) * info.srcLastAxis, flag = static_cast<size_t>(r) * info.maskLastAxis;
        join(dst.at(first), src.at(first), info.srcLastAxis * size_of(src.number));
        for (uint32_t i = 0; i < info.srcLastAxis; ++i) {
            const size_t at = bits ? flag + i / 8 : flag + i;
            const bool kept = bits ? flags[at] >> (i % 8) & 1 : flags[at] != 0;
            float value = 0;
            if (kept) load(src, first + i, 1, &value);
            value /= keep;
            store(dst, first + i, 1, &value);
            if (unwritten(mask, at, 1)) mark(dst, first + i, 1, false);
        }
    }
}

void quantize(const QuantizeCall& call) {
    for (size_t i = 0; i < call.count; ++i) {
        const size_t channel = call.channels ? i % call.channels : 0;
        float value = 0, scale = call.scale, offset = call.offset;
        load(call.src, i, 1, &value);
        if (call.scales) load(call.scales, channel, 1, &scale);
        if (call.offsets) load(call.offsets, channel, 1, &offset);
        // Data reach int8 by way of half, on which the device's last conversion works.
        value = static_cast<float>(half(value * scale + offset));
        store(call.dst, i, 1, &value);
        mark(call.dst, i, 1, !unwritten(call.src, i, 1));
    }
}

void dequantize(const DequantizeCall& call) {
    for (uint32_t r = 0; r < call.rows; ++r)
        for (uint32_t i = 0; i < call.used; ++i) {
            const size_t at = static_cast<size_t>(r) * call.width + i, to = static_cast<size_t>(r) * call.out_width + i;
            float value = 0, scale = call.scale;
            load(call.src, at, 1, &value);
            if (call.scales) load(call.scales, static_cast<size_t>(i) * call.scale_step, 1, &scale);
            value *= scale;
            store(call.dst, to, 1, &value);
            mark(call.dst, to, 1,
                 !unwritten(call.src, at, 1) && !(call.scales && unwritten(call.scales, static_cast<size_t>(i) * call.scale_step, 1)));
        }
}

void antiquantize(const QuantizeCall& call) {
    for (size_t i = 0; i < call.count; ++i) {
        const size_t channel = call.transposed ? i / call.channels : call.channels ? i % call.channels : 0;
        float value = 0, scale = call.scale, offset = call.offset;
        load(call.src, i, 1, &value);
        if (call.scales) load(call.scales, channel, 1, &scale);
        if (call.offsets) load(call.offsets, channel, 1, &offset);
        value = (value + offset) * scale;
        store(call.dst, i, 1, &value);
        mark(call.dst, i, 1, !unwritten(call.src, i, 1));
    }
}

}  // namespace opmend_sim
