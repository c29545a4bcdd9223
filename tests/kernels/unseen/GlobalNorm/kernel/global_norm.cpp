#include "kernel_operator.h"
using namespace AscendC;
constexpr int32_t TILE_LEN = 1024;
constexpr int32_t SLOT = 8;

template <typename T> class GlobalNorm {
public:
    __aicore__ inline GlobalNorm() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR ws, uint32_t total)
    {
        this->total = total;
        uint32_t cores = GetBlockNum();
        uint32_t perCore = (total + cores - 1) / cores;
        perCore = (perCore + 15) / 16 * 16;
        uint32_t start = perCore * GetBlockIdx();
        length = start >= total ? 0 : (total - start < perCore ? total - start : perCore);
        xGm.SetGlobalBuffer((__gm__ T*)x + start);
        yGm.SetGlobalBuffer((__gm__ T*)y, 1);
        wsGm.SetGlobalBuffer((__gm__ float*)ws, SLOT * cores);
        pipe.InitBuffer(inQ, 2, TILE_LEN * sizeof(T));
        pipe.InitBuffer(partQ, 1, SLOT * sizeof(float));
        pipe.InitBuffer(allQ, 1, SLOT * cores * sizeof(float));
        pipe.InitBuffer(outQ, 1, 32);
        pipe.InitBuffer(fBuf, TILE_LEN * sizeof(float));
        pipe.InitBuffer(wBuf, TILE_LEN * sizeof(float));
    }
    __aicore__ inline void Process()
    {
        LocalTensor<float> part = partQ.AllocTensor<float>();
        Duplicate(part, 0.0f, SLOT);
        float sum = 0.0f;
        for (uint32_t off = 0; off < length; off += TILE_LEN) {
            uint32_t n = length - off < TILE_LEN ? length - off : TILE_LEN;
            sum += Tile(off, n);
        }
        part.SetValue(0, sum);
        partQ.EnQue(part);
        part = partQ.DeQue<float>();
        DataCopy(wsGm[GetBlockIdx() * SLOT], part, SLOT);
        partQ.FreeTensor(part);
        SyncAll();
        if (GetBlockIdx() == 0) {
            uint32_t cores = GetBlockNum();
            LocalTensor<float> all = allQ.AllocTensor<float>();
            DataCopy(all, wsGm, SLOT * cores);
            allQ.EnQue(all);
            all = allQ.DeQue<float>();
            LocalTensor<float> w = wBuf.Get<float>(), f = fBuf.Get<float>();
            ReduceSum(f, all, w, SLOT * cores);
            Muls(f, f, 1.0f / static_cast<float>(total), 1);
            Sqrt(f, f, 1);
            LocalTensor<T> o = outQ.AllocTensor<T>();
            if constexpr (sizeof(T) == 4) {
                Adds(o, f, 0.0f, 1);
            } else {
                Cast(o, f, RoundMode::CAST_RINT, 1);
            }
            outQ.EnQue(o);
            allQ.FreeTensor(all);
            o = outQ.DeQue<T>();
            DataCopyExtParams p{1, sizeof(T), 0, 0, 0};
            DataCopyPad(yGm, o, p);
            outQ.FreeTensor(o);
        }
    }
private:
    __aicore__ inline float Tile(uint32_t off, uint32_t n)
    {
        LocalTensor<T> x = inQ.AllocTensor<T>();
        uint8_t right = 0;
        DataCopyExtParams p{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> pp{false, 0, right, static_cast<T>(0)};
        DataCopyPad(x, xGm[off], p, pp);
        inQ.EnQue(x);
        x = inQ.DeQue<T>();
        LocalTensor<float> f = fBuf.Get<float>(), w = wBuf.Get<float>();
        if constexpr (sizeof(T) == 4) {
            Mul(f, x, x, n);
        } else {
            Cast(f, x, RoundMode::CAST_NONE, n);
            Mul(f, f, f, n);
        }
        inQ.FreeTensor(x);
        ReduceSum(f, f, w, n);
        return f.GetValue(0);
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inQ;
    TQue<TPosition::VECOUT, 1> partQ, outQ;
    TQue<TPosition::VECIN, 1> allQ;
    TBuf<TPosition::VECCALC> fBuf, wBuf;
    GlobalTensor<T> xGm, yGm;
    GlobalTensor<float> wsGm;
    uint32_t total, length;
};
extern "C" __global__ __aicore__ void global_norm_f(GM_ADDR x, GM_ADDR y, GM_ADDR ws, uint32_t total) { GlobalNorm<float> op; op.Init(x, y, ws, total); op.Process(); }
extern "C" __global__ __aicore__ void global_norm_h(GM_ADDR x, GM_ADDR y, GM_ADDR ws, uint32_t total) { GlobalNorm<half> op; op.Init(x, y, ws, total); op.Process(); }
extern "C" void global_norm_do(uint32_t n, void* s, uint8_t* x, uint8_t* y, uint8_t* ws, uint32_t total, bool h)
{
    if (h) global_norm_h<<<n, nullptr, s>>>(x, y, ws, total);
    else global_norm_f<<<n, nullptr, s>>>(x, y, ws, total);
}
