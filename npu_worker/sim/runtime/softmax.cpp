// Softmax row by row: float values, sums in double, one rounding where a result is stored.
#include "opmend_sim/softmax.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace opmend_sim {
namespace {

// Calls body(lane, column, n) for each run of a row's lanes that is contiguous in memory.
template <class Body> void each_piece(const SoftmaxShape& shape, uint32_t row, uint32_t columns, Body body) {
    if (!shape.nz) return body(static_cast<size_t>(row) * shape.k, size_t{0}, static_cast<size_t>(columns));
    for (uint32_t column = 0; column < columns; column += 16)
        body((static_cast<size_t>(column) / 16 * shape.m + row) * 16, static_cast<size_t>(column),
             static_cast<size_t>(columns - column < 16 ? columns - column : 16));
}
bool load_row(const Lanes& from, const SoftmaxShape& shape, uint32_t row, float* to) {
    bool known = true;
    each_piece(shape, row, shape.used_k, [&](size_t lane, size_t column, size_t n) {
        known = known && !unwritten(from, lane, n);
        load(from, lane, n, to + column);
    });
    return known;
}
void store_row(const Lanes& to, const SoftmaxShape& shape, uint32_t row, const float* from, bool known) {
    each_piece(shape, row, shape.used_k, [&](size_t lane, size_t column, size_t n) {
        store(to, lane, n, from + column);
        mark(to, lane, n, known);
    });
}
size_t block_of(const Lanes& lanes, bool broadcast) { return broadcast ? 32 / size_of(lanes.number) : 1; }
float first_of(const Lanes& lanes, const SoftmaxShape& shape, uint32_t row, bool& known) {
    const size_t lane = row * block_of(lanes, shape.broadcast);
    known = known && !unwritten(lanes, lane, 1);
    float value = 0;
    load(lanes, lane, 1, &value);
    return value;
}
void fill_block(const Lanes& lanes, const SoftmaxShape& shape, uint32_t row, float value, bool known) {
    if (!lanes) return;
    float values[32];
    const size_t n = block_of(lanes, shape.broadcast);
    for (size_t i = 0; i < n; ++i) values[i] = value;
    store(lanes, row * n, n, values);
    mark(lanes, row * n, n, known);
}
float largest(const float* values, uint32_t n) {
    float most = -INFINITY;
    for (uint32_t i = 0; i < n; ++i) most = std::isnan(values[i]) || values[i] > most ? values[i] : most;
    return most;
}
double exponents(float* values, uint32_t n, float shift) {
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i) {
        values[i] = std::exp(values[i] - shift);
        sum += values[i];
    }
    return sum;
}

}  // namespace

void softmax(SoftmaxForm form, const SoftmaxShape& shape, const SoftmaxOperands& operands) {
    std::vector<float> row(shape.used_k), other(shape.used_k);
    const uint32_t n = shape.used_k;
    for (uint32_t r = 0; r < shape.used_m; ++r) {
        bool known = load_row(operands.src, shape, r, row.data());
        if (form == SoftmaxForm::Grad || form == SoftmaxForm::GradFront) {
            known = load_row(operands.in_sum, shape, r, other.data()) && known;
            double dot = 0;
            for (uint32_t i = 0; i < n; ++i) dot += static_cast<double>(other[i]) * row[i];
            if (form == SoftmaxForm::GradFront) {
                fill_block(operands.dst, shape, r, static_cast<float>(dot), known);
                continue;
            }
            for (uint32_t i = 0; i < n; ++i) row[i] = (other[i] - static_cast<float>(dot)) * row[i];
            store_row(operands.dst, shape, r, row.data(), known);
            continue;
        }
        if (form == SoftmaxForm::Simple) {
            const float max = first_of(operands.in_max, shape, r, known), sum = first_of(operands.in_sum, shape, r, known);
            exponents(row.data(), n, max);
            for (float& value : row) value /= sum;
            store_row(operands.dst, shape, r, row.data(), known);
            continue;
        }
        float max = largest(row.data(), n);
        const bool update = form == SoftmaxForm::FlashUpdate || form == SoftmaxForm::FlashV2Update;
        float before = 0, earlier = 0;
        if (update) {
            before = first_of(operands.in_max, shape, r, known);
            earlier = first_of(operands.in_sum, shape, r, known);
            max = std::isnan(before) || before > max ? before : max;
        }
        double sum = exponents(row.data(), n, max);
        float scale = std::exp(before - max);
        if (update) sum += static_cast<double>(scale) * earlier;
        const float total = static_cast<float>(sum);
        if (form == SoftmaxForm::FlashUpdate) scale = scale * earlier / total;
        if (form != SoftmaxForm::FlashV2 && form != SoftmaxForm::FlashV2Update)
            for (float& value : row) value /= total;
        if (form == SoftmaxForm::Log)
            for (float& value : row) value = std::log10(value);
        store_row(operands.dst, shape, r, row.data(), known);
        fill_block(operands.sum, shape, r, total, known);
        fill_block(operands.max, shape, r, max, known);
        if (update) fill_block(operands.exp_max, shape, r, scale, known);
    }
}

