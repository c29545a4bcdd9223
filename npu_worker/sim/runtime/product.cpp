// The Matmul object's work: base blocks in the order the tiling asks for, from operands wherever they lie.
#include "opmend_sim/product.h"

#include <algorithm>

#include "opmend_sim/schedule.h"

namespace opmend_sim {
namespace {

constexpr const char* kLeft = "A";
constexpr const char* kRight = "B";

uint32_t rounded_up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }
uint32_t at_least_one(int32_t value) { return value > 0 ? static_cast<uint32_t>(value) : 1; }
// Width of a fractal of the result: as the fixpipe writes it (16, and 32 where two columns of bytes are merged).
uint32_t result_c0(Cell cell) { return bytes_of(cell) == 1 ? 32 : 16; }

// Elements [first, first + count) of a matrix, into `out` as T. Unreadable global bytes are poison, and reported.
template <class T>
void read_run(T* out, const MatrixPlace& place, uint64_t first, uint64_t count, Cell cell, bool inside, const char* name, Where where) {
    const uint64_t size = bytes_of(cell);
    if (place.scalar) {
        std::fill(out, out + count, static_cast<T>(place.value));
        return;
    }
    const uint8_t* from = place.data + first * size;
    if (inside) return widen(out, from, count, cell);
    std::vector<uint8_t> staged(count * size);
    load_global(staged.data(), Global{const_cast<uint8_t*>(from), place.range}, staged.size(), name, where);
    widen(out, staged.data(), count, cell);
}
// Whether elements [first, end) can be read without a check of each run.
bool check_reach(const MatrixPlace& place, uint64_t first, uint64_t end, Cell cell, const char* name, Where where) {
    if (place.scalar) return true;
    const uint64_t size = bytes_of(cell);
    if (place.global) {
        const auto begin = reinterpret_cast<uintptr_t>(place.range.begin), at = reinterpret_cast<uintptr_t>(place.data);
        return place.range.begin && at + first * size >= begin && at + end * size <= reinterpret_cast<uintptr_t>(place.range.end);
    }
    const Memory& memory = core().memory(space_of(place.position));
    const bool aligned = (reinterpret_cast<uintptr_t>(place.data) & (memory.alignment - 1)) == 0;
    if (end * size > place.limit || !memory.holds(place.data, end * size) || !aligned)
        check_span(place.data, end * size, place.limit, place.position, place.buffer, "Matmul", name, where);
    return true;
}

template <class T> void put_right_row(T* out, uint64_t depth, const T* line, uint64_t k, uint64_t column, uint64_t count) {
    for (uint64_t c = 0; c < count;) {
        const uint64_t at = column + c, part = std::min<uint64_t>(count - c, kPanel - at % kPanel);
        std::copy(line + c, line + c + part, out + (at / kPanel * depth + k) * kPanel + at % kPanel);
        c += part;
    }
}

}  // namespace

void MatrixProduct::init(const TCubeTiling& tiling, Where where) {
    tiling_ = tiling;
    ready_ = true;
    org_m_ = static_cast<uint32_t>(tiling.M), org_n_ = static_cast<uint32_t>(tiling.N), org_kc_ = 0;
    org_ka_ = static_cast<uint32_t>(tiling.Ka), org_kb_ = static_cast<uint32_t>(tiling.Kb);
    m_ = static_cast<uint32_t>(tiling.singleCoreM), n_ = static_cast<uint32_t>(tiling.singleCoreN), k_ = static_cast<uint32_t>(tiling.singleCoreK);
    has_bias_ = false;
    reset();
    check_tiling(where);
}

