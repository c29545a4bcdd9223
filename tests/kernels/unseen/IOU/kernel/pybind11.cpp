#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
extern "C" void iou_custom_do(uint32_t blockDim, void *stream, uint8_t *b, uint8_t *g, uint8_t *o, uint32_t nb, uint32_t ng, uint32_t key);
#define PTR(t) reinterpret_cast<uint8_t *>((t).data_ptr())
at::Tensor iou(const at::Tensor &boxes, const at::Tensor &gts, int64_t mode)
{
    TORCH_CHECK(boxes.dim() == 2 && boxes.size(1) == 4);
    TORCH_CHECK(gts.dim() == 2 && gts.size(1) == 4);
    auto nb = static_cast<uint32_t>(boxes.size(0)), ng = static_cast<uint32_t>(gts.size(0));
    at::Tensor out = at::empty({ng, nb}, boxes.options());
    uint32_t key = (boxes.scalar_type() == at::ScalarType::Half ? 2 : 0) + (mode == 1 ? 1 : 0);
    iou_custom_do(4, c10_npu::getCurrentNPUStream().stream(false), PTR(boxes), PTR(gts), PTR(out), nb, ng, key);
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("iou", &iou, "iou", pybind11::arg("bboxes"), pybind11::arg("gtboxes"), pybind11::arg("mode") = 0); }
