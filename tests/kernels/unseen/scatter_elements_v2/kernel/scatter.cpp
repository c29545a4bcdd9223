#include "kernel_operator.h"
using namespace AscendC;

// One line along the axis at a time: gathered with stride into UB, updated in order, written back with stride.
template <typename T>
class ScatterLines {
public:
    __aicore__ inline void Init(GM_ADDR self, GM_ADDR idx, GM_ADDR upd, GM_ADDR out, int32_t outer, int32_t axis, int32_t axisIdx, int32_t inner, int32_t add)
    {
        outer_ = outer; axis_ = axis; axisIdx_ = axisIdx; inner_ = inner; add_ = add;
        s_.SetGlobalBuffer((__gm__ T*)self);
        i_.SetGlobalBuffer((__gm__ int32_t*)idx);
        u_.SetGlobalBuffer((__gm__ T*)upd);
        o_.SetGlobalBuffer((__gm__ T*)out);
        pipe.InitBuffer(line, (axis * sizeof(T) + 31) / 32 * 32);
        pipe.InitBuffer(q, 2, axis * 32);
    }
    __aicore__ inline float F(T v)
    {
        if constexpr (std::is_same_v<T, bfloat16_t>) return ToFloat(v);
        else return static_cast<float>(v);
    }
    __aicore__ inline void Process()
    {
        for (int32_t l = GetBlockIdx(); l < outer_ * inner_; l += GetBlockNum()) {
            int32_t o = l / inner_, in = l % inner_;
            // each element lands in its own 32-byte block
            LocalTensor<T> t = q.AllocTensor<T>();
            constexpr int32_t B = 32 / sizeof(T);
            DataCopyExtParams p{static_cast<uint16_t>(axis_), sizeof(T), static_cast<uint32_t>((inner_ - 1) * sizeof(T)), 0, 0};
            DataCopyPadExtParams<T> pad{true, 0, static_cast<uint8_t>(B - 1), static_cast<T>(0)};
            DataCopyPad(t, s_[o * axis_ * inner_ + in], p, pad);
            q.EnQue(t);
            t = q.DeQue<T>();
            for (int32_t j = 0; j < axisIdx_; ++j) {
                int32_t src = (o * axisIdx_ + j) * inner_ + in;
                int32_t at = i_.GetValue(src);
                T v = u_.GetValue(src);
                if (add_) {
                    if constexpr (std::is_same_v<T, int32_t>) {
                        t.SetValue(at * B, t.GetValue(at * B) + v);
                    } else if constexpr (std::is_same_v<T, bfloat16_t>) {
                        t.SetValue(at * B, ToBfloat16(F(t.GetValue(at * B)) + F(v)));
                    } else {
                        t.SetValue(at * B, static_cast<T>(F(t.GetValue(at * B)) + F(v)));
                    }
                } else {
                    t.SetValue(at * B, v);
                }
            }
            DataCopyExtParams w{static_cast<uint16_t>(axis_), sizeof(T), 0, static_cast<uint32_t>((inner_ - 1) * sizeof(T)), 0};
            auto e = GetTPipePtr()->FetchEventID(HardEvent::S_MTE3);
            SetFlag<HardEvent::S_MTE3>(e);
            WaitFlag<HardEvent::S_MTE3>(e);
            DataCopyPad(o_[o * axis_ * inner_ + in], t, w);
            q.FreeTensor(t);
        }
    }
private:
    TPipe pipe;
    TBuf<> line;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> q;
    GlobalTensor<T> s_, u_, o_;
    GlobalTensor<int32_t> i_;
    int32_t outer_, axis_, axisIdx_, inner_, add_;
};
#define KERNEL(suffix, T)                                                                                                         \
extern "C" __global__ __aicore__ void scatter_##suffix(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR d, int32_t o, int32_t x, int32_t xi, int32_t in, int32_t add) \
{ ScatterLines<T> op; op.Init(a, b, c, d, o, x, xi, in, add); op.Process(); }                                                   \
extern "C" void scatter_##suffix##_do(uint32_t n, void* st, uint8_t* a, uint8_t* b, uint8_t* c, uint8_t* d, int32_t o, int32_t x, int32_t xi, int32_t in, int32_t add) \
{ scatter_##suffix<<<n, nullptr, st>>>(a, b, c, d, o, x, xi, in, add); }
KERNEL(f32, float)
KERNEL(f16, half)
KERNEL(bf16, bfloat16_t)
KERNEL(i32, int32_t)