void MatrixProduct::check_tiling(Where where) const {
    const TCubeTiling& t = tiling_;
    const auto say = [&](const std::string& what) { note("matmul-tiling", "violation", "the tiling of this Matmul object: " + what, where); };
    if (t.baseM <= 0 || t.baseN <= 0 || t.baseK <= 0)
        fail("matmul-tiling", "the tiling of this Matmul object has baseM " + std::to_string(t.baseM) + ", baseN " +
             std::to_string(t.baseN) + ", baseK " + std::to_string(t.baseK) +
             "; all three must be positive (was the tiling copied from global memory, in the right struct?)", where);
    const uint32_t size = bytes_of(a_type_.cell), c0 = fractal_columns(size);
    const uint64_t m = rounded_up(static_cast<uint32_t>(t.baseM), 16), n = rounded_up(static_cast<uint32_t>(t.baseN), 16),
                   k = rounded_up(static_cast<uint32_t>(t.baseK), c0);
    const auto fits = [&](const char* what, uint64_t bytes, Space space, const char* name) {
        const uint64_t there = soc().of(space);
        if (bytes > there) say(std::string(what) + " needs " + text(bytes) + " bytes of " + name + "; there are " + text(there));
    };
    if (t.baseN % 16 != 0) say("baseN is " + std::to_string(t.baseN) + ", not a multiple of 16");
    if (t.baseK % static_cast<int32_t>(c0) != 0 && t.baseK < t.singleCoreK)
        say("baseK is " + std::to_string(t.baseK) + ", not a multiple of " + text(c0));
    if (t.baseM % 16 != 0 && t.baseM < t.singleCoreM) say("baseM is " + std::to_string(t.baseM) + ", not a multiple of 16");
    fits("baseM x baseK", m * k * size * at_least_one(t.dbL0A), Space::L0A, "L0A");
    fits("baseK x baseN", k * n * size * at_least_one(t.dbL0B), Space::L0B, "L0B");
    fits("baseM x baseN", m * n * 4 * at_least_one(t.dbL0C), Space::L0C, "L0C");
    if (t.depthA1 <= 0 || t.depthB1 <= 0 || t.stepM <= 0 || t.stepN <= 0 || t.stepKa <= 0 || t.stepKb <= 0)
        say("depthA1, depthB1, stepM, stepN, stepKa and stepKb must be positive; they are " + std::to_string(t.depthA1) + ", " +
            std::to_string(t.depthB1) + ", " + std::to_string(t.stepM) + ", " +
             std::to_string(t.stepN) + ", " + std::to_string(t.stepKa) + ", " + std::to_string(t.stepKb));
    else
        fits("depthA1 x baseM x baseK + depthB1 x baseN x baseK",
             (static_cast<uint64_t>(t.depthA1) * m * k + static_cast<uint64_t>(t.depthB1) * n * k) * size, Space::L1, "L1");
}

void MatrixProduct::set_left(const MatrixPlace& place, Where where) {
    if (place.transposed && !a_type_.transposable)
        note("matmul-transpose", "violation", "SetTensorA asks for a transposed A, but its MatmulType has isTrans = false", where);
    a_ = place, has_a_ = true;
    reset();
}
void MatrixProduct::set_right(const MatrixPlace& place, Where where) {
    if (place.transposed && !b_type_.transposable)
        note("matmul-transpose", "violation", "SetTensorB asks for a transposed B, but its MatmulType has isTrans = false", where);
    b_ = place, has_b_ = true;
    reset();
}
void MatrixProduct::set_org_shape(int m, int n, int ka, int kb, int kc) {
    org_m_ = static_cast<uint32_t>(m), org_n_ = static_cast<uint32_t>(n), org_ka_ = static_cast<uint32_t>(ka);
    org_kb_ = static_cast<uint32_t>(kb), org_kc_ = static_cast<uint32_t>(kc);
}
void MatrixProduct::set_single_shape(int m, int n, int k) {
    if (m >= 0) m_ = static_cast<uint32_t>(m);
    if (n >= 0) n_ = static_cast<uint32_t>(n);
    if (k >= 0) k_ = static_cast<uint32_t>(k);
    reset();
}

