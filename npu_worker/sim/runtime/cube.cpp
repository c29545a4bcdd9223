// The cube unit's loops: arranging fractals, multiplying, and writing results out of L0C.
#include "opmend_sim/cube.h"

#include <algorithm>

#include "opmend_sim/schedule.h"

namespace opmend_sim {
namespace {

constexpr uint32_t kFractal = 512;

// In a MIX kernel all cores run the whole source, and a vector core lacks the unit that these calls are for: there they have no effect.
bool elsewhere(const char* call, Where where) {
    step(core(), 16, where);
    if (core().has_cube()) return false;
    if (!launch_now().task.mix) note("wrong-core", "violation", std::string(call) + " on an AIV, which has no cube unit: nothing happens", where);
    return true;
}

Space space_of(const Local& side) { return ::opmend_sim::space_of(side.position); }
void check(const Local& side, uint64_t reach, bool writes, pipe_t pipe, const char* call, const char* operand, Where where) {
    const Memory& memory = core().memory(space_of(side));
    if ((reinterpret_cast<uintptr_t>(side.data) & (memory.alignment - 1)) != 0 || reach > side.limit || !memory.holds(side.data, reach))
        check_span(side.data, reach, side.limit, side.position, side.buffer, call, operand, where);
    if (side.buffer && side.buffer->state == BufferState::Plain) touch(side.buffer, side.data, reach, writes, pipe, call, where);
}
void require(const Local& side, Space space, const char* call, const char* operand, const char* positions, Where where) {
    if (space_of(side) != space)
        fail("operand-position", std::string(call) + " " + operand + " lies at " + position_name(side.position) + "; it must be at " + positions,
             where, side.buffer);
}
// One square of `rows` x `rows` elements, transposed; unwritten elements stay unwritten.
void transpose_square(uint8_t* to, const uint8_t* from, uint32_t rows, uint32_t size) {
    for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t c = 0; c < rows; ++c) std::memcpy(to + (c * rows + r) * size, from + (r * rows + c) * size, size);
}

}  // namespace

CubeRegisters& cube_registers() {
    static_assert(sizeof(CubeRegisters) <= sizeof(Core::cube_registers) && std::is_trivially_copyable_v<CubeRegisters>);
    return *reinterpret_cast<CubeRegisters*>(core().cube_registers);
}

void nd_to_nz(Local to, const uint8_t* from, uint64_t limit, const Range* global, const AscendC::Nd2NzParams& p, uint32_t size, const char* call,
              Where where) {
    if (p.ndNum == 0 || p.nValue == 0 || p.dValue == 0 || (global && elsewhere(call, where))) return;
    const uint64_t c0 = fractal_columns(size), columns = (p.dValue + c0 - 1) / c0;
    const auto source_at = [&](uint64_t i, uint64_t r, uint64_t c) { return (i * p.srcNdMatrixStride + r * p.srcDValue + c) * size; };
    const auto target_at = [&](uint64_t i, uint64_t r, uint64_t j) {
        return i * p.dstNzMatrixStride * size + j * p.dstNzC0Stride * 32ull + r * p.dstNzNStride * 32ull;
    };
    const uint64_t reach = source_at(p.ndNum - 1, p.nValue - 1, p.dValue);
    check(to, target_at(p.ndNum - 1, p.nValue - 1, columns - 1) + 32, true, global ? PIPE_MTE2 : PIPE_MTE3, call, "dst", where);
    bool inside = true;
    if (global) inside = global->begin && from >= global->begin && from + reach <= global->end;
    else if (reach > limit)
        note("ub-buffer-overrun", "violation", std::string(call) + " src: " + text(reach) + " bytes touched, the tensor holds " + text(limit), where);
    if (p.dstNzNStride == 0 || (columns > 1 && p.dstNzC0Stride == 0))
        note("nd2nz-stride", "violation", std::string(call) + ": dstNzNStride and dstNzC0Stride must be at least 1, or rows overwrite each other",
             where);
    if (global && inside)
        for (uint64_t i = 0; i < p.ndNum; ++i)
            used_global(from + source_at(i, 0, 0), source_at(0, 0, p.dValue), p.nValue, source_at(0, 1, 0), GlobalUse::Read, call, where);
    uint8_t staged[32];
    for (uint64_t i = 0; i < p.ndNum; ++i)
        for (uint64_t r = 0; r < p.nValue; ++r)
            for (uint64_t j = 0; j < columns; ++j) {
                const uint64_t bytes = std::min<uint64_t>(c0, p.dValue - j * c0) * size;
                const uint8_t* s = from + source_at(i, r, j * c0);
                uint8_t* d = to.data + target_at(i, r, j);
                if (!inside) load_global(staged, Global{const_cast<uint8_t*>(s), *global}, bytes, call, where);
                else std::memcpy(staged, s, bytes);
                std::memset(staged + bytes, 0, 32 - bytes);
                mark_written(d, 32);
                if (!global) join(d, s, bytes);
                std::memcpy(d, staged, 32);
            }
    core().cost.move(global ? Space::Global : Space::UB, space_of(to), static_cast<uint64_t>(p.ndNum) * p.nValue * p.dValue * size);
}

