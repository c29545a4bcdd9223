#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void square(GM_ADDR x, GM_ADDR z, uint32_t n) {
    const uint32_t mine = n / GetBlockNum(), first = mine * GetBlockIdx();
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x + first, mine);
    gz.SetGlobalBuffer((__gm__ float*)z + first, mine);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, mine * sizeof(float));
    pipe.InitBuffer(out, 1, mine * sizeof(float));
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, gx, mine);
    in.EnQue(a);
    a = in.DeQue<float>();
    LocalTensor<float> b = out.AllocTensor<float>();
    Mul(b, a, a, mine);
    out.EnQue(b);
    b = out.DeQue<float>();
    DataCopy(gz, b, mine);
    in.FreeTensor(a);
    out.FreeTensor(b);
}