// Rows of an operand in memory: of the whole matrix in global memory, of the single core's part in a local one.
uint64_t MatrixProduct::operand_leading(const MatrixType& type, const MatrixPlace& place, bool right) const {
    const uint64_t batch = right ? right_rows_ : left_rows_;
    if (batch) return batch;
    const uint64_t outer = right ? (place.global ? org_n_ : n_) : (place.global ? org_m_ : m_);
    const uint64_t depth = place.global ? (right ? org_kb_ : org_ka_) : k_;
    // Stored as depth x outer, or as outer x depth.
    const bool depth_first = right != place.transposed;
    if (type.format == CubeFormat::NZ) return ceil_to(depth_first ? depth : outer, 16);
    const uint64_t columns = depth_first ? outer : depth;
    return place.global ? columns : ceil_to(columns, fractal_columns(bytes_of(type.cell)));
}
uint64_t MatrixProduct::result_leading(const MatrixPlace& to, bool sequential) const {
    if (result_rows_) return result_rows_;
    const uint64_t whole = org_kc_ ? org_kc_ : org_n_;
    if (c_type_.format == CubeFormat::NZ) return ceil_to(sequential ? block_.rows : to.global ? org_m_ : m_, 16);
    const uint64_t unit = 32 / bytes_of(c_type_.cell);
    if (!to.global) return ceil_to(sequential ? block_.columns : n_, unit);
    const uint64_t columns = sequential ? static_cast<uint64_t>(tiling_.baseN) : whole;
    return c_type_.format == CubeFormat::ND_ALIGN ? ceil_to(columns, unit) : columns;
}

template <class T>
void MatrixProduct::load(const MatrixType& type, const MatrixPlace& place, bool right, uint32_t first, uint32_t count, Where where) {
    const char* name = right ? kRight : kLeft;
    Panels<T>& to = panels<T>();
    std::vector<T>& out = right ? to.right : to.left;
    const uint64_t padded = right ? ceil_to(count, kPanel) : count;
    out.resize(padded * k_);
    if (padded != count) std::fill(out.begin(), out.end(), T(0));
    const bool depth_first = right != place.transposed;
    const uint64_t rows = depth_first ? k_ : count, columns = depth_first ? count : k_;
    const uint64_t row = depth_first ? 0 : first, column = depth_first ? first : 0;
    const Stored stored{type.format == CubeFormat::NZ ? CubeFormat::NZ : CubeFormat::ND, operand_leading(type, place, right),
                        fractal_columns(bytes_of(type.cell))};
    const uint64_t begin = stored.at(row, column), end = stored.at(row + rows - 1, column + columns - 1) + 1;
    const bool inside = check_reach(place, begin, end, type.cell, right ? "Matmul B" : "Matmul A", where);
    std::vector<T> line(columns);
    const uint64_t size = bytes_of(type.cell);
    if (place.global && inside && !place.scalar) {
        const uint64_t across = std::min(columns, stored.run(0)), step = stored.at(1, 0) - stored.at(0, 0);
        for (uint64_t c = 0; c < columns; c += across)
            used_global(place.data + stored.at(row, column + c) * size, std::min(across, columns - c) * size, rows, step * size, GlobalUse::Read,
                        "Matmul", where);
    }
    for (uint64_t r = 0; r < rows; ++r) {
        for (uint64_t c = 0; c < columns;) {
            const uint64_t part = std::min(columns - c, stored.run(column + c)), at = stored.at(row + r, column + c);
            read_run(line.data() + c, place, at, part, type.cell, inside, right ? "Matmul B" : "Matmul A", where);
            if (!place.global && !place.scalar) observe(place.data + at * size, part * size, "Matmul", name, where, place.buffer);
            c += part;
        }
        if constexpr (std::is_same_v<T, float>)
            if (hf32_ && type.cell == Cell::Float) round_to_hf32(line.data(), columns, hf32_toward_zero_);
        if (!right && !place.transposed) std::copy(line.begin(), line.end(), out.begin() + static_cast<std::ptrdiff_t>(r * k_));
        else if (!right) for (uint64_t c = 0; c < columns; ++c) out[c * k_ + r] = line[c];
        else if (!place.transposed) put_right_row(out.data(), k_, line.data(), r, 0, columns);
        else for (uint64_t c = 0; c < columns; ++c) out[(r / kPanel * k_ + c) * kPanel + r % kPanel] = line[c];
    }
}

