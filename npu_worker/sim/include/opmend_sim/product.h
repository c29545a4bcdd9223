// The untyped half of the Matmul object: one matrix product cut into base blocks, from operands in global or local memory.
#pragma once
#include <string>

#include "opmend_sim/cube_tiling.h"
#include "opmend_sim/gemm.h"
#include "opmend_sim/layout.h"

namespace opmend_sim {

// What MatmulType says about one matrix.
struct MatrixType {
    Cell cell = Cell::Other;
    CubeFormat format = CubeFormat::ND;
    AscendC::TPosition position = AscendC::TPosition::GM;
    bool transposable = false;
    LayoutMode layout = LayoutMode::NONE;
};
// Where a matrix lies. Either global (range) or local (limit, position, buffer), or a scalar that stands for every element.
struct MatrixPlace {
    uint8_t* data = nullptr;
    bool global = true;
    Range range{};
    uint64_t limit = 0;
    AscendC::TPosition position = AscendC::TPosition::GM;
    const Buffer* buffer = nullptr;
    bool scalar = false;
    double value = 0;
    bool transposed = false;
};
template <class T> MatrixPlace place_of(const AscendC::GlobalTensor<T>& tensor, bool transposed = false) {
    MatrixPlace place;
    place.data = reinterpret_cast<uint8_t*>(tensor.GetPhyAddr());
    place.range = tensor.range();
    place.transposed = transposed;
    return place;
}
template <class T> MatrixPlace place_of(const AscendC::LocalTensor<T>& tensor, bool transposed = false) {
    MatrixPlace place;
    place.data = reinterpret_cast<uint8_t*>(tensor.raw());
    place.global = false;
    place.limit = tensor.GetLength();
    place.position = tensor.GetPosition();
    place.buffer = tensor.buffer();
    place.transposed = transposed;
    return place;
}

// One base block of the result: where it stands in the single core's part, and its size.
struct BaseBlock {
    uint32_t row = 0, column = 0, rows = 0, columns = 0;
};

class MatrixProduct {
public:
    // client: a vector core's object, which sends its work to the cube core. Without it a vector core does nothing, as with other cube calls.
    MatrixProduct(MatrixType a, MatrixType b, MatrixType c, MatrixType bias, bool client)
        : a_type_(a), b_type_(b), c_type_(c), bias_type_(bias), client_(client) {}

    void init(const TCubeTiling& tiling, Where where);
    bool ready() const { return ready_; }
    void set_left(const MatrixPlace& place, Where where);
    void set_right(const MatrixPlace& place, Where where);
    void set_bias(const MatrixPlace& place) { bias_ = place, has_bias_ = true; }
    void disable_bias() { has_bias_ = false; }
    void set_org_shape(int m, int n, int ka, int kb, int kc);
    void set_single_shape(int m, int n, int k);  // -1: as it is
    void set_hf32(bool on, bool toward_zero) { hf32_ = on, hf32_toward_zero_ = toward_zero; }
    void set_scale(uint64_t bits) { scale_bits_ = bits, scaling_ = Scaling::One; }
    void set_scales(const MatrixPlace& place) { scale_place_ = place, scaling_ = Scaling::ByColumn; }
    void set_workspace(const MatrixPlace& place) { workspace_ = place; }
    void set_batch(uint32_t a, uint32_t b) { batch_a_ = a, batch_b_ = b; }
    void reset() { next_ = 0; has_block_ = false; }

    // Computes the next base block; false when there is none left.
    bool iterate(bool partial, bool asynchronous, Where where);
    // Writes the block that iterate computed. sequential: rows of the block side by side, else at its place in the whole matrix.
    void write(const MatrixPlace& to, uint8_t atomic, bool sequential, const char* call, Where where);
    void write_both(const MatrixPlace& to, const MatrixPlace& local, uint8_t atomic, bool sequential, const char* call, Where where);
    void run_all(const MatrixPlace& to, uint8_t atomic, bool sequential, const char* call, Where where);
    // Strides in elements between matrices, 0: as the layout says.
    void run_batches(const MatrixPlace& to, bool partial, uint8_t atomic, uint64_t stride_a, uint64_t stride_b, uint64_t stride_c, Where where);
    const BaseBlock& block() const { return block_; }
    const TCubeTiling& tiling() const { return tiling_; }
    // Elements from the start of the result to the block's first element, in the whole matrix.
    uint64_t offset_of_block() const { return static_cast<uint64_t>(block_.row) * result_leading(MatrixPlace{}, false) + block_.column; }
    // The asynchronous form without a destination: writes the next block into the workspace; where it starts there, in elements.
    uint64_t write_to_workspace(uint8_t atomic, const char* call, Where where);
    const MatrixPlace& workspace() const { return workspace_; }

private:
    enum class Scaling : uint8_t { None, One, ByColumn };
    template <class T> struct Panels {
        std::vector<T> left, right, result;
    };
    template <class T> Panels<T>& panels() {
        if constexpr (std::is_same_v<T, float>) return floats_;
        else return integers_;
    }
    template <class T> void compute(bool partial, Where where);
    template <class T> void load(const MatrixType& type, const MatrixPlace& place, bool right, uint32_t first, uint32_t count, Where where);
    template <class T> void add_bias(Where where);
    template <class T> void store(const MatrixPlace& to, uint64_t row, uint64_t column, uint64_t leading, const char* call, Where where);
    bool integer() const { return is_integer(a_type_.cell); }
    uint64_t operand_leading(const MatrixType& type, const MatrixPlace& place, bool right) const;
    uint64_t result_leading(const MatrixPlace& to, bool sequential) const;
    // Whether this core has no part in the product.
    bool elsewhere(const char* call, Where where) const;
    void start(Where where);
    void next_block(const char* call, Where where);
    void put(const MatrixPlace& to, uint8_t atomic, bool sequential, const char* call, Where where);
    void step(bool partial, Where where);
    uint32_t count_of_blocks() const;
    void check_tiling(Where where) const;

    MatrixType a_type_, b_type_, c_type_, bias_type_;
    MatrixPlace a_, b_, bias_, scale_place_, workspace_;
    bool client_ = false, has_a_ = false, has_b_ = false, has_bias_ = false, ready_ = false;
    TCubeTiling tiling_;
    uint32_t org_m_ = 0, org_n_ = 0, org_ka_ = 0, org_kb_ = 0, org_kc_ = 0, m_ = 0, n_ = 0, k_ = 0;
    uint32_t next_ = 0, batch_a_ = 1, batch_b_ = 1;
    bool has_block_ = false, asynchronous_ = false, keep_panels_ = false;
    BaseBlock block_;
    uint32_t left_first_ = ~0u, right_first_ = ~0u;  // what the panels hold, while they may be kept
    bool hf32_ = false, hf32_toward_zero_ = false;
    Scaling scaling_ = Scaling::None;
    uint64_t scale_bits_ = 0;
    uint64_t left_rows_ = 0, right_rows_ = 0, result_rows_ = 0;  // leading sizes of a batch layout; 0: by the shapes
    Panels<float> floats_;
    Panels<int32_t> integers_;
};

// What REGIST_MATMUL_OBJ does first: the cube core of a MIX kernel only serves the vector cores, so it ends here; and the misuses that only
// the launch shows. client: the object sends its work to a cube core. cube_only: the kernel was built for cube cores alone.
void begin_product(bool client, bool cube_only, const void* workspace, Where where);
}  // namespace opmend_sim