void load_fractals(Local to, Local from, const Global* global, const AscendC::LoadData2DParams& p, uint32_t size, Where where) {
    constexpr const char* call = "LoadData";
    if (p.repeatTimes == 0 || elsewhere(call, where)) return;
    const int64_t step = p.addrMode ? -static_cast<int64_t>(p.srcStride) : p.srcStride;
    const int64_t first = p.startIndex, last = first + (p.repeatTimes - 1) * step;
    if (std::min(first, last) < 0) fail("loaddata-range", "LoadData steps back before its source's start", where);
    check(to, ((p.repeatTimes - 1) * (1ull + p.dstGap) + 1) * kFractal, true, global ? PIPE_MTE2 : PIPE_MTE1, call, "dst", where);
    if (!global) check(from, (static_cast<uint64_t>(std::max(first, last)) + 1) * kFractal, false, PIPE_MTE1, call, "src", where);
    const bool transpose = p.ifTranspose && size == 2 && !global;
    if (p.ifTranspose && !transpose)
        note("loaddata-transpose", "violation", "LoadData transposes 16-bit elements alone, between L1 and L0; use LoadDataWithTranspose", where);
    for (int64_t i = 0; i < p.repeatTimes; ++i) {
        uint8_t* d = to.data + i * (1 + p.dstGap) * kFractal;
        const int64_t at = (first + i * step) * kFractal;
        if (global) {
            load_global(d, Global{global->data + at, global->range}, kFractal, call, where);
            mark_written(d, kFractal);
        } else if (!transpose) {
            join(d, from.data + at, kFractal);
            std::memcpy(d, from.data + at, kFractal);
        } else {
            transpose_square(d, from.data + at, 16, 2);
            mark_written(d, kFractal);
            if (unwritten(from.data + at, kFractal))
                for (uint32_t k = 0; k < 256; ++k) join(d + (k % 16 * 16 + k / 16) * 2, from.data + at + k * 2, 2);
        }
    }
    core().cost.move(global ? Space::Global : space_of(from), space_of(to), p.repeatTimes * kFractal);
}

