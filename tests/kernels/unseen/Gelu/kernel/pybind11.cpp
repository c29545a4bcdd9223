#include <pybind11/pybind11.h>
#include <torch/extension.h>
#include "aclrtlaunch_gelu_f32.h"
#include "aclrtlaunch_gelu_f16.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
namespace my_gelu {
at::Tensor gelu(const at::Tensor& x)
{
    auto acl_stream = c10_npu::getCurrentNPUStream().stream(false);
    at::Tensor y = at::empty_like(x);
    uint32_t blockDim = 8;
    int64_t total = 1;
    for (auto s : x.sizes()) {
        total *= s;
    }
    switch (x.scalar_type()) {
        case at::ScalarType::Float:
            ACLRT_LAUNCH_KERNEL(gelu_f32)(blockDim, acl_stream, x.data_ptr(), y.data_ptr(), total);
            break;
        case at::ScalarType::Half:
            ACLRT_LAUNCH_KERNEL(gelu_f16)(blockDim, acl_stream, const_cast<void*>(x.storage().data()), const_cast<void*>(y.storage().data()), total);
            break;
        default:
            TORCH_CHECK(false, "unsupported dtype ", x.scalar_type());
    }
    return y;
}
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.doc() = "gelu";
    m.def("gelu", &my_gelu::gelu, "gelu with tanh", py::arg("x"));
}
