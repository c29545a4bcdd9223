#include <torch/extension.h>

#include "acl/acl.h"
#include "aclrtlaunch_plus_one.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void cast_do(int pair, void* stream, uint8_t* x, uint8_t* z, uint32_t n, int32_t mode);
extern "C" void elementwise_do(int is_half, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, uint32_t n, int32_t op, float scalar);
extern "C" void reduce_do(int is_half, void* stream, uint8_t* x, uint8_t* z, uint32_t n, int32_t op);
extern "C" void machine_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* z, uint32_t n, int32_t what);

namespace {
uint8_t* address(const at::Tensor& tensor) { return static_cast<uint8_t*>(tensor.data_ptr()); }
void* stream() { return c10_npu::getCurrentNPUStream().stream(false); }

at::Tensor cast(const at::Tensor& x, int64_t pair, at::ScalarType type, int64_t mode) {
    at::Tensor z = at::empty(x.sizes(), x.options().dtype(type));
    cast_do(static_cast<int>(pair), stream(), address(x), address(z), static_cast<uint32_t>(x.numel()), static_cast<int32_t>(mode));
    return z;
}
at::Tensor elementwise(const at::Tensor& x, const at::Tensor& y, int64_t op, double scalar) {
    TORCH_CHECK(x.sizes() == y.sizes() && x.dtype() == y.dtype(), "x and y differ: ", x.sizes(), " ", y.sizes());
    at::Tensor z = at::empty_like(x);
    elementwise_do(x.scalar_type() == at::kHalf, stream(), address(x), address(y), address(z), static_cast<uint32_t>(x.numel()),
                   static_cast<int32_t>(op), static_cast<float>(scalar));
    return z;
}
at::Tensor reduce(const at::Tensor& x, int64_t op) {
    at::Tensor z = at::zeros({512}, x.options());
    reduce_do(x.scalar_type() == at::kHalf, stream(), address(x), address(z), static_cast<uint32_t>(x.numel()), static_cast<int32_t>(op));
    return z;
}
at::Tensor machine(const at::Tensor& x, int64_t blocks, int64_t what) {
    at::Tensor z = at::zeros_like(x);
    machine_do(static_cast<uint32_t>(blocks), stream(), address(x), address(z), static_cast<uint32_t>(x.numel()), static_cast<int32_t>(what));
    return z;
}
at::Tensor launch_plus_one(const at::Tensor& x) {
    at::Tensor z = torch::empty_like(x);
    ACLRT_LAUNCH_KERNEL(plus_one)(1, stream(), const_cast<void*>(x.storage().data()), z.data_ptr(), static_cast<uint32_t>(x.numel()));
    return z;
}
std::tuple<std::vector<int64_t>, int64_t, bool> facts(const at::Tensor& x, const c10::optional<at::Tensor>& maybe) {
    return {x.strides().vec(), x.element_size(), maybe.has_value() && maybe->defined()};
}
}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("cast", &cast);
    m.def("elementwise", &elementwise);
    m.def("reduce", &reduce);
    m.def("machine", &machine);
    m.def("plus_one", &launch_plus_one, "through ACLRT_LAUNCH_KERNEL");
    m.def("facts", &facts, py::arg("x"), py::arg("maybe") = py::none());
}
