#ifndef TANH_GATED_RESIDUAL_ADD_BACKWARD_KERNEL_H
#define TANH_GATED_RESIDUAL_ADD_BACKWARD_KERNEL_H
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr int64_t TILE_LENGTH = 2048;
constexpr int64_t PARTIAL_STRIDE = 8;  // floats a core owns in the workspace: one 32-byte block

// First launch: grad_residual, grad_hidden, and each core's share of sum(grad * hidden * mask).
class KernelGradients {
public:
    __aicore__ inline KernelGradients() {}

    __aicore__ inline void Init(GM_ADDR gradOutput, GM_ADDR gate, GM_ADDR hidden, GM_ADDR mask, GM_ADDR gradResidual,
                                GM_ADDR gradHidden, GM_ADDR partial, int64_t totalLength)
    {
        blockLength = totalLength / GetBlockNum();
        int64_t start = blockLength * GetBlockIdx();
        gradOutputGm.SetGlobalBuffer((__gm__ bfloat16_t *)gradOutput + start, blockLength);
        gateGm.SetGlobalBuffer((__gm__ bfloat16_t *)gate + start, blockLength);
        hiddenGm.SetGlobalBuffer((__gm__ bfloat16_t *)hidden + start, blockLength);
        maskGm.SetGlobalBuffer((__gm__ bfloat16_t *)mask + start, blockLength);
        gradResidualGm.SetGlobalBuffer((__gm__ bfloat16_t *)gradResidual + start, blockLength);
        gradHiddenGm.SetGlobalBuffer((__gm__ bfloat16_t *)gradHidden + start, blockLength);
        partialGm.SetGlobalBuffer((__gm__ float *)partial + GetBlockIdx() * PARTIAL_STRIDE, PARTIAL_STRIDE);
        pipe.InitBuffer(inQueue, BUFFER_NUM, TILE_LENGTH * sizeof(bfloat16_t));
        pipe.InitBuffer(outQueue, BUFFER_NUM, TILE_LENGTH * sizeof(bfloat16_t));
        pipe.InitBuffer(partialQueue, 1, PARTIAL_STRIDE * sizeof(float));
        pipe.InitBuffer(gradBuf, TILE_LENGTH * sizeof(float));
        pipe.InitBuffer(valueBuf, TILE_LENGTH * sizeof(float));
        pipe.InitBuffer(maskBuf, TILE_LENGTH * sizeof(float));
        pipe.InitBuffer(workBuf, TILE_LENGTH * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        float sum = 0.0f;
        for (int64_t offset = 0; offset < blockLength; offset += TILE_LENGTH) {
            int64_t rest = blockLength - offset;
            sum += Tile(offset, static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH));
        }
        LocalTensor<float> partialLocal = partialQueue.AllocTensor<float>();
        Duplicate(partialLocal, sum, PARTIAL_STRIDE);
        partialQueue.EnQue(partialLocal);
        partialLocal = partialQueue.DeQue<float>();
        DataCopy(partialGm, partialLocal, PARTIAL_STRIDE);
        partialQueue.FreeTensor(partialLocal);
    }

private:
    __aicore__ inline void Load(LocalTensor<float> &local, GlobalTensor<bfloat16_t> &global, int64_t offset,
                                uint32_t count)
    {
        LocalTensor<bfloat16_t> inLocal = inQueue.AllocTensor<bfloat16_t>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(bfloat16_t)), 0, 0, 0};
        DataCopyPadExtParams<bfloat16_t> padParams{false, 0, 0, static_cast<bfloat16_t>(0)};
        DataCopyPad(inLocal, global[offset], copyParams, padParams);
        inQueue.EnQue(inLocal);
        inLocal = inQueue.DeQue<bfloat16_t>();
        Cast(local, inLocal, RoundMode::CAST_NONE, count);
        inQueue.FreeTensor(inLocal);
    }

    __aicore__ inline void Store(GlobalTensor<bfloat16_t> &global, int64_t offset, LocalTensor<float> &local,
                                 uint32_t count)
    {
        LocalTensor<bfloat16_t> outLocal = outQueue.AllocTensor<bfloat16_t>();
        Cast(outLocal, local, RoundMode::CAST_RINT, count);
        outQueue.EnQue(outLocal);
        outLocal = outQueue.DeQue<bfloat16_t>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(bfloat16_t)), 0, 0, 0};
        DataCopyPad(global[offset], outLocal, copyParams);
        outQueue.FreeTensor(outLocal);
    }

    __aicore__ inline float Tile(int64_t offset, uint32_t count)
    {
        LocalTensor<float> grad = gradBuf.Get<float>();
        LocalTensor<float> value = valueBuf.Get<float>();
        LocalTensor<float> mask = maskBuf.Get<float>();
        LocalTensor<float> work = workBuf.Get<float>();
        Load(grad, gradOutputGm, offset, count);
        Load(mask, maskGm, offset, count);
        Store(gradResidualGm, offset, grad, count);

        Load(value, gateGm, offset, count);
        Tanh(value, value, count);
        Mul(value, grad, value, count);
        Mul(value, value, mask, count);
        Store(gradHiddenGm, offset, value, count);

        Load(value, hiddenGm, offset, count);
        Mul(value, grad, value, count);
        Mul(value, value, mask, count);
        ReduceSum(value, value, work, count);
        return value.GetValue(0);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, BUFFER_NUM> inQueue;
    TQue<TPosition::VECOUT, BUFFER_NUM> outQueue;
    TQue<TPosition::VECOUT, 1> partialQueue;
    TBuf<TPosition::VECCALC> gradBuf;
    TBuf<TPosition::VECCALC> valueBuf;
    TBuf<TPosition::VECCALC> maskBuf;
    TBuf<TPosition::VECCALC> workBuf;
    GlobalTensor<bfloat16_t> gradOutputGm;
    GlobalTensor<bfloat16_t> gateGm;
    GlobalTensor<bfloat16_t> hiddenGm;
    GlobalTensor<bfloat16_t> maskGm;
    GlobalTensor<bfloat16_t> gradResidualGm;
    GlobalTensor<bfloat16_t> gradHiddenGm;
    GlobalTensor<float> partialGm;
    int64_t blockLength;
};

