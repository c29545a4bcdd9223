#include <torch/extension.h>
#include "torch_npu/csrc/core/npu/NPUStream.h"
struct RmsTiling { int64_t rows; int64_t cols; int64_t rowsPerTile; float eps; float invCols; };
void rms_norm_fp16_do(uint32_t b, void* s, uint8_t* x, uint8_t* w, uint8_t* y, const RmsTiling& t);
void rms_norm_bf16_do(uint32_t b, void* s, uint8_t* x, uint8_t* w, uint8_t* y, const RmsTiling& t);

torch::Tensor run(const torch::Tensor& x, const torch::Tensor& weight, double eps)
{
    TORCH_CHECK(x.scalar_type() == torch::kHalf || x.scalar_type() == torch::kBFloat16, "dtype");
    TORCH_CHECK(x.size(-1) % 16 == 0, "last dim must be a multiple of 16, got ", x.size(-1));
    auto out = torch::empty(x.sizes(), x.options());
    RmsTiling t{};
    t.cols = x.size(-1);
    t.rows = x.numel() / t.cols;
    t.rowsPerTile = std::max<int64_t>(1, 2048 / t.cols);
    t.eps = static_cast<float>(eps);
    t.invCols = 1.0f / t.cols;
    const uint32_t blocks = static_cast<uint32_t>(std::min<int64_t>(8, (t.rows + t.rowsPerTile - 1) / t.rowsPerTile));
    void* stream = c10_npu::getCurrentNPUStream().stream(true);
    auto p = [](const torch::Tensor& v) { return reinterpret_cast<uint8_t*>(v.data_ptr()); };
    if (x.scalar_type() == torch::kHalf) {
        rms_norm_fp16_do(blocks, stream, p(x), p(weight), p(out), t);
    } else {
        rms_norm_bf16_do(blocks, stream, p(x), p(weight), p(out), t);
    }
    return out;
}
PYBIND11_MODULE(_rmsnorm_ext, m) { m.def("run", &run); }
