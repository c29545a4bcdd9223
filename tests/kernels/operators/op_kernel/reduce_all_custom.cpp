#include "kernel_operator.h"
using namespace AscendC;

class Reduction {
public:
    __aicore__ inline void Init(TPipe* pipe, GM_ADDR x, uint32_t first, uint32_t count)
    {
        this->count = count;
        xGm.SetGlobalBuffer((__gm__ float*)x + first, count);
        pipe->InitBuffer(inBuf, TILE * sizeof(float));
        pipe->InitBuffer(workBuf, TILE * sizeof(float));
        pipe->InitBuffer(outBuf, 32);
    }
    __aicore__ inline float Sum()
    {
        LocalTensor<float> in = inBuf.Get<float>(), work = workBuf.Get<float>(), out = outBuf.Get<float>();
        float sum = 0;
        for (uint32_t start = 0; start < count; start += TILE) {
            uint32_t n = count - start < TILE ? count - start : TILE;
            DataCopyPad(in, xGm[start], {1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0}, {false, 0, 0, 0.0f});
            PipeBarrier<PIPE_ALL>();
            ReduceSum(out, in, work, n);
            PipeBarrier<PIPE_ALL>();
            sum += out.GetValue(0);
        }
        return sum;
    }
    __aicore__ inline void Write(GlobalTensor<float> to, float value)
    {
        LocalTensor<float> out = outBuf.Get<float>();
        Duplicate(out, value, 8);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(to, out, {1, sizeof(float), 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
    }

private:
    static constexpr uint32_t TILE = 2048;
    GlobalTensor<float> xGm;
    TBuf<TPosition::VECCALC> inBuf, workBuf, outBuf;
    uint32_t count;
};

extern "C" __global__ __aicore__ void reduce_all_custom(GM_ADDR x, GM_ADDR sum, GM_ADDR workspace, GM_ADDR tiling)
{
    GET_TILING_DATA(data, tiling);
    TPipe pipe;
    GlobalTensor<float> result;
    result.SetGlobalBuffer((__gm__ float*)sum, 1);
    uint32_t first = GetBlockIdx() * data.share;
    uint32_t count = data.total - first < data.share ? data.total - first : data.share;
    Reduction op;
    op.Init(&pipe, x, first, count);
    float part = op.Sum();
    if (TILING_KEY_IS(1)) {
        op.Write(result, part);
    } else if (TILING_KEY_IS(2)) {
        GM_ADDR user = GetUserWorkspace(workspace);
        GlobalTensor<float> parts;
        parts.SetGlobalBuffer((__gm__ float*)user, 8 * GetBlockNum());
        op.Write(parts[8 * GetBlockIdx()], part);
        SyncAll();
        if (GetBlockIdx() == 0) {
            float all = 0;
            for (uint32_t i = 0; i < GetBlockNum(); i++) all += parts.GetValue(8 * i);
            op.Write(result, all);
        }
    }
}