template <class T> void MatrixProduct::add_bias(Where where) {
    const bool inside = check_reach(bias_, block_.column, block_.column + block_.columns, bias_type_.cell, "Matmul bias", where);
    std::vector<T> line(block_.columns);
    read_run(line.data(), bias_, block_.column, block_.columns, bias_type_.cell, inside, "Matmul bias", where);
    if (!bias_.global) {
        const uint64_t size = bytes_of(bias_type_.cell);
        observe(bias_.data + block_.column * size, block_.columns * size, "Matmul", "bias", where, bias_.buffer);
    }
    const uint64_t leading = ceil_to(block_.columns, kPanel);
    std::vector<T>& result = panels<T>().result;
    for (uint64_t r = 0; r < block_.rows; ++r) std::copy(line.begin(), line.end(), result.begin() + static_cast<std::ptrdiff_t>(r * leading));
}

uint32_t MatrixProduct::count_of_blocks() const {
    const uint32_t rows = (m_ + static_cast<uint32_t>(tiling_.baseM) - 1) / static_cast<uint32_t>(tiling_.baseM),
                   columns = (n_ + static_cast<uint32_t>(tiling_.baseN) - 1) / static_cast<uint32_t>(tiling_.baseN);
    return rows * columns;
}

bool MatrixProduct::elsewhere(const char* call, Where where) const {
    if (client_ || core().has_cube()) return false;
    if (launch_now().task.aics == 0)
        note("wrong-core", "violation", std::string(call) + " of a MatmulImpl on an AIV, which has no cube unit: nothing happens", where);
    return true;
}

void MatrixProduct::start(Where where) {
    if (!ready_) fail("matmul-not-initialised", "a Matmul object works before REGIST_MATMUL_OBJ or Init gave it a tiling", where);
    if (!has_a_ || !has_b_) fail("matmul-operand", std::string("a Matmul object works before SetTensor") + (has_a_ ? "B" : "A"), where);
    if (m_ == 0 || n_ == 0 || k_ == 0)
        fail("matmul-tiling", "a Matmul object works on a single-core shape of " + text(m_) + " x " + text(n_) + " x " + text(k_), where);
}

template <class T> void MatrixProduct::compute(bool partial, Where where) {
    Panels<T>& at = panels<T>();
    const uint64_t leading = ceil_to(block_.columns, kPanel), elements = leading * block_.rows;
    if (!keep_panels_ || left_first_ != block_.row) load<T>(a_type_, a_, false, block_.row, block_.rows, where);
    if (!keep_panels_ || right_first_ != block_.column) load<T>(b_type_, b_, true, block_.column, block_.columns, where);
    left_first_ = block_.row, right_first_ = block_.column;
    if (!partial || at.result.size() != elements) {
        at.result.assign(elements, T(0));
        if (has_bias_) add_bias<T>(where);
    }
    multiply_add(at.result.data(), leading, at.left.data(), at.right.data(), block_.rows, block_.columns, k_);
    has_block_ = true;
    const uint64_t size = bytes_of(a_type_.cell), left = static_cast<uint64_t>(block_.rows) * k_ * size,
                   right = static_cast<uint64_t>(block_.columns) * k_ * size;
    Cost& cost = core().cost;
    cost.multiply(block_.rows, block_.columns, k_, size);
    cost.move(a_.global ? Space::Global : space_of(a_.position), Space::L1, left);
    cost.move(b_.global ? Space::Global : space_of(b_.position), Space::L1, right);
    cost.move(Space::L1, Space::L0A, left);
    cost.move(Space::L1, Space::L0B, right);
}

