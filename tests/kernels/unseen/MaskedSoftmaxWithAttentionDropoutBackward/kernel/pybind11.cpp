#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
extern "C" void msdb_do(uint32_t blocks, void* stream, void* g, void* p, void* m, void* d, void* o, uint32_t rows, uint32_t t, uint32_t heads, float scale, int drop, int kind);
torch::Tensor backward(torch::Tensor g, torch::Tensor p, torch::Tensor m, torch::Tensor d, double prob)
{
    TORCH_CHECK(m.scalar_type() == torch::kBool && d.scalar_type() == torch::kBool, "masks are bool");
    bool drop = prob > 0;
    auto options = drop ? g.options().dtype(torch::kFloat32) : g.options();
    auto o = torch::empty(g.sizes().vec(), options);
    uint32_t t = g.size(3), rows = g.size(0) * g.size(1) * g.size(2);
    int kind = g.scalar_type() == torch::kFloat32 ? 0 : (g.scalar_type() == torch::kFloat16 ? 1 : 2);
    msdb_do(rows < 48 ? rows : 48, c10_npu::getCurrentNPUStream().stream(), g.data_ptr(), p.data_ptr(), m.data_ptr(), d.data_ptr(), o.data_ptr(), rows, t, g.size(1), drop ? 1.0 / (1.0 - prob) : 1.0, drop, kind);
    return o;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("backward", &backward);
}
