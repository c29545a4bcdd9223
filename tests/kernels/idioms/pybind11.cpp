#include <torch/extension.h>

#include <map>

#include "torch_npu/csrc/core/npu/NPUStream.h"

struct Shape {
    uint32_t rows, columns, extra;
    float scalar;
};
using Launcher = void(int32_t which, uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *z, uint8_t *workspace, Shape shape);
extern "C" Launcher elementwise_do, rows_do, movement_do, cores_do, matmul_do;

void run(const std::string &group, int64_t which, int64_t blocks, const at::Tensor &x, const at::Tensor &y, const at::Tensor &z,
         const at::Tensor &workspace, int64_t rows, int64_t columns, int64_t extra, double scalar)
{
    const std::map<std::string, Launcher *> groups = {
        {"elementwise", elementwise_do}, {"rows", rows_do}, {"movement", movement_do}, {"cores", cores_do}, {"matmul", matmul_do}};
    auto address = [](const at::Tensor &tensor) { return static_cast<uint8_t *>(tensor.data_ptr()); };
    groups.at(group)(static_cast<int32_t>(which), static_cast<uint32_t>(blocks), c10_npu::getCurrentNPUStream().stream(false), address(x), address(y),
                     address(z), address(workspace),
                     Shape{static_cast<uint32_t>(rows), static_cast<uint32_t>(columns), static_cast<uint32_t>(extra), static_cast<float>(scalar)});
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
