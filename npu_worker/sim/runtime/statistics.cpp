// Reductions by row and column in double, running sums in float, selection of the k best.
#include "opmend_sim/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace opmend_sim {
namespace {

double start_of(Fold how) {
    switch (how) {
        case Fold::Max: return -INFINITY;
        case Fold::Min: return INFINITY;
        case Fold::Prod: case Fold::All: return 1;
        default: return 0;
    }
}
double folded(Fold how, double so_far, double value) {
    switch (how) {
        case Fold::Max: return std::isnan(value) || value > so_far ? value : so_far;
        case Fold::Min: return std::isnan(value) || value < so_far ? value : so_far;
        case Fold::Prod: return so_far * value;
        case Fold::Any: return so_far != 0 || value != 0;
        case Fold::All: return so_far != 0 && value != 0;
        default: return so_far + value;
    }
}

}  // namespace

void fold(Fold how, const Lanes& dst, const Lanes& src, uint32_t rows, uint32_t width, uint32_t used, bool last) {
    std::vector<float> row(used);
    std::vector<double> result(last ? rows : used, start_of(how));
    std::vector<bool> known(result.size(), true);
    for (uint32_t r = 0; r < rows; ++r) {
        const size_t first = static_cast<size_t>(r) * width;
        load(src, first, used, row.data());
        const bool all = !unwritten(src, first, used);
        for (uint32_t i = 0; i < used; ++i) {
            const size_t at = last ? r : i;
            result[at] = folded(how, result[at], row[i]);
            if (!all) known[at] = known[at] && !unwritten(src, first + i, 1);
        }
    }
    for (size_t i = 0; i < result.size(); ++i) {
        const float value = static_cast<float>(how == Fold::Mean ? result[i] / (last ? used : rows) : result[i]);
        store(dst, i, 1, &value);
        mark(dst, i, 1, known[i]);
    }
}

void running_sum(const Lanes& dst, const Lanes& last_row, const Lanes& src, uint32_t rows, uint32_t width, bool along_row) {
    std::vector<float> sum(width, 0.0f), row(width);
    std::vector<bool> known(width, true);
    for (uint32_t r = 0; r < rows; ++r) {
        const size_t first = static_cast<size_t>(r) * width;
        if (along_row) std::fill(sum.begin(), sum.end(), 0.0f), std::fill(known.begin(), known.end(), true);
        load(src, first, width, row.data());
        const bool all = !unwritten(src, first, width);
        for (uint32_t i = 0; i < width; ++i) {
            sum[i] = along_row && i ? sum[i - 1] + row[i] : sum[i] + row[i];
            known[i] = known[i] && (!along_row || !i || known[i - 1]) && (all || !unwritten(src, first + i, 1));
        }
        store(dst, first, width, sum.data());
        for (uint32_t i = 0; i < width; ++i) mark(dst, first + i, 1, known[i]);
    }
    if (!last_row || !rows) return;
    load(dst, static_cast<size_t>(rows - 1) * width, width, row.data());
    store(last_row, 0, width, row.data());
    mark(last_row, 0, width, true);
}

void top_k(const TopKCall& call) {
    std::vector<float> row(call.used), values(call.k);
    std::vector<uint32_t> order(call.used);
    for (uint32_t r = 0; r < call.rows; ++r) {
        const size_t first = static_cast<size_t>(r) * call.width;
        load(call.src, first, call.used, row.data());
        std::iota(order.begin(), order.end(), 0u);
        // Equal values keep their order; NaN comes first either way.
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            const bool a_nan = std::isnan(row[a]), b_nan = std::isnan(row[b]);
            if (a_nan || b_nan) return a_nan && !b_nan;
            return call.largest ? row[a] > row[b] : row[a] < row[b];
        });
        const bool known = !unwritten(call.src, first, call.used);
        bool finished = false;
        if (call.finished) finished = static_cast<const uint8_t*>(call.finished.data)[r] != 0;
        auto* indices = static_cast<int32_t*>(call.indices.data) + static_cast<size_t>(r) * call.indices_stride;
        for (uint32_t i = 0; i < call.k; ++i) {
            values[i] = row[order[i]];
            indices[i] = static_cast<int32_t>(order[i]);
            if (call.src_indices) indices[i] = static_cast<const int32_t*>(call.src_indices.data)[(call.shared_indices ? 0 : first) + order[i]];
            if (finished) indices[i] = static_cast<int32_t>(call.used);
        }
        store(call.values, static_cast<size_t>(r) * call.values_stride, call.k, values.data());
        mark(call.values, static_cast<size_t>(r) * call.values_stride, call.k, known);
        // Without indices of the input what comes out is no index (API page); the order's own serve.
        mark(call.indices, static_cast<size_t>(r) * call.indices_stride, call.k, known);
    }
}

}  // namespace opmend_sim
