#include "kernel_operator.h"
using namespace AscendC;

class KernelOp {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t cols, uint32_t colsAlign) {
    this->rows = rows;
    this->cols = cols;
    xGm.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    yGm.SetGlobalBuffer((__gm__ float *)y, rows * cols);
    pipe.InitBuffer(inQueue, 1, colsAlign * sizeof(float));
    pipe.InitBuffer(outQueue, 1, colsAlign * sizeof(float));
    pipe.InitBuffer(workBuf, colsAlign * sizeof(float));
    pipe.InitBuffer(scalarBuf, 32);
  }
  __aicore__ inline void Process() {
    for (uint32_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
      LocalTensor<float> in = inQueue.AllocTensor<float>();
      DataCopyExtParams params{1, static_cast<uint32_t>(cols * sizeof(float)), 0, 0, 0};
      DataCopyPad(in, xGm[row * cols], params, DataCopyPadExtParams<float>{false, 0, 0, 0.0f});
      inQueue.EnQue(in);
      in = inQueue.DeQue<float>();
      LocalTensor<float> out = outQueue.AllocTensor<float>();
      LocalTensor<float> work = workBuf.Get<float>();
      LocalTensor<float> scalar = scalarBuf.Get<float>();
      ReduceMax(scalar, in, work, cols, false);
      float maxValue = scalar.GetValue(0);
      Adds(out, in, -maxValue, cols);
      Exp(out, out, cols);
      ReduceSum(scalar, out, work, cols);
      float sum = scalar.GetValue(0);
      Muls(out, out, 1.0f / sum, cols);
      outQueue.EnQue(out);
      inQueue.FreeTensor(in);
      out = outQueue.DeQue<float>();
      DataCopyPad(yGm[row * cols], out, params);
      outQueue.FreeTensor(out);
    }
  }

 private:
  TPipe pipe;
  TQue<QuePosition::VECIN, 1> inQueue;
  TQue<QuePosition::VECOUT, 1> outQueue;
  TBuf<QuePosition::VECCALC> workBuf, scalarBuf;
  GlobalTensor<float> xGm, yGm;
  uint32_t rows, cols;
};

extern "C" __global__ __aicore__ void softmax_rows_custom(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(t, tiling);
  KernelOp op;
  op.Init(x, y, t.rows, t.cols, t.colsAlign);
  op.Process();
}