// Squares of 32 x 32 bytes, 16 x 16 halves or 16 x 16 words. Bytes: two fractals one below the other before, and after. Words: two fractals side
// by side before, and after. Iterations write their first fractals 1 + dstGap apart, and the second one 1 + dstFracGap behind the first.
void load_transposed(Local to, Local from, const AscendC::LoadData2dTransposeParams& p, uint32_t size, Where where) {
    constexpr const char* call = "LoadDataWithTranspose";
    if (p.repeatTimes == 0 || elsewhere(call, where)) return;
    const uint32_t fractals = size == 2 ? 1 : 2, rows = size == 1 ? 32 : 16, square = rows * rows * size;
    if (p.srcFracGap) unsupported("LoadDataWithTranspose with srcFracGap", where);
    const uint64_t second = (fractals - 1) * (1ull + p.dstFracGap);
    check(to, ((p.repeatTimes - 1) * (1ull + p.dstGap) + second + 1) * kFractal, true, PIPE_MTE1, call, "dst", where);
    check(from, (p.startIndex + (p.repeatTimes - 1) * static_cast<uint64_t>(p.srcStride) + 1) * square, false, PIPE_MTE1, call, "src", where);
    // Where element (row, column) of a square stands among its fractals: which one, and the byte in it.
    const auto place = [&](uint32_t r, uint32_t c, uint32_t& fractal) {
        if (size == 4) {
            fractal = c / 8;
            return (r * 8 + c % 8) * 4;
        }
        fractal = size == 1 ? r / 16 : 0;
        return (r % 16 * rows + c) * size;
    };
    for (uint64_t i = 0; i < p.repeatTimes; ++i) {
        const uint8_t* s = from.data + (p.startIndex + i * p.srcStride) * square;
        uint8_t* d = to.data + i * (1ull + p.dstGap) * kFractal;
        const bool partly = unwritten(s, square);
        for (uint32_t r = 0; r < rows; ++r)
            for (uint32_t c = 0; c < rows; ++c) {
                uint32_t source_fractal = 0, target_fractal = 0;
                const uint32_t source_byte = place(r, c, source_fractal), target_byte = place(c, r, target_fractal);
                uint8_t* out = d + target_fractal * (1ull + p.dstFracGap) * kFractal + target_byte;
                const uint8_t* in = s + source_fractal * kFractal + source_byte;
                std::memcpy(out, in, size);
                if (partly) join(out, in, size);
            }
        if (!partly)
            for (uint32_t f = 0; f < fractals; ++f) mark_written(d + f * (1ull + p.dstFracGap) * kFractal, kFractal);
    }
    core().cost.move(space_of(from), space_of(to), static_cast<uint64_t>(p.repeatTimes) * square);
}

void load_image(Local to, Local from, ImageWindow w, bool set_matrix, bool set_padding, uint32_t size, Where where) {
    constexpr const char* call = "LoadData";
    if (elsewhere(call, where)) return;
    CubeRegisters& now = cube_registers();
    if (set_matrix) {
        now.height = static_cast<uint16_t>(w.height), now.width = static_cast<uint16_t>(w.width);
        std::copy(w.pads, w.pads + 4, now.pads);
    }
    if (set_padding) now.pad_value = w.pad_value;
    const int64_t height = now.height, width = now.width;
    if (now.repeat_times > 1) unsupported("LoadData with SetLoadDataRepeat and repeatTime above 1", where);
    if (height == 0 || width == 0 || w.channels == 0 || w.k_extension == 0 || w.m_extension == 0 || w.filter_w == 0 || w.filter_h == 0) return;
    const Space space = space_of(to);
    if (space != Space::L0A && space != Space::L0B) fail("operand-position", "LoadData (3D) writes to A2 or B2", where, to.buffer);
    const bool turn = space == Space::L0B || (w.transpose && size != 1);
    if (w.transpose && size == 1) note("loaddata-transpose", "violation", "LoadData (3D) transposes elements of 16 and 32 bits alone", where);
    const uint64_t c0 = fractal_columns(size), stride_w = std::max(1u, w.stride_w), stride_h = std::max(1u, w.stride_h);
    const int64_t extent_w = static_cast<int64_t>(w.filter_w - 1) * std::max(1u, w.dilation_w) + 1,
                  extent_h = static_cast<int64_t>(w.filter_h - 1) * std::max(1u, w.dilation_h) + 1;
    const int64_t out_w = (width + now.pads[0] + now.pads[1] - extent_w) / static_cast<int64_t>(stride_w) + 1,
                  out_h = (height + now.pads[2] + now.pads[3] - extent_h) / static_cast<int64_t>(stride_h) + 1;
    if (out_w <= 0 || out_h <= 0) fail("loaddata-range", "LoadData (3D): the filter is larger than the padded feature map", where);
    const uint64_t full = w.channels / c0, taps = static_cast<uint64_t>(w.filter_w) * w.filter_h, part = w.channels % c0;
    const uint64_t rows = w.m_extension, columns = w.k_extension;
    // Fractals along the destination's second axis.
    const uint64_t across = space == Space::L0B ? (columns + 15) / 16 : turn ? (rows + c0 - 1) / c0 : (columns + c0 - 1) / c0;
    const uint64_t down = space == Space::L0B ? (rows + c0 - 1) / c0 : turn ? (columns + 15) / 16 : (rows + 15) / 16;
    check(to, across * down * kFractal, true, PIPE_MTE1, call, "dst", where);
    const uint64_t channels_wide = full ? c0 : part;
    check(from, ((w.channels + c0 - 1) / c0) * height * width * channels_wide * size, false, PIPE_MTE1, call, "src", where);
    // Byte offset of result element (m, k): in A2 as rows and columns; turned, or in B2, k counts rows of 16 and m runs along the 32 bytes.
    const auto target_at = [&](uint64_t m, uint64_t k) {
        if (space == Space::L0B) return (m / c0 * across + k / 16) * kFractal + (k % 16 * c0 + m % c0) * size;
        if (turn) return (k / 16 * across + m / c0) * kFractal + (k % 16 * c0 + m % c0) * size;
        return (m / 16 * across + k / c0) * kFractal + (m % 16 * c0 + k % c0) * size;
    };
    for (uint64_t m = 0; m < rows; ++m) {
        const int64_t position = static_cast<int64_t>(w.m_start + m), y0 = position / out_w * static_cast<int64_t>(stride_h) - now.pads[2],
                      x0 = position % out_w * static_cast<int64_t>(stride_w) - now.pads[0];
        for (uint64_t k = 0; k < columns;) {
            const uint64_t at = w.k_start + k;
            const bool last = at >= full * taps * c0;
            const uint64_t wide = last ? part : c0, inner = last ? at - full * taps * c0 : at;
            const uint64_t tap = wide ? (last ? inner / wide : inner / c0 % taps) : taps, c = wide ? inner % wide : 0;
            const uint64_t c1 = last ? full : inner / (taps * c0);
            const int64_t y = y0 + static_cast<int64_t>(tap / w.filter_w * std::max(1u, w.dilation_h)),
                          x = x0 + static_cast<int64_t>(tap % w.filter_w * std::max(1u, w.dilation_w));
            const bool there = wide && tap < taps && position < out_w * out_h && y >= 0 && y < height && x >= 0 && x < width;
            const uint64_t run = wide ? std::min(wide - c, columns - k) : 1;
            const uint8_t* s = from.data + (((c1 * static_cast<uint64_t>(height) + static_cast<uint64_t>(y)) * static_cast<uint64_t>(width) +
                                             static_cast<uint64_t>(x)) * channels_wide + c) * size;
            for (uint64_t e = 0; e < run; ++e) {
                uint8_t* d = to.data + target_at(m, k + e);
                std::memcpy(d, there ? s + e * size : reinterpret_cast<const uint8_t*>(&now.pad_value), size);
                if (there) join(d, s + e * size, size);
                else mark_written(d, size);
            }
            k += run;
        }
    }
    core().cost.move(space_of(from), space, rows * columns * size);
}

