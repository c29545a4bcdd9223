#include "rms_norm.hpp"
extern "C" __global__ __aicore__ void rms_norm_bf16(GM_ADDR x, GM_ADDR w, GM_ADDR y, RmsTiling t)
{
    AscendC::TPipe pipe;
    RmsNorm<bfloat16_t, 1> op;
    op.Init(x, w, y, t, &pipe);
    op.Process();
}
void rms_norm_bf16_do(uint32_t b, void* s, uint8_t* x, uint8_t* w, uint8_t* y, const RmsTiling& t)
{
    rms_norm_bf16<<<b, nullptr, s>>>(x, w, y, t);
}
