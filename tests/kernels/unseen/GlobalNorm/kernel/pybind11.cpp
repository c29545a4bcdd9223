#include <torch/extension.h>
#include "acl/acl.h"
#include "tiling/platform/platform_ascendc.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
extern "C" void global_norm_do(uint32_t n, void* s, uint8_t* x, uint8_t* y, uint8_t* ws, uint32_t total, bool h);
at::Tensor global_norm(const at::Tensor& x)
{
    auto platform = platform_ascendc::PlatformAscendCManager::GetInstance();
    uint32_t cores = std::min<uint32_t>(platform->GetCoreNumAiv(), 8);
    auto y = at::empty({}, x.options());
    auto ws = at::empty({cores * 8}, x.options().dtype(at::kFloat));
    global_norm_do(cores, c10_npu::getCurrentNPUStream().stream(false), (uint8_t*)x.data_ptr(), (uint8_t*)y.data_ptr(), (uint8_t*)ws.data_ptr(), x.numel(), x.scalar_type() == at::kHalf);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("global_norm", &global_norm); }
