#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

// A tiling that is known when the kernel is compiled, the asynchronous form of IterateAll, and results that are quantised.
namespace {
using Half = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using Float = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using Byte = MatmulType<TPosition::GM, CubeFormat::ND, int8_t>;
using Integer = MatmulType<TPosition::GM, CubeFormat::ND, int32_t>;
constexpr MatmulShapeParams kShape{64, 64, 64, 32, 32, 32};
constexpr MatmulConfig kConfig = GetMMConfig<MatmulConfigMode::CONFIG_MDL>(kShape);
constexpr MatmulApiStaticTiling kTiling = GetMatmulApiTiling<Half, Half, Float, Float>(kConfig);
}  // namespace

extern "C" __global__ __aicore__ void constants(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t m, int32_t n, int32_t k) {
    TPipe pipe;
    Matmul<Half, Half, Float, Float, kTiling> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, static_cast<TCubeTiling*>(nullptr));
    if (GetBlockIdx() > 0) return;
    GlobalTensor<half> left, right;
    GlobalTensor<float> out;
    left.SetGlobalBuffer((__gm__ half*)a);
    right.SetGlobalBuffer((__gm__ half*)b);
    out.SetGlobalBuffer((__gm__ float*)c);
    mm.SetOrgShape(m, n, k);
    mm.SetSingleShape(m, n, k);
    mm.SetTensorA(left);
    mm.SetTensorB(right);
    mm.IterateAll<false>(out, 0, false, true);
    mm.WaitIterateAll();
    mm.End();
}

extern "C" __global__ __aicore__ void quantised(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR scales, int32_t m, int32_t n, int32_t k, int32_t byColumn) {
    TCubeTiling t = {};
    t.usedCoreNum = 1;
    t.M = t.singleCoreM = m, t.N = t.singleCoreN = n, t.Ka = t.Kb = t.singleCoreK = k;
    t.baseM = t.baseN = t.baseK = 32;
    t.depthA1 = t.depthB1 = t.stepM = t.stepN = t.stepKa = t.stepKb = t.dbL0A = t.dbL0B = t.dbL0C = 1;
    TPipe pipe;
    Matmul<Byte, Byte, MatmulType<TPosition::GM, CubeFormat::ND, half>, Integer, CFG_MDL> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm);
    if (GetBlockIdx() > 0) return;
    mm.Init(&t, &pipe);
    GlobalTensor<int8_t> left, right;
    GlobalTensor<half> out;
    GlobalTensor<uint64_t> words;
    left.SetGlobalBuffer((__gm__ int8_t*)a);
    right.SetGlobalBuffer((__gm__ int8_t*)b);
    out.SetGlobalBuffer((__gm__ half*)c);
    words.SetGlobalBuffer((__gm__ uint64_t*)scales);
    if (byColumn) mm.SetQuantVector(words);
    else mm.SetQuantScalar(words.GetValue(0));
    mm.SetTensorA(left);
    mm.SetTensorB(right);
    mm.DisableBias();
    mm.IterateAll(out);
    mm.End();
}

extern "C" void constants_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* c, int32_t m, int32_t n, int32_t k) {
    constants<<<1, nullptr, stream>>>(a, b, c, m, n, k);
}
extern "C" void quantised_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* c, uint8_t* scales, int32_t m, int32_t n, int32_t k, int32_t byColumn) {
    quantised<<<1, nullptr, stream>>>(a, b, c, scales, m, n, k, byColumn);
}
