#include <torch/extension.h>

#include <algorithm>

#include "acl/acl.h"
#include "inplace_index_add_with_sorted_tiling.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void index_add_do(uint32_t blockDim, void *stream, uint8_t *var, uint8_t *value, uint8_t *indices,
                             uint8_t *pos, uint8_t *alpha, uint8_t *out, IndexAddTiling tiling, int32_t dtype);

namespace {

constexpr int64_t CORE_NUM = 20;

int32_t DtypeCode(at::ScalarType type)
{
    if (type == at::kFloat) {
        return 0;
    }
    if (type == at::kHalf) {
        return 1;
    }
    TORCH_CHECK(type == at::kInt, "inplace_index_add_with_sorted: float32, float16 and int32 are supported");
    return 2;
}

uint8_t *Address(const at::Tensor &tensor)
{
    return static_cast<uint8_t *>(tensor.data_ptr());
}

}  // namespace

at::Tensor run_inplace_index_add_with_sorted(const at::Tensor &var, const at::Tensor &value,
                                             const at::Tensor &sortedIndices, const at::Tensor &pos,
                                             const c10::optional<at::Tensor> &alpha, int64_t axis)
{
    TORCH_CHECK(var.scalar_type() == value.scalar_type(), "inplace_index_add_with_sorted: var and value differ in dtype");
    TORCH_CHECK(sortedIndices.scalar_type() == at::kInt && pos.scalar_type() == at::kInt,
                "inplace_index_add_with_sorted: indices and pos must be int32");
    TORCH_CHECK(var.is_contiguous() && value.is_contiguous(), "inplace_index_add_with_sorted: inputs must be contiguous");
    TORCH_CHECK(var.dim() == value.dim(), "inplace_index_add_with_sorted: var and value differ in rank");
    at::ScalarType alphaType = var.scalar_type() == at::kInt ? at::kInt : at::kFloat;
    TORCH_CHECK(!alpha.has_value() || alpha->scalar_type() == alphaType,
                "inplace_index_add_with_sorted: wrong dtype of alpha");

    int64_t dim = axis < 0 ? axis + var.dim() : axis;
    TORCH_CHECK(dim >= 0 && dim < var.dim(), "inplace_index_add_with_sorted: axis is out of range");
    IndexAddTiling tiling{1, var.size(dim), 1, 1, sortedIndices.numel(), alpha.has_value() ? 1 : 0};
    for (int64_t d = 0; d < var.dim(); ++d) {
        if (d < dim) {
            // Only the first dimension may be shorter in value: its leading part is then a prefix of the rows.
            TORCH_CHECK(value.size(d) == var.size(d) || (d == 0 && value.size(d) < var.size(d)),
                        "inplace_index_add_with_sorted: value does not fit var");
            tiling.outer *= var.size(d);
            tiling.valueOuter *= value.size(d);
        } else if (d > dim) {
            TORCH_CHECK(value.size(d) == var.size(d), "inplace_index_add_with_sorted: value does not fit var");
            tiling.inner *= var.size(d);
        }
    }
    TORCH_CHECK(value.size(dim) == tiling.indexCount && pos.numel() == tiling.indexCount,
                "inplace_index_add_with_sorted: one index and one position for each slice of value");

    at::Tensor out = at::empty_like(var);
    if (out.numel() == 0) {
        return out;
    }
    uint32_t blockDim = static_cast<uint32_t>(std::min(CORE_NUM, tiling.outer * tiling.axisLength));
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    index_add_do(blockDim, stream, Address(var), Address(value), Address(sortedIndices), Address(pos),
                 alpha.has_value() ? Address(*alpha) : nullptr, Address(out), tiling, DtypeCode(var.scalar_type()));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("run_inplace_index_add_with_sorted", &run_inplace_index_add_with_sorted,
          "var with alpha * value added at sorted indices");
}
