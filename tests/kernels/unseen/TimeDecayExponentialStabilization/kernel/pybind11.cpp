#include <torch/extension.h>
#include <vector>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
extern "C" void wkv_do(uint32_t blockDim, void* stream, const std::vector<void*>& a, int32_t b, int32_t t, int32_t c);
py::tuple wkv(torch::Tensor w, torch::Tensor k, torch::Tensor u, torch::Tensor v, torch::Tensor ms, torch::Tensor nu, torch::Tensor de)
{
    if (k.size(2) % 256 != 0) {
        throw std::runtime_error("channels must be a multiple of 256");
    }
    auto f = k.options().dtype(torch::kFloat32);
    auto y = torch::empty(k.sizes(), f);
    auto mo = torch::empty(ms.sizes(), f), no = torch::empty(ms.sizes(), f), dout = torch::empty(ms.sizes(), f);
    std::vector<void*> p;
    for (auto& t : std::vector<torch::Tensor>{w, k, u, v, ms, nu, de, y, mo, no, dout}) {
        TORCH_CHECK(t.scalar_type() == torch::kFloat32, "float32 only");
        p.push_back(t.data_ptr());
    }
    wkv_do(16, c10_npu::getCurrentNPUStream().stream(), p, k.size(0), k.size(1), k.size(2));
    return py::make_tuple(y, mo, no, dout);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("wkv", &wkv); }