void softmax_pasa(const AscendC::SoftMaxParams& params, const SoftmaxPasa& operands) {
    const SoftmaxShape shape{params.srcM, params.srcK, params.srcM, params.srcK, false, true};
    const uint32_t k = params.srcK, base = k / params.splitMeanCnt;
    const float ratio = params.alpha / (1 - params.alpha);
    std::vector<float> row(k);
    for (uint32_t r = 0; r < params.srcM; ++r) {
        bool known = load_row(operands.src, shape, r, row.data());
        double whole = 0, parts[8] = {};
        for (uint32_t i = 0; i < k; ++i) parts[i / base < 8 ? i / base : 7] += row[i];
        for (const double part : parts) whole += part;
        const float mean_now = static_cast<float>(whole / k);
        for (uint32_t i = 0; i < k; ++i) row[i] -= (mean_now - static_cast<float>(parts[i / base < 8 ? i / base : 7] / base)) * ratio;
        float max = largest(row.data(), k), mean = mean_now, scale = 0, earlier = 0, shift = 0;
        if (operands.update) {
            const float old_mean = first_of(operands.in_mean, shape, r, known), old_max = first_of(operands.in_max, shape, r, known);
            earlier = first_of(operands.in_sum, shape, r, known);
            mean = (mean_now + old_mean * static_cast<float>(params.loopCnt - 1)) / static_cast<float>(params.loopCnt);
            shift = (mean_now - mean) * ratio;
            const float shift_before = (old_mean - mean) * ratio;
            max = std::fmax(shift + max, shift_before + old_max);
            scale = std::exp(old_max - max + shift_before);
        }
        const double sum = exponents(row.data(), k, max - shift) + static_cast<double>(scale) * earlier;
        store_row(operands.dst, shape, r, row.data(), known);
        fill_block(operands.mean, shape, r, mean, known);
        fill_block(operands.sum, shape, r, static_cast<float>(sum), known);
        fill_block(operands.max, shape, r, max, known);
        if (operands.update) fill_block(operands.exp_max, shape, r, scale, known);
    }
}

bool adjust_softmax(const Lanes& result, const Lanes& max, uint32_t from, float to, const SoftmaxShape& shape, uint32_t step) {
    const std::vector<float> row(shape.used_k, to);
    bool found = false;
    for (uint32_t r = 0; r < shape.used_m; ++r) {
        uint32_t bits = 0;
        std::memcpy(&bits, max.at(static_cast<size_t>(r) * step), size_of(max.number));
        const uint32_t wanted = size_of(max.number) == 2 ? from & 0xffffu : from;
        if (bits != wanted) continue;
        found = true;
        store_row(result, shape, r, row.data(), !unwritten(max, static_cast<size_t>(r) * step, 1));
    }
    return found;
}

}  // namespace opmend_sim
