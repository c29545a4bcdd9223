#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "dsq_tiling.h"
void dsq_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* ws, uint8_t* as, uint8_t* qs, uint8_t* y, uint8_t* scale, uint8_t* tiling);

std::vector<at::Tensor> dequant_swiglu_quant(const at::Tensor& x, const at::Tensor& ws, const at::Tensor& as, c10::optional<at::Tensor> bias, c10::optional<at::Tensor> qs, bool left)
{
    TORCH_CHECK(!bias.has_value(), "bias is not supported");
    int64_t H = x.size(1) / 2;
    auto y = at::empty({x.size(0), H}, x.options().dtype(at::kChar));
    auto scale = at::empty({x.size(0)}, x.options().dtype(at::kFloat));
    DsqTiling t{};
    t.rows = x.size(0);
    t.half_cols = H;
    t.half_align = (H + 31) / 32 * 32;
    t.has_quant = qs.has_value();
    t.activate_left = left;
    t.quant_type = 0;
    uint8_t* q = nullptr;
    if (qs.has_value()) {
        q = (uint8_t*)qs.value().data_ptr();
        t.quant_type = qs->scalar_type() == at::kFloat ? 0 : qs->scalar_type() == at::kHalf ? 1 : 2;
    }
    auto tiling = at::from_blob(&t, {(int64_t)sizeof(t)}, at::kByte).clone().to(x.device());
    dsq_do(std::min<uint32_t>(t.rows, 24), c10_npu::getCurrentNPUStream().stream(false), (uint8_t*)x.data_ptr(), (uint8_t*)ws.data_ptr(), (uint8_t*)as.data_ptr(), q, (uint8_t*)y.data_ptr(), (uint8_t*)scale.data_ptr(), (uint8_t*)tiling.data_ptr());
    return {y, scale};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("dequant_swiglu_quant", &dequant_swiglu_quant, "", py::arg("x"), py::arg("weight_scale"), py::arg("activation_scale"), py::arg("bias") = py::none(), py::arg("quant_scale") = py::none(), py::arg("activate_left") = false);
}