void fill_blocks(Local to, uint32_t repeats, uint32_t blocks, uint32_t gap, const void* value, uint32_t size, Where where) {
    if (repeats == 0 || blocks == 0 || elsewhere("Fill", where)) return;
    const uint64_t unit = space_of(to) == Space::L1 ? 32 : kFractal;
    check(to, ((repeats - 1) * static_cast<uint64_t>(blocks + gap) + blocks) * unit, true, unit == 32 ? PIPE_MTE2 : PIPE_MTE1, "Fill", "dst", where);
    for (uint64_t i = 0; i < repeats; ++i) {
        uint8_t* d = to.data + i * (blocks + gap) * unit;
        for (uint64_t b = 0; b < blocks * unit; b += size) std::memcpy(d + b, value, size);
        mark_written(d, blocks * unit);
    }
}

namespace {

// Mmad on floats or on integers. Elements past m, n and k are not read; of the result whole rows of 16 columns are written.
template <class T> void multiply_as(const MultiplyOperands& o, const AscendC::MmadParams& p, Where where) {
    const uint32_t m = p.m, n = p.n, k = p.k, size = bytes_of(o.left_cell), c0 = fractal_columns(size);
    const uint64_t depth = size == 4 && p.kDirectionAlign ? (k + 15) / 16 * 2 : (k + c0 - 1) / c0;
    const uint64_t high = (m + 15) / 16, wide = (n + 15) / 16, fractal = 16ull * c0;
    const bool vector = m == 1;  // GEMV: the left matrix lies as it is
    check(o.left, vector ? static_cast<uint64_t>(k) * size : high * depth * kFractal, false, PIPE_M, "Mmad", "fm", where);
    check(o.right, depth * wide * kFractal, false, PIPE_M, "Mmad", "filter", where);
    check(o.result, high * wide * 1024, true, PIPE_M, "Mmad", "dst", where);
    const CubeRegisters& now = cube_registers();
    std::vector<T> left(static_cast<uint64_t>(m) * k), right(wide * 16 * k), result(static_cast<uint64_t>(m) * wide * 16);
    T line[32];
    std::vector<uint8_t> bad_rows(m), bad_columns(wide * 16);
    const bool check_left = unwritten(o.left.data, vector ? static_cast<uint64_t>(k) * size : high * depth * kFractal),
               check_right = unwritten(o.right.data, depth * wide * kFractal);
    const auto rounded = [&](uint64_t count) {
        if constexpr (std::is_same_v<T, float>)
            if (now.hf32 && size == 4) round_to_hf32(line, count, now.hf32_toward_zero);
    };
    for (uint32_t r = 0; r < m; ++r)
        for (uint32_t f = 0; f * c0 < k; ++f) {
            const uint32_t count = std::min(c0, k - f * c0);
            const uint8_t* s = o.left.data + (vector ? f * c0 : (r / 16 * depth + f) * fractal + r % 16 * c0) * size;
            widen(line, s, count, o.left_cell);
            rounded(count);
            std::copy(line, line + count, left.begin() + static_cast<std::ptrdiff_t>(static_cast<uint64_t>(r) * k + f * c0));
            if (check_left && unwritten(s, count * size)) bad_rows[r] = 1;
        }
    for (uint64_t f = 0; f * c0 < k; ++f)
        for (uint32_t column = 0; column < n; ++column) {
            const uint32_t count = std::min<uint32_t>(c0, k - static_cast<uint32_t>(f) * c0);
            const uint8_t* s = o.right.data + ((f * wide + column / 16) * fractal + column % 16 * c0) * size;
            widen(line, s, count, o.right_cell);
            rounded(count);
            T* d = right.data() + (static_cast<uint64_t>(column / 16) * k + f * c0) * kPanel + column % 16;
            for (uint32_t e = 0; e < count; ++e) d[e * kPanel] = line[e];
            if (check_right && unwritten(s, count * size)) bad_columns[column] = 1;
        }
    auto* c = reinterpret_cast<T*>(o.result.data);
    const auto at = [&](uint64_t r, uint64_t j) { return j * high * 256 + r * 16; };
    const bool table = o.has_bias ? space_of(o.bias) == Space::BT : !p.cmatrixInitVal && p.cmatrixSource;
    const bool adds = !table && (o.has_bias || p.isBias || !p.cmatrixInitVal);
    const T* initial = !table ? (o.has_bias ? reinterpret_cast<const T*>(o.bias.data) : c)
                              : o.has_bias ? reinterpret_cast<const T*>(o.bias.data) : reinterpret_cast<const T*>(core().memory(Space::BT).base);
    if (o.has_bias) check(o.bias, table ? n * 4ull : high * wide * 1024, false, PIPE_M, "Mmad", "bias", where);
    for (uint64_t r = 0; r < m; ++r)
        for (uint64_t j = 0; j < wide; ++j) {
            T* to = result.data() + (r * wide + j) * 16;
            const uint64_t count = std::min<uint64_t>(16, n - j * 16);
            if (table) std::copy(initial + j * 16, initial + j * 16 + count, to);
            else if (adds) std::copy(initial + at(r, j), initial + at(r, j) + 16, to);
        }
    multiply_add(result.data(), wide * 16, left.data(), right.data(), m, n, k);
    for (uint64_t r = 0; r < m; ++r)
        for (uint64_t j = 0; j < wide; ++j) {
            T* to = c + at(r, j);
            if (adds) join(to, initial + at(r, j), 64);
            else mark_written(to, 64);
            std::copy(result.data() + (r * wide + j) * 16, result.data() + (r * wide + j + 1) * 16, to);
            if (table && unwritten(initial + j * 16, std::min<uint64_t>(16, n - j * 16) * 4)) mark_unwritten(to, 64);
            if (check_left && bad_rows[r]) mark_unwritten(to, 64);
            if (check_right)
                for (uint64_t e = 0; e < 16; ++e)
                    if (bad_columns[j * 16 + e]) mark_unwritten(to + e, 4);
        }
}

}  // namespace

