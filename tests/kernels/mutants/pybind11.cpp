#include <torch/extension.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void memory_mutant_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *z, uint32_t n, int32_t which);
extern "C" void protocol_mutant_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *z, uint32_t n, int32_t which);

void run(const std::string &group, const at::Tensor &x, const at::Tensor &z, int64_t blocks, int64_t which)
{
    auto *launch = group == "memory" ? memory_mutant_do : protocol_mutant_do;
    launch(static_cast<uint32_t>(blocks), c10_npu::getCurrentNPUStream().stream(false), static_cast<uint8_t *>(x.data_ptr()),
           static_cast<uint8_t *>(z.data_ptr()), static_cast<uint32_t>(x.numel()), static_cast<int32_t>(which));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
