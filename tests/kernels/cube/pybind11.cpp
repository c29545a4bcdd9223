#include <torch/extension.h>

#include "acl/acl.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void matmul_do(uint32_t blockDim, void* stream, uint8_t* a, uint8_t* b, uint8_t* bias, uint8_t* c, uint8_t* request, int32_t types);
extern "C" void units_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* bias, uint8_t* c, uint8_t* scales, uint8_t* request, int32_t types);
extern "C" void fused_relu_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* c, uint8_t* workspace, int32_t m, int32_t n, int32_t k);
extern "C" void cube_only_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* c, int32_t m, int32_t n, int32_t k);
extern "C" void constants_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* c, int32_t m, int32_t n, int32_t k);
extern "C" void quantised_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* c, uint8_t* scales, int32_t m, int32_t n, int32_t k, int32_t byColumn);

namespace {
uint8_t* address(const at::Tensor& tensor) { return static_cast<uint8_t*>(tensor.data_ptr()); }
void* stream() { return c10_npu::getCurrentNPUStream().stream(false); }

void matmul(int64_t blockDim, const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias, const at::Tensor& c, const at::Tensor& request,
            int64_t types) {
    matmul_do(static_cast<uint32_t>(blockDim), stream(), address(a), address(b), address(bias), address(c), address(request),
              static_cast<int32_t>(types));
}
// The host's tiling, as an operator's host side asks for it. kind: 0 half, 1 float, 2 int8. dim 0: one core's tiling. Returns what GetTiling did.
int64_t plan(const at::Tensor& out, int64_t m, int64_t n, int64_t k, int64_t kind, int64_t dim, bool bias, int64_t baseM, int64_t baseN,
             int64_t baseK) {
    using namespace matmul_tiling;
    const DataType type = kind == 0 ? DataType::DT_FLOAT16 : kind == 1 ? DataType::DT_FLOAT : DataType::DT_INT8;
    const auto set = [&](MatmulApiTilingBase& tiling) {
        tiling.SetAType(TPosition::GM, CubeFormat::ND, type);
        tiling.SetBType(TPosition::GM, CubeFormat::ND, type);
        tiling.SetCType(TPosition::GM, CubeFormat::ND, kind == 2 ? DataType::DT_INT32 : DataType::DT_FLOAT);
        tiling.SetBiasType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
        tiling.SetOrgShape(static_cast<int32_t>(m), static_cast<int32_t>(n), static_cast<int32_t>(k));
        tiling.SetShape(static_cast<int32_t>(m), static_cast<int32_t>(n), static_cast<int32_t>(k));
        tiling.SetBias(bias);
        tiling.SetTraverse(MatrixTraverse::FIRSTM);
        tiling.SetFixSplit(static_cast<int32_t>(baseM), static_cast<int32_t>(baseN), static_cast<int32_t>(baseK));
        tiling.SetBufferSpace(-1, -1, -1);
    };
    optiling::TCubeTiling data;
    int64_t done = -1;
    if (dim) {
        MultiCoreMatmulTiling tiling(*platform_ascendc::PlatformAscendCManager::GetInstance());
        tiling.SetDim(static_cast<int32_t>(dim));
        set(tiling);
        done = tiling.GetTiling(data);
    } else {
        MatmulApiTiling tiling(*platform_ascendc::PlatformAscendCManager::GetInstance());
        set(tiling);
        done = tiling.GetTiling(data);
    }
    data.SaveToBuffer(address(out), static_cast<size_t>(out.numel()) * 4);
    return done;
}

void units(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias, const at::Tensor& c, const at::Tensor& scales, const at::Tensor& request,
           int64_t types) {
    units_do(stream(), address(a), address(b), address(bias), address(c), address(scales), address(request), static_cast<int32_t>(types));
}
void fused_relu(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& workspace) {
    fused_relu_do(stream(), address(a), address(b), address(c), address(workspace), static_cast<int32_t>(a.size(0)), static_cast<int32_t>(b.size(1)),
                  static_cast<int32_t>(a.size(1)));
}
void cube_only(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
    cube_only_do(stream(), address(a), address(b), address(c), static_cast<int32_t>(a.size(0)), static_cast<int32_t>(b.size(1)),
                 static_cast<int32_t>(a.size(1)));
}
void constants(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
    constants_do(stream(), address(a), address(b), address(c), static_cast<int32_t>(a.size(0)), static_cast<int32_t>(b.size(1)),
                 static_cast<int32_t>(a.size(1)));
}
void quantised(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& scales) {
    quantised_do(stream(), address(a), address(b), address(c), address(scales), static_cast<int32_t>(a.size(0)), static_cast<int32_t>(b.size(1)),
                 static_cast<int32_t>(a.size(1)), scales.numel() > 1);
}
}  // namespace

PYBIND11_MODULE(_cube_kernels_ext, m) {
    m.def("matmul", &matmul);
    m.def("plan", &plan);
    m.def("fused_relu", &fused_relu);
    m.def("cube_only", &cube_only);
    m.def("constants", &constants);
    m.def("quantised", &quantised);
    m.def("units", &units);
}