// Second launch: grad_gate = total * (1 - tanh(gate)^2), where total is the sum of the partial sums.
class KernelGateGradient {
public:
    __aicore__ inline KernelGateGradient() {}

    __aicore__ inline void Init(GM_ADDR gate, GM_ADDR partial, GM_ADDR gradGate, int64_t totalLength)
    {
        blockLength = totalLength / GetBlockNum();
        int64_t start = blockLength * GetBlockIdx();
        partialLength = GetBlockNum() * PARTIAL_STRIDE;
        gateGm.SetGlobalBuffer((__gm__ bfloat16_t *)gate + start, blockLength);
        gradGateGm.SetGlobalBuffer((__gm__ bfloat16_t *)gradGate + start, blockLength);
        partialGm.SetGlobalBuffer((__gm__ float *)partial, partialLength);
        pipe.InitBuffer(gateQueue, BUFFER_NUM, TILE_LENGTH * sizeof(bfloat16_t));
        pipe.InitBuffer(gradQueue, BUFFER_NUM, TILE_LENGTH * sizeof(bfloat16_t));
        pipe.InitBuffer(partialQueue, 1, partialLength * sizeof(float));
        pipe.InitBuffer(valueBuf, TILE_LENGTH * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        float total = SumPartials();
        for (int64_t offset = 0; offset < blockLength; offset += TILE_LENGTH) {
            int64_t rest = blockLength - offset;
            uint32_t count = static_cast<uint32_t>(rest < TILE_LENGTH ? rest : TILE_LENGTH);
            CopyIn(offset, count);
            Compute(total, count);
            CopyOut(offset, count);
        }
    }

private:
    __aicore__ inline float SumPartials()
    {
        LocalTensor<float> partialLocal = partialQueue.AllocTensor<float>();
        DataCopy(partialLocal, partialGm, partialLength);
        partialQueue.EnQue(partialLocal);
        partialLocal = partialQueue.DeQue<float>();
        float total = 0.0f;
        for (int64_t i = 0; i < partialLength; i += PARTIAL_STRIDE) {
            total += partialLocal.GetValue(i);
        }
        partialQueue.FreeTensor(partialLocal);
        return total;
    }

    __aicore__ inline void CopyIn(int64_t offset, uint32_t count)
    {
        LocalTensor<bfloat16_t> gateLocal = gateQueue.AllocTensor<bfloat16_t>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(bfloat16_t)), 0, 0, 0};
        DataCopyPadExtParams<bfloat16_t> padParams{false, 0, 0, static_cast<bfloat16_t>(0)};
        DataCopyPad(gateLocal, gateGm[offset], copyParams, padParams);
        gateQueue.EnQue(gateLocal);
    }

    __aicore__ inline void Compute(float total, uint32_t count)
    {
        LocalTensor<bfloat16_t> gateLocal = gateQueue.DeQue<bfloat16_t>();
        LocalTensor<bfloat16_t> gradLocal = gradQueue.AllocTensor<bfloat16_t>();
        LocalTensor<float> value = valueBuf.Get<float>();
        Cast(value, gateLocal, RoundMode::CAST_NONE, count);
        Tanh(value, value, count);
        Mul(value, value, value, count);
        Muls(value, value, -1.0f, count);
        Adds(value, value, 1.0f, count);
        Muls(value, value, total, count);
        Cast(gradLocal, value, RoundMode::CAST_RINT, count);
        gradQueue.EnQue(gradLocal);
        gateQueue.FreeTensor(gateLocal);
    }

    __aicore__ inline void CopyOut(int64_t offset, uint32_t count)
    {
        LocalTensor<bfloat16_t> gradLocal = gradQueue.DeQue<bfloat16_t>();
        DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(bfloat16_t)), 0, 0, 0};
        DataCopyPad(gradGateGm[offset], gradLocal, copyParams);
        gradQueue.FreeTensor(gradLocal);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, BUFFER_NUM> gateQueue;
    TQue<TPosition::VECIN, 1> partialQueue;
    TQue<TPosition::VECOUT, BUFFER_NUM> gradQueue;
    TBuf<TPosition::VECCALC> valueBuf;
    GlobalTensor<bfloat16_t> gateGm;
    GlobalTensor<bfloat16_t> gradGateGm;
    GlobalTensor<float> partialGm;
    int64_t blockLength;
    int64_t partialLength;
};

#endif  // TANH_GATED_RESIDUAL_ADD_BACKWARD_KERNEL_H
