#include <torch/extension.h>
#include <torch/library.h>
#include <torch/csrc/autograd/custom_function.h>
#include "pytorch_npu_helper.hpp"

at::Tensor add_tail_impl_npu(const at::Tensor& x, const at::Tensor& y) {
    at::Tensor result = at::empty_like(x);
    EXEC_NPU_CMD(aclnnAddTailCustom, x, y, result);
    return result;
}

at::Tensor softmax_rows_impl_npu(const at::Tensor& x) {
    auto output = at::empty(x.sizes(), x.options());
    EXEC_NPU_CMD(aclnnSoftmaxRowsCustom, x, output);
    return output;
}

at::Tensor gelu_blend_impl_npu(const at::Tensor& x, const c10::optional<at::Tensor>& bias, double blend, int64_t tile, bool exact,
                               std::string mode, std::vector<int64_t> window) {
    at::Tensor y = at::empty_like(x);
    at::IntArrayRef ends(window);
    EXEC_NPU_CMD(aclnnGeluBlendCustom, x, bias, blend, tile, exact, mode.c_str(), ends, y);
    return y;
}

at::Tensor reduce_all_impl_npu(const at::Tensor& x) {
    at::Tensor sum = at::empty({1}, x.options());
    EXEC_NPU_CMD(aclnnReduceAllCustom, x, sum);
    return sum;
}

at::Tensor matmul_leaky_impl_npu(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
    at::Tensor c = at::empty({a.size(0), b.size(1)}, at::TensorOptions().dtype(at::kFloat).device(a.device()));
    EXEC_NPU_CMD(aclnnMatmulLeakyCustom, a, b, bias, c);
    return c;
}

at::Tensor leaky_scale_impl_npu(const at::Tensor& self, double negative_slope) {
    at::Tensor result = at::empty_like(self);
    EXEC_NPU_CMD(aclnnLeakyScaleCustom, self, negative_slope, result);
    return result;
}

TORCH_LIBRARY_IMPL(opmend_operators_test, PrivateUse1, m) { m.impl("leaky_scale", &leaky_scale_impl_npu); }

// Calls that a device refuses.
at::Tensor too_few(const at::Tensor& x) {
    at::Tensor z = at::empty_like(x);
    EXEC_NPU_CMD(aclnnAddTailCustom, x, z);
    return z;
}
at::Tensor built_in(const at::Tensor& x) {
    at::Tensor z = at::empty_like(x);
    EXEC_NPU_CMD(aclnnRelu, x, z);
    return z;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("add_tail", &add_tail_impl_npu, "x + y");
    m.def("softmax_rows", &softmax_rows_impl_npu, "softmax over the last dimension");
    m.def("gelu_blend", &gelu_blend_impl_npu, py::arg("x"), py::arg("bias") = c10::optional<at::Tensor>(), py::arg("blend") = 1.0, py::arg("tile") = 64,
          py::arg("exact") = false, py::arg("mode") = "tanh", py::arg("window") = std::vector<int64_t>{0, 1});
    m.def("reduce_all", &reduce_all_impl_npu, "sum of all elements");
    m.def("matmul_leaky", &matmul_leaky_impl_npu, "leaky_relu(a @ b + bias)");
    m.def("leaky_scale", &leaky_scale_impl_npu, "leaky_relu(x)");
    m.def("too_few", &too_few);
    m.def("built_in", &built_in);
}
