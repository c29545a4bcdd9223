// The other ways to tiling data: a default that the kernel registers, a member, a copy by hand, a struct by value, an array.
#include "kernel_operator.h"
#include "forms_tiling.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void forms(GM_ADDR z, GM_ADDR tiling, FormsTiling by_value, int32_t form) {
    REGISTER_TILING_DEFAULT(FormsTiling);
    GlobalTensor<int32_t> out;
    out.SetGlobalBuffer((__gm__ int32_t*)z, 4);
    int32_t got = -1;
    if (form == 0) {
        GET_TILING_DATA(t, tiling);
        got = t.second;
    } else if (form == 1) {
        GET_TILING_DATA_WITH_STRUCT(FormsTiling, t, tiling);
        got = t.second;
    } else if (form == 2) {
        GET_TILING_DATA_MEMBER(FormsTiling, second, member, tiling);
        got = member;
    } else if (form == 3) {
        auto t = reinterpret_cast<__gm__ FormsTiling*>(tiling);
        got = t->second;
    } else if (form == 4) {
        COPY_TILING_WITH_STRUCT(FormsTiling, tiling, t);
        got = t->second;
    } else if (form == 5) {
        COPY_TILING_WITH_ARRAY(int32_t, 2, tiling, t);
        got = t[1];
    } else if (form == 6) {
        got = by_value.second;
    }
    out.SetValue(0, got);
}
void forms_do(void* stream, uint8_t* z, uint8_t* tiling, FormsTiling by_value, int32_t form) {
    forms<<<1, nullptr, stream>>>(z, tiling, by_value, form);
}
