// The cube through the Matmul object, with vector work on its blocks: LeakyRelu(x y), rows dealt out to the vector cores.
#include "common.h"
#include "lib/matmul_intf.h"

using namespace matmul;

constexpr uint32_t BASE = 32;  // rows of a block

// rows x extra times extra x columns; columns and extra: multiples of 16 that fit one block.
extern "C" __global__ __aicore__ void matmul_leaky_relu(KERNEL_ARGUMENTS)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    TCubeTiling tiling;
    tiling.usedCoreNum = CeilDiv(shape.rows, BASE);
    tiling.M = shape.rows;
    tiling.N = shape.columns;
    tiling.Ka = tiling.Kb = shape.extra;
    tiling.singleCoreM = tiling.baseM = BASE;
    tiling.singleCoreN = tiling.baseN = shape.columns;
    tiling.singleCoreK = tiling.baseK = shape.extra;
    tiling.depthA1 = tiling.depthB1 = tiling.stepM = tiling.stepN = tiling.stepKa = tiling.stepKb = 1;
    tiling.dbL0A = tiling.dbL0B = 2;
    tiling.dbL0C = 1;
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
           MatmulType<TPosition::VECIN, CubeFormat::ND, float>>
        mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
    const uint32_t first = GetBlockIdx() * BASE;
    if (first >= shape.rows) return;
    GlobalTensor<half> xGm, yGm;
    GlobalTensor<float> zGm;
    xGm.SetGlobalBuffer((__gm__ half *)x, shape.rows * shape.extra);
    yGm.SetGlobalBuffer((__gm__ half *)y, shape.extra * shape.columns);
    zGm.SetGlobalBuffer((__gm__ float *)z, shape.rows * shape.columns);
    TQue<QuePosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(outQueue, 1, BASE * shape.columns * sizeof(float));
    const uint32_t rows = shape.rows - first < BASE ? shape.rows - first : BASE;
    mm.SetTensorA(xGm[first * shape.extra]);
    mm.SetTensorB(yGm);
    mm.SetTail(rows);
    while (mm.template Iterate<true>()) {
        LocalTensor<float> block = outQueue.AllocTensor<float>();
        mm.template GetTensorC<true>(block, false, true);
        LeakyRelu(block, block, shape.scalar, rows * shape.columns);
        outQueue.EnQue(block);
        block = outQueue.DeQue<float>();
        DataCopy(zGm[first * shape.columns], block, rows * shape.columns);
        outQueue.FreeTensor(block);
    }
    mm.End();
}

extern "C" void matmul_do(int32_t which, uint32_t blockDim, void *stream, KERNEL_ARGUMENTS)
{
    matmul_leaky_relu<<<blockDim, nullptr, stream>>>(LAUNCH_ARGUMENTS);
}
