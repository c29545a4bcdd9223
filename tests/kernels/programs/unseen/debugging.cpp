// debug helpers: printf, PRINTF, DumpTensor, assert, ascendc_assert; scalar ops
#include "kernel_operator.h"
#include "host.h"
using namespace AscendC;
namespace {
    constexpr int32_t TILE = 64;
    __aicore__ inline constexpr int32_t Twice(int32_t v) {
        return v * 2;
    }
}
extern "C" __global__ __aicore__ void dbg(GM_ADDR x, GM_ADDR y) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> b, c;
    pipe.InitBuffer(b, TILE * 4);
    pipe.InitBuffer(c, TILE * 4);
    GlobalTensor<int32_t> xg, yg;
    xg.SetGlobalBuffer((__gm__ int32_t*)x, TILE);
    yg.SetGlobalBuffer((__gm__ int32_t*)y, TILE);
    auto l = b.Get<int32_t>(), o = c.Get<int32_t>();
    DataCopy(l, xg, TILE);
    PipeBarrier<PIPE_ALL>();
    AscendC::printf("block %d of %d, first %d\n", (int)GetBlockIdx(), (int)GetBlockNum(), l.GetValue(0));
    PRINTF("tile %u\n", (uint32_t)Twice(TILE));
    DumpTensor(l, 5, 8);
    DumpAccChkPoint(l, 1, 0, 8);
    uint32_t sh[] = {2, 4};
    ShapeInfo si(2, sh);
    DumpTensor(xg, 6, 8, si);
    assert(TILE == 64);
    ASSERT(TILE > 0 && "tile");
    ascendc_assert(GetBlockNum() > 0, "blocks %d", (int)GetBlockNum());
    int64_t lead = ScalarCountLeadingZero((uint64_t)256);
    int64_t ones = ScalarGetCountOfValue<1>((uint64_t)0xff);
    int64_t ff = ScalarGetSFFValue<1>((uint64_t)0x10);
    ShiftLeft(o, l, (int32_t)2, TILE);
    PipeBarrier<PIPE_V>();
    Maxs(o, o, (int32_t)20, TILE);
    Mins(o, o, (int32_t)100, TILE);
    PipeBarrier<PIPE_V>();
    Adds(o, o, (int32_t)(lead + ones + ff), TILE);
    auto o16 = o.ReinterpretCast<int16_t>();
    auto l16 = l.ReinterpretCast<int16_t>();
    PipeBarrier<PIPE_V>();
    Or(o16, o16, l16, TILE * 2);
    PipeBarrier<PIPE_ALL>();
    DataCopy(yg, o, TILE);
    int64_t cyc = GetSystemCycle();
    (void)cyc;
    if (l.GetValue(0) < 0) {
        trap();
    }
}
int main() {
    Session S;
    std::vector<int32_t> x(64), y(64);
    for (int i = 0; i < 64; i++) {
        x[i] = i;
        int v = std::min(std::max(i << 2, 20), 100) + 55 + 8 + 4;
        y[i] = v | i;
    }
    Dev<int32_t> dx(x), dy(y);
    dbg<<<1, nullptr, S.s>>>(dx.u(), dy.u());
    S.sync();
    return cmp("y", dy.get(), y, 0);
}
