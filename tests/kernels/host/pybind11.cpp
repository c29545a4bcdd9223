#include <torch/extension.h>
#include <torch/library.h>

#include "forms_tiling.h"
#include "scale_tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

void scale_do(uint32_t blocks, void* stream, uint8_t* x, uint8_t* z, uint8_t* tiling);
void forms_do(void* stream, uint8_t* z, uint8_t* tiling, FormsTiling by_value, int32_t form);

namespace {
at::Tensor scale(const at::Tensor& x, double factor) {
    optiling::ScaleTilingData data;
    data.set_factor(static_cast<float>(factor));
    data.shape.set_total(x.numel());
    data.shape.set_odd(1);
    data.softmax.set_srcK(20);
    uint32_t lengths[6] = {};
    for (int64_t i = 0; i < x.numel(); ++i) ++lengths[i % 4];
    data.set_lengths(lengths);
    TORCH_CHECK(data.get_lengths()[0] == lengths[0] && data.get_factor() == static_cast<float>(factor), "getters");
    at::Tensor buffer = at::zeros({static_cast<int64_t>(data.GetDataSize())}, at::kByte);
    data.SaveToBuffer(buffer.data_ptr(), buffer.numel());
    at::Tensor z = at::empty_like(x);
    scale_do(4, c10_npu::getCurrentNPUStream().stream(), (uint8_t*)x.data_ptr(), (uint8_t*)z.data_ptr(), (uint8_t*)buffer.data_ptr());
    return z;
}
int64_t form(int64_t which) {
    at::Tensor z = at::zeros({8}, at::kInt);
    at::Tensor buffer = at::zeros({2}, at::kInt);
    buffer.data_ptr<int32_t>()[1] = 42;
    forms_do(nullptr, (uint8_t*)z.data_ptr(), (uint8_t*)buffer.data_ptr(), FormsTiling{1, 42}, static_cast<int32_t>(which));
    return z.data_ptr<int32_t>()[0];
}
at::Tensor too_short() {
    at::Tensor z = at::zeros({8}, at::kInt);
    at::Tensor buffer = at::zeros({4}, at::kByte);
    forms_do(nullptr, (uint8_t*)z.data_ptr(), (uint8_t*)buffer.data_ptr(), FormsTiling{}, 0);
    return z;
}
at::Tensor ones_of(const at::Tensor& x, const c10::optional<at::Tensor>& other, at::IntArrayRef shape, double value) {
    return at::full(shape, other.has_value() ? value : -value, x.options());
}
std::string dispatched(const at::Tensor& x) {
    std::string name;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "dispatched", [&] {
        name = std::to_string(sizeof(scalar_t)) + (std::is_same_v<scalar_t, float> ? "f" : "");
    });
    return name;
}
}  // namespace

TORCH_LIBRARY(opmend_host_test, m) {
    m.def("scale(Tensor x, float factor) -> Tensor");
    m.def("ones_of", &ones_of);
}
TORCH_LIBRARY_IMPL(opmend_host_test, PrivateUse1, m) { m.impl("scale", TORCH_FN(scale)); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("scale", &scale);
    m.def("form", &form);
    m.def("too_short", &too_short);
    m.def("dispatched", &dispatched);
}
