// As an operator project's kernel: it includes nothing of the host's, and GET_TILING_DATA is in a class.
#include "kernel_operator.h"
using namespace AscendC;

class Scale {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR z, GM_ADDR tiling) {
        GET_TILING_DATA(data, tiling);
        factor = data.factor;
        uint32_t start = 0;
        for (int64_t i = 0; i < GetBlockIdx(); ++i) start += data.lengths[i];
        length = data.lengths[GetBlockIdx()];
        total = data.shape.total + data.shape.odd + data.softmax.srcK;
        gx.SetGlobalBuffer((__gm__ float*)x + start, length);
        gz.SetGlobalBuffer((__gm__ float*)z + start, length);
        pipe.InitBuffer(in, 1, 256);
        pipe.InitBuffer(out, 1, 256);
    }
    __aicore__ inline void Process(float extra) {
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopyPad(a, gx, DataCopyExtParams(1, length * sizeof(float), 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0.0f));
        in.EnQue(a);
        a = in.DeQue<float>();
        LocalTensor<float> b = out.AllocTensor<float>();
        Muls(b, a, factor, length);
        Adds(b, b, extra + (float)total, length);
        out.EnQue(b);
        b = out.DeQue<float>();
        DataCopyPad(gz, b, DataCopyExtParams(1, length * sizeof(float), 0, 0, 0));
        in.FreeTensor(a);
        out.FreeTensor(b);
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    GlobalTensor<float> gx, gz;
    float factor;
    uint32_t length;
    int64_t total;
};

extern "C" __global__ __aicore__ void scale_custom(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
    Scale op;
    op.Init(x, z, tiling);
    if (TILING_KEY_IS(7)) {
        op.Process(1000.0f);
    } else {
        op.Process(0.0f);
    }
}
#ifndef __CCE_KT_TEST__
void scale_do(uint32_t blocks, void* stream, uint8_t* x, uint8_t* z, uint8_t* tiling) {
    scale_custom<<<blocks, nullptr, stream>>>(x, z, nullptr, tiling);
}
#endif