// The next base block, in the tiling's order: down the rows first, or along the columns first.
void MatrixProduct::step(bool partial, Where where) {
    const uint32_t base_m = static_cast<uint32_t>(tiling_.baseM), base_n = static_cast<uint32_t>(tiling_.baseN);
    const uint32_t rows = (m_ + base_m - 1) / base_m, columns = (n_ + base_n - 1) / base_n;
    const bool along = tiling_.iterateOrder == 1;
    const uint32_t i = along ? next_ / columns : next_ % rows, j = along ? next_ % columns : next_ / rows;
    block_ = BaseBlock{i * base_m, j * base_n, std::min(base_m, m_ - i * base_m), std::min(base_n, n_ - j * base_n)};
    ++next_;
    ::opmend_sim::step(core(), 16, where);
    if (integer()) compute<int32_t>(partial, where);
    else compute<float>(partial, where);
}

bool MatrixProduct::iterate(bool partial, bool asynchronous, Where where) {
    if (elsewhere("Iterate", where)) return false;
    start(where);
    asynchronous_ = asynchronous;
    if (asynchronous) {  // the blocks are computed as they are fetched
        next_ = 0;
        has_block_ = false;
        return true;
    }
    if (next_ >= count_of_blocks()) {
        has_block_ = false;
        return false;
    }
    step(partial, where);
    return true;
}

template <class T>
void MatrixProduct::store(const MatrixPlace& to, uint64_t row, uint64_t column, uint64_t leading, const char* call, Where where) {
    const std::vector<T>& result = panels<T>().result;
    const uint64_t size = bytes_of(c_type_.cell), width = ceil_to(block_.columns, kPanel);
    std::vector<uint64_t> scales;
    Scale scale;
    if (scaling_ == Scaling::One) {
        scale = Scale{&scale_bits_, false};
    } else if (scaling_ == Scaling::ByColumn) {
        scales.resize(block_.columns);
        const Global from{scale_place_.data + 8ull * block_.column, scale_place_.range};
        load_global(scales.data(), from, scales.size() * 8, "Matmul quantisation", where);
        scale = Scale{scales.data(), true};
    }
    if (is_integer(c_type_.cell) != std::is_integral_v<T> && !scale.values)
        note("matmul-no-scale", "violation", "the result changes between integers and floats without SetQuantScalar or SetQuantVector", where);
    const bool nz = c_type_.format == CubeFormat::NZ;
    const uint64_t c0 = nz ? result_c0(c_type_.cell) : block_.columns;
    const Stored stored{nz ? CubeFormat::NZ : CubeFormat::ND, leading, static_cast<uint32_t>(c0)};
    std::vector<uint8_t> staged(block_.rows * c0 * size);
    for (uint64_t from = 0; from < block_.columns; from += c0) {
        const uint64_t given = std::min<uint64_t>(c0, block_.columns - from);
        for (uint64_t r = 0; r < block_.rows; ++r) {
            narrow(staged.data() + r * c0 * size, result.data() + r * width + from, given, from, c_type_.cell, scale);
            std::fill(staged.data() + (r * c0 + given) * size, staged.data() + (r + 1) * c0 * size, uint8_t(0));
        }
        uint8_t* at = to.data + stored.at(row, column + from) * size;
        const uint64_t distance = (nz ? c0 : leading) * size;
        if (to.global) {
            const CopyShape shape{block_.rows, c0 * size, c0 * size, distance};
            store_global(Global{at, to.range}, staged.data(), shape, element_of(c_type_.cell), call, where);
            continue;
        }
        const uint64_t reach = static_cast<uint64_t>(at - to.data) + (block_.rows - 1) * distance + c0 * size;
        check_reach(to, 0, (reach + size - 1) / size, c_type_.cell, "C", where);
        for (uint64_t r = 0; r < block_.rows; ++r) {
            std::memcpy(at + r * distance, staged.data() + r * c0 * size, c0 * size);
            mark_written(at + r * distance, c0 * size);
        }
    }
}

