#include <torch/extension.h>
#include "aclrtlaunch_bmm_float.h"
#include "aclrtlaunch_bmm_half.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
at::Tensor bmm(const at::Tensor& a, const at::Tensor& b)
{
    TORCH_CHECK(a.dim() == 3 && b.dim() == 3, "3-D");
    auto c = at::empty({a.size(0), a.size(1), b.size(2)}, a.options());
    aclrtStream stream = c10_npu::getCurrentNPUStream().stream(false);
    int32_t bt = a.size(0), m = a.size(1), k = a.size(2), n = b.size(2);
    if (a.scalar_type() == at::kHalf) {
        ACLRT_LAUNCH_KERNEL(bmm_half)(20, stream, a.data_ptr(), b.data_ptr(), c.data_ptr(), bt, m, k, n);
    } else {
        ACLRT_LAUNCH_KERNEL(bmm_float)(20, stream, a.data_ptr(), b.data_ptr(), c.data_ptr(), bt, m, k, n);
    }
    return c;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("bmm", &bmm, "batched matmul"); }
