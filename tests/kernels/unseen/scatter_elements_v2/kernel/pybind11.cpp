#include <torch/extension.h>
#include <string>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
#define DECLARE(s) extern "C" void scatter_##s##_do(uint32_t n, void* st, uint8_t* a, uint8_t* b, uint8_t* c, uint8_t* d, int32_t o, int32_t x, int32_t xi, int32_t in, int32_t add);
DECLARE(f32) DECLARE(f16) DECLARE(bf16) DECLARE(i32)
at::Tensor scatter_elements(const at::Tensor& self, const at::Tensor& index, const at::Tensor& updates, int64_t axis, std::string reduction)
{
    if (axis < 0) axis += self.dim();
    int32_t outer = 1, inner = 1;
    for (int64_t d = 0; d < axis; ++d) outer *= self.size(d);
    for (int64_t d = axis + 1; d < self.dim(); ++d) inner *= self.size(d);
    at::Tensor out = at::empty_like(self);
    auto st = c10_npu::getCurrentNPUStream().stream(false);
    auto p = [](const at::Tensor& t) { return (uint8_t*)t.data_ptr(); };
    using Fn = void (*)(uint32_t, void*, uint8_t*, uint8_t*, uint8_t*, uint8_t*, int32_t, int32_t, int32_t, int32_t, int32_t);
    Fn fn = nullptr;
    auto type = self.scalar_type();
    if (type == at::kFloat) fn = scatter_f32_do;
    else if (type == at::kHalf) fn = scatter_f16_do;
    else if (type == at::kBFloat16) fn = scatter_bf16_do;
    else if (type == at::kInt) fn = scatter_i32_do;
    TORCH_CHECK(fn, "unsupported dtype");
    fn(8, st, p(self), p(index), p(updates), p(out), outer, self.size(axis), index.size(axis), inner, reduction == "add");
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scatter_elements", &scatter_elements); }