void MatrixProduct::write(const MatrixPlace& to, uint8_t atomic, bool sequential, const char* call, Where where) {
    if (elsewhere(call, where)) return;
    next_block(call, where);
    put(to, atomic, sequential, call, where);
}

void MatrixProduct::write_both(const MatrixPlace& to, const MatrixPlace& local, uint8_t atomic, bool sequential, const char* call, Where where) {
    if (elsewhere(call, where)) return;
    next_block(call, where);
    put(to, atomic, sequential, call, where);
    put(local, 0, sequential, call, where);
}

void MatrixProduct::next_block(const char* call, Where where) {
    if (asynchronous_) {
        if (next_ >= count_of_blocks()) fail("matmul-no-block", std::string(call) + ": all blocks of this Iterate were fetched", where);
        step(false, where);
    }
    if (!has_block_) fail("matmul-no-block", std::string(call) + " without a successful Iterate before it", where);
}

void MatrixProduct::put(const MatrixPlace& to, uint8_t atomic, bool sequential, const char* call, Where where) {
    if (atomic > 3) fail("matmul-atomic", std::string(call) + ": enAtomic is " + text(atomic) + "; it is 0 to 3", where);
    if (atomic && !to.global) note("matmul-atomic", "violation", std::string(call) + ": enAtomic is for results in global memory", where);
    const uint64_t leading = result_leading(to, sequential);
    const uint64_t bytes = static_cast<uint64_t>(block_.rows) * block_.columns * bytes_of(c_type_.cell);
    core().cost.move(Space::L0C, to.global ? Space::Global : space_of(to.position), bytes);
    const Atomic before = core().atomic;
    core().atomic = atomic == 1 ? Atomic::Add : atomic == 2 ? Atomic::Max : atomic == 3 ? Atomic::Min : Atomic::None;
    const uint64_t row = sequential ? 0 : block_.row, column = sequential ? 0 : block_.column;
    if (integer()) store<int32_t>(to, row, column, leading, call, where);
    else store<float>(to, row, column, leading, call, where);
    core().atomic = before;
}

void MatrixProduct::run_all(const MatrixPlace& to, uint8_t atomic, bool sequential, const char* call, Where where) {
    if (elsewhere(call, where)) return;
    start(where);
    asynchronous_ = false;
    next_ = 0;
    left_first_ = right_first_ = ~0u;
    keep_panels_ = true;
    for (const uint32_t all = count_of_blocks(); next_ < all;) {
        step(false, where);
        put(to, atomic, sequential, call, where);
    }
    keep_panels_ = false;
    has_block_ = false;
}

uint64_t MatrixProduct::write_to_workspace(uint8_t atomic, const char* call, Where where) {
    if (elsewhere(call, where)) return 0;
    if (!workspace_.data)
        fail("matmul-no-workspace", std::string(call) + ": the asynchronous form keeps blocks in a workspace; call SetWorkspace first", where);
    const uint64_t elements = static_cast<uint64_t>(tiling_.baseM) * static_cast<uint64_t>(tiling_.baseN), offset = next_ * elements;
    MatrixPlace to = workspace_;
    to.data += offset * bytes_of(c_type_.cell);
    write(to, atomic, true, call, where);
    return offset;
}

namespace {

// Where matrix `index` of a batch starts, and its rows' distance, both in elements. b, s, n, g, d: the axes of the layout.
struct BatchPlace {
    uint64_t offset, leading;
};
BatchPlace batch_place(LayoutMode layout, uint64_t index, uint64_t b, uint64_t s, uint64_t n, uint64_t g, uint64_t d, uint64_t matrix) {
    switch (layout) {
        case LayoutMode::BSNGD: return {index / (n * g) * s * n * g * d + index % (n * g) * d, n * g * d};
        case LayoutMode::SBNGD: return {index * d, b * n * g * d};
        case LayoutMode::BNGS1S2: return {index * s * d, d};
        default: return {index * matrix, 0};
    }
}

}  // namespace

