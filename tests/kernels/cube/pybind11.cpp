#include <torch/extension.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void matmul_do(uint32_t blockDim, void* stream, uint8_t* a, uint8_t* b, uint8_t* bias, uint8_t* c, uint8_t* request, int32_t types);
extern "C" void units_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* bias, uint8_t* c, uint8_t* scales, uint8_t* request, int32_t types);

namespace {
uint8_t* address(const at::Tensor& tensor) { return static_cast<uint8_t*>(tensor.data_ptr()); }
void* stream() { return c10_npu::getCurrentNPUStream().stream(false); }

void matmul(int64_t blockDim, const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias, const at::Tensor& c, const at::Tensor& request, int64_t types) {
    matmul_do(static_cast<uint32_t>(blockDim), stream(), address(a), address(b), address(bias), address(c), address(request), static_cast<int32_t>(types));
}
void units(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias, const at::Tensor& c, const at::Tensor& scales, const at::Tensor& request,
           int64_t types) {
    units_do(stream(), address(a), address(b), address(bias), address(c), address(scales), address(request), static_cast<int32_t>(types));
}
}  // namespace

PYBIND11_MODULE(_cube_kernels_ext, m) {
    m.def("matmul", &matmul);
    m.def("units", &units);
}
