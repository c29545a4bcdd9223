#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

// A kernel for cube cores alone, built as such and not marked: what runs it decides, and its vector cores end. No using-directive, as some samples.
extern "C" __global__ __aicore__ void cube_only(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t m, int32_t n, int32_t k) {
    using Operand = AscendC::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, half>;
    using Result = AscendC::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, float>;
    TCubeTiling t = {};
    t.usedCoreNum = 1;
    t.M = t.singleCoreM = m, t.N = t.singleCoreN = n, t.Ka = t.Kb = t.singleCoreK = k;
    t.baseM = 32, t.baseN = 64, t.baseK = 32;
    t.depthA1 = t.depthB1 = t.stepM = t.stepN = t.stepKa = t.stepKb = t.dbL0A = t.dbL0B = t.dbL0C = 1;
    AscendC::TPipe pipe;
    AscendC::GlobalTensor<half> left, right;
    AscendC::GlobalTensor<float> out;
    left.SetGlobalBuffer((__gm__ half*)a);
    right.SetGlobalBuffer((__gm__ half*)b);
    out.SetGlobalBuffer((__gm__ float*)c);
    AscendC::Matmul<Operand, Operand, Result> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    // Each block does the whole product once more on top: a vector core that took part would show.
    mm.SetTensorA(left);
    mm.SetTensorB(right);
    if (AscendC::GetBlockIdx() == 0) {
        mm.IterateAll(out, 1);
    } else {
        mm.SetBatchNum(1, 1);
        mm.IterateBatch(out, false, 1, false);
    }
    mm.End();
}

extern "C" void cube_only_do(void* stream, uint8_t* a, uint8_t* b, uint8_t* c, int32_t m, int32_t n, int32_t k) {
    cube_only<<<2, nullptr, stream>>>(a, b, c, m, n, k);
}