void MatrixProduct::run_batches(const MatrixPlace& to, bool partial, uint8_t atomic, uint64_t stride_a, uint64_t stride_b, uint64_t stride_c,
                                Where where) {
    if (elsewhere("IterateBatch", where)) return;
    start(where);
    if (partial) unsupported("IterateBatch with enPartialSum", where);
    if (batch_a_ == 0 || batch_b_ == 0 || std::max(batch_a_, batch_b_) % std::min(batch_a_, batch_b_) != 0)
        fail("matmul-batch", "IterateBatch with batchA " + text(batch_a_) + " and batchB " + text(batch_b_) + ": one must be a multiple of the other",
             where);
    const TCubeTiling& t = tiling_;
    const auto u = [](int32_t value) { return static_cast<uint64_t>(at_least_one(value)); };
    const uint64_t all = std::max(batch_a_, batch_b_);
    const MatrixPlace a = a_, b = b_, bias = bias_;
    for (uint64_t i = 0; i < all; ++i) {
        const uint64_t ia = i / (all / batch_a_), ib = i / (all / batch_b_);
        BatchPlace pa = batch_place(a_type_.layout, ia, u(t.ALayoutInfoB), u(t.ALayoutInfoS), u(t.ALayoutInfoN), u(t.ALayoutInfoG),
                                    u(t.ALayoutInfoD), static_cast<uint64_t>(m_) * k_);
        BatchPlace pb = batch_place(b_type_.layout, ib, u(t.BLayoutInfoB), u(t.BLayoutInfoS), u(t.BLayoutInfoN), u(t.BLayoutInfoG),
                                    u(t.BLayoutInfoD), static_cast<uint64_t>(k_) * n_);
        BatchPlace pc = batch_place(c_type_.layout, i, u(t.CLayoutInfoB), u(t.CLayoutInfoS1), u(t.CLayoutInfoN), u(t.CLayoutInfoG),
                                    u(t.CLayoutInfoS2), static_cast<uint64_t>(m_) * n_);
        if (stride_a) pa.offset = ia * stride_a;
        if (stride_b) pb.offset = ib * stride_b;
        if (stride_c) pc.offset = i * stride_c;
        a_ = a, b_ = b;
        a_.data += pa.offset * bytes_of(a_type_.cell);
        b_.data += pb.offset * bytes_of(b_type_.cell);
        if (!a.global) a_.limit -= std::min(a.limit, pa.offset * bytes_of(a_type_.cell));
        if (!b.global) b_.limit -= std::min(b.limit, pb.offset * bytes_of(b_type_.cell));
        MatrixPlace c = to;
        c.data += pc.offset * bytes_of(c_type_.cell);
        if (!c.global) c.limit -= std::min(c.limit, pc.offset * bytes_of(c_type_.cell));
        left_rows_ = pa.leading, right_rows_ = pb.leading, result_rows_ = pc.leading;
        run_all(c, atomic, false, "IterateBatch", where);
    }
    left_rows_ = right_rows_ = result_rows_ = 0;
    a_ = a, b_ = b, bias_ = bias;
}

void begin_product(bool client, bool cube_only, const void* workspace, Where where) {
    const Core& now = core();
    const Task task = launch_now().task;
    if (now.unit == Unit::Cube && client && task.aivs > 0) end_core();
    if (now.unit == Unit::Vector && cube_only && task.aics > 0) end_core();
    if (now.unit == Unit::Vector && client && task.aics == 0)
        note("matmul-no-cube", "violation", "a Matmul object in a kernel that runs on vector cores alone; make it a MIX kernel "
             "(KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2) or __mix__(1, 2))", where);
    if (client && !workspace)
        note("matmul-no-workspace", "violation", "REGIST_MATMUL_OBJ with a null workspace; give it GetSysWorkSpacePtr()", where);
}

uint8_t* system_workspace() {
    static uint8_t placeholder[512];
    return placeholder;
}

}  // namespace opmend_sim
