#include <torch/extension.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

#define KERNELS(each)                                                                                                \
    each(pad_flat) each(tail_stages) each(tail_floor) each(byte_index) each(element_length) each(padded_reduce)      \
        each(padded_mean) each(zero_maximum) each(reset_each_tile) each(half_total) each(half_columns)               \
            each(exact_scan) each(floor_share) each(truncating_cast) each(raw_moments) each(counted_weights)         \
                each(unset_columns) each(never_freed) each(not_enqueued) each(swapped_rows) each(small_buffer)          \
                    each(packed_rows) each(scatter_rows) each(last_tile_wins) each(dealt_tiles)

#define DECLARE(name)                                                                                                \
    extern "C" void name##_do(uint32_t cores, void *stream, uint8_t *x, uint8_t *w, uint8_t *out, int64_t rows, int64_t cols);
KERNELS(DECLARE)

#define DEFINE(name)                                                                                                 \
    void run_##name(const at::Tensor &x, const at::Tensor &w, const at::Tensor &out, int64_t rows, int64_t cols,     \
                    int64_t cores)                                                                                   \
    {                                                                                                                \
        auto stream = c10_npu::getCurrentNPUStream().stream(false);                                                  \
        name##_do(static_cast<uint32_t>(cores), stream, static_cast<uint8_t *>(x.data_ptr()),                        \
                  static_cast<uint8_t *>(w.data_ptr()), static_cast<uint8_t *>(out.data_ptr()), rows, cols);         \
    }
KERNELS(DEFINE)

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
#define EXPORT(name) m.def(#name, &run_##name, #name);
    KERNELS(EXPORT)
}