void multiply(const MultiplyOperands& o, const AscendC::MmadParams& p, Where where) {
    if (p.m == 0 || p.n == 0 || p.k == 0 || elsewhere("Mmad", where)) return;
    require(o.result, Space::L0C, "Mmad", "dst", "CO1", where);
    require(o.left, Space::L0A, "Mmad", "fm", "A2", where);
    require(o.right, Space::L0B, "Mmad", "filter", "B2", where);
    if (o.has_bias && space_of(o.bias) != Space::BT) require(o.bias, Space::L0C, "Mmad", "bias", "C2 or CO1", where);
    if (p.m > 4095 || p.n > 4095 || p.k > 4095)
        note("mmad-limits", "violation", "Mmad of " + text(p.m) + " x " + text(p.n) + " x " + text(p.k) + "; each may be 4095 at most", where);
    if (is_integer(o.left_cell)) multiply_as<int32_t>(o, p, where);
    else multiply_as<float>(o, p, where);
    core().cost.multiply(p.m, p.n, p.k, bytes_of(o.left_cell));
}

namespace {

bool quant_fits(QuantMode_t mode, Cell from, Cell to) {
    const bool bytes = to == Cell::Int8 || to == Cell::Uint8;
    switch (mode) {
        case QuantMode_t::NoQuant: return from == to;
        case QuantMode_t::F322F16: return from == Cell::Float && to == Cell::Half;
        case QuantMode_t::F322BF16: return from == Cell::Float && to == Cell::Bfloat;
        case QuantMode_t::DEQF16: case QuantMode_t::VDEQF16: return from == Cell::Int32 && to == Cell::Half;
        case QuantMode_t::QF322B8_PRE: case QuantMode_t::VQF322B8_PRE: return from == Cell::Float && bytes;
        case QuantMode_t::REQ8: case QuantMode_t::VREQ8: return from == Cell::Int32 && bytes;
    }
    return false;
}

template <class T>
void fixpipe_as(const Global* global, const Local* local, Cell to, Local from, const FixpipeShape& s, Scale scale, const char* call, Where where) {
    const uint64_t size = bytes_of(to);
    // Width of a column of the result: fractals of 16 elements, 8 where floats are split, 32 where bytes are merged; or the whole row.
    const uint64_t c0 = s.rows ? s.n : size == 1 ? 32 : s.split ? 8 : 16;
    const auto* c = reinterpret_cast<const T*>(from.data);
    std::vector<uint8_t> staged(s.m * c0 * size);
    std::vector<T> line(c0);
    for (uint64_t i = 0; i < s.matrices; ++i)
        for (uint64_t first = 0; first < s.n; first += c0) {
            const uint64_t given = std::min<uint64_t>(c0, s.n - first);
            for (uint64_t r = 0; r < s.m; ++r) {
                for (uint64_t e = 0; e < given;) {
                    const uint64_t column = first + e, part = std::min(given - e, 16 - column % 16);
                    const T* at = c + i * s.source_matrix_stride * 256 + column / 16 * s.source_stride * 16 + r * 16 + column % 16;
                    observe(at, part * sizeof(T), call, "src", where, from.buffer);
                    std::copy(at, at + part, line.begin() + static_cast<std::ptrdiff_t>(e));
                    e += part;
                }
                if (s.relu)
                    for (uint64_t e = 0; e < given; ++e) line[e] = line[e] > T(0) ? line[e] : T(0);
                uint8_t* row = staged.data() + r * c0 * size;
                narrow(row, line.data(), given, first, to, scale);
                std::fill(row + given * size, row + c0 * size, uint8_t(0));
            }
            const uint64_t offset = i * s.destination_matrix_stride * size + (s.rows ? first * size : first / c0 * s.destination_stride * 32);
            const uint64_t distance = s.rows ? s.destination_stride * size : c0 * size;
            if (global) {
                const CopyShape shape{s.m, c0 * size, c0 * size, distance};
                store_global(Global{global->data + offset, global->range}, staged.data(), shape, element_of(to), call, where);
                continue;
            }
            check(*local, offset + (s.m - 1) * distance + c0 * size, true, PIPE_FIX, call, "dst", where);
            for (uint64_t r = 0; r < s.m; ++r) {
                std::memcpy(local->data + offset + r * distance, staged.data() + r * c0 * size, c0 * size);
                mark_written(local->data + offset + r * distance, c0 * size);
            }
        }
}

}  // namespace

