#include <torch/extension.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void cast_do(int pair, void* stream, uint8_t* x, uint8_t* z, uint32_t n, int32_t mode, float scale);
extern "C" void lanes_do(int type, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, uint32_t n, int32_t op, float scalar);
extern "C" void forms_do(int op, void* stream, uint8_t* x, uint8_t* y, uint8_t* w, uint8_t* z, uint32_t nx, uint32_t ny, uint32_t nw, uint32_t nz, int32_t p, int32_t q);

namespace {
uint8_t* address(const at::Tensor& tensor) { return static_cast<uint8_t*>(tensor.data_ptr()); }
void* stream() { return c10_npu::getCurrentNPUStream().stream(false); }
uint32_t bytes(const at::Tensor& tensor) { return static_cast<uint32_t>(tensor.numel() * tensor.element_size()); }

void cast(const at::Tensor& x, const at::Tensor& z, int64_t pair, int64_t mode, double scale) {
    cast_do(static_cast<int>(pair), stream(), address(x), address(z), static_cast<uint32_t>(x.numel()), static_cast<int32_t>(mode), static_cast<float>(scale));
}
void lanes(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, int64_t type, int64_t op, double scalar) {
    lanes_do(static_cast<int>(type), stream(), address(x), address(y), address(z), static_cast<uint32_t>(x.numel()), static_cast<int32_t>(op), static_cast<float>(scalar));
}
void forms(int64_t op, const at::Tensor& x, const at::Tensor& y, const at::Tensor& w, const at::Tensor& z, int64_t p, int64_t q) {
    forms_do(static_cast<int>(op), stream(), address(x), address(y), address(w), address(z), bytes(x), bytes(y), bytes(w), bytes(z), static_cast<int32_t>(p), static_cast<int32_t>(q));
}
}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("cast", &cast);
    m.def("lanes", &lanes);
    m.def("forms", &forms);
}
