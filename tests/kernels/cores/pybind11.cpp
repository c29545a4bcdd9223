#include <torch/extension.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void mix_do(int32_t kernel, uint32_t blocks, void* stream, uint8_t* x, uint8_t* z, uint32_t n, uint32_t m, int32_t what);
extern "C" void vector_do(int32_t kernel, uint32_t blocks, void* stream, uint8_t* x, uint8_t* z, uint32_t n, uint32_t m, int32_t what);

template <auto run> at::Tensor call(const at::Tensor& x, int64_t kernel, int64_t blocks, int64_t what, int64_t size) {
    at::Tensor z = at::zeros({size}, x.options());
    run(static_cast<int32_t>(kernel), static_cast<uint32_t>(blocks), c10_npu::getCurrentNPUStream().stream(false), static_cast<uint8_t*>(x.data_ptr()),
        static_cast<uint8_t*>(z.data_ptr()), static_cast<uint32_t>(x.numel()), static_cast<uint32_t>(size), static_cast<int32_t>(what));
    return z;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("mix", &call<mix_do>);
    m.def("vector", &call<vector_do>);
}