void fixpipe(const Global* global, const Local* local, Cell to, Local from, Cell source, FixpipeShape s, const char* call, Where where) {
    if (elsewhere(call, where)) return;
    if (s.matrices == 0) s.matrices = 1;  // the register's value before SetFixpipeNz2ndFlag
    if (!s.rows) s.matrices = 1;
    if (s.n == 0 || s.m == 0) return;
    require(from, Space::L0C, call, "src", "CO1", where);
    if (local && space_of(*local) != Space::L1)
        fail("operand-position", std::string(call) + " dst lies at " + position_name(local->position) +
             "; from L0C the way goes to global memory or L1 on this SoC", where, local->buffer);
    if (s.split && (source != Cell::Float || to != Cell::Float || s.rows)) {
        note("fixpipe-split", "violation", std::string(call) + ": channel split is for float to float in fractals", where);
        s.split = false;
    }
    if (!quant_fits(s.quant, source, to))
        note("fixpipe-quant", "violation", std::string(call) + ": quantPre does not fit the element types; float to half takes F322F16, float to "
             "bfloat16_t F322BF16, int32_t to half DEQF16 or VDEQF16, "
             "to bytes QF322B8_PRE, VQF322B8_PRE, REQ8 or VREQ8, and equal types NoQuant", where);
    if (s.destination_stride == 0) note("fixpipe-stride", "violation", std::string(call) + ": dstStride is 0, rows overwrite each other", where);
    const uint64_t last = (s.matrices - 1) * 256ull * s.source_matrix_stride + (s.n - 1) / 16 * 16ull * s.source_stride + (s.m - 1) * 16ull +
                          (s.n - 1) % 16 + 1;
    check(from, last * 4, false, PIPE_FIX, call, "src", where);
    const bool vector = s.quant == QuantMode_t::VDEQF16 || s.quant == QuantMode_t::VQF322B8_PRE || s.quant == QuantMode_t::VREQ8;
    const bool single = s.quant == QuantMode_t::DEQF16 || s.quant == QuantMode_t::QF322B8_PRE || s.quant == QuantMode_t::REQ8;
    if (vector && !s.scales)
        fail("fixpipe-quant", std::string(call) + ": quantPre takes a scale for each column, and no tensor of scales was given", where);
    const Scale scale = vector ? Scale{s.scales, true} : single ? Scale{&s.scale, false} : Scale{};
    if (source == Cell::Int32) fixpipe_as<int32_t>(global, local, to, from, s, scale, call, where);
    else fixpipe_as<float>(global, local, to, from, s, scale, call, where);
    core().cost.move(Space::L0C, global ? Space::Global : Space::L1, static_cast<uint64_t>(s.matrices) * s.m * s.n * bytes_of(to));
}

// L1 to the bias table, half or float to float: blocks of 64 bytes there.
void copy_to_table(Local to, Local from, const AscendC::DataCopyParams& p, Cell to_cell, Cell from_cell, Where where) {
    if (p.blockCount == 0 || p.blockLen == 0 || elsewhere("DataCopy", where)) return;
    if (to_cell != Cell::Float || from_cell != Cell::Half || space_of(to) != Space::BT)
        fail("datacopy-types", "DataCopy between tensors of unlike types goes from half in L1 to float in the bias table (C2) alone", where);
    const uint64_t elements = p.blockLen * 16ull, source_step = elements * 2 + 32ull * p.srcStride, target_step = elements * 4 + 64ull * p.dstStride;
    check(from, (p.blockCount - 1) * source_step + elements * 2, false, PIPE_MTE1, "DataCopy", "src", where);
    check(to, (p.blockCount - 1) * target_step + elements * 4, true, PIPE_MTE1, "DataCopy", "dst", where);
    for (uint64_t i = 0; i < p.blockCount; ++i) {
        join_lanes(to.data + i * target_step, 4, from.data + i * source_step, 2, elements);
        widen(reinterpret_cast<float*>(to.data + i * target_step), from.data + i * source_step, elements, from_cell);
    }
    core().cost.move(Space::L1, Space::BT, p.blockCount * elements * 4);
}

}  // namespace opmend_sim
