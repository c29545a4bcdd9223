// Names that published kernels use beside the tensor calls. Output: one binary file a case.
#include <cstdio>
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"
#include "kernel_utils.h"
using namespace AscendC;

constexpr half kLowest = -65504;
constexpr half kHalf = 0.5;
constexpr bfloat16_t kThree = 3.0f;
static_assert(kLowest < kHalf && -kHalf == -0.5f && static_cast<float>(kThree) == 3.0f);
static_assert(AlignUp(5, 32u) == 32 && AlignUp(64u, 32u) == 64 && AlignDown(63, 32) == 32 && CeilAlign(33, 8) == 40);
static_assert(DivCeil(33u, 32) == 2 && CeilDivision(64, 32) == 2 && Ceil(7, 2) == 4 && DivCeil(5, 0) == 0);
static_assert(B32_DATA_NUM_PER_BLOCK == 8 && FULL_MASK == ~0ull && AscendCUtils::GetBitSize(4) == 32);

template <class T> __aicore__ inline void Load(const LocalTensor<T>& to, GM_ADDR from, uint32_t n) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer((__gm__ T*)from);
    DataCopy(to, gm, n);
}
template <class T> __aicore__ inline void Store(GM_ADDR to, const LocalTensor<T>& from, uint32_t n) {
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer((__gm__ T*)to);
    DataCopy(gm, from, n);
}

// z: x+y, x-y, x*y, x/y, then the bits of x<=y, x>y.
__global__ __aicore__ void symbols(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n) {
    TPipe pipe;
    TBuf<> room[4];
    for (auto& one : room) pipe.InitBuffer(one, n * sizeof(float));
    LocalTensor<float> a = room[0].Get<float>(), b = room[1].Get<float>(), c = room[2].Get<float>();
    LocalTensor<uint8_t> bits = room[3].Get<uint8_t>();
    Load(a, x, n);
    Load(b, y, n);
    PipeBarrier<PIPE_ALL>();
    for (int op = 0; op < 4; ++op) {
        if (op == 0) c = a + b;
        if (op == 1) c = a - b;
        if (op == 2) c = a * b;
        if (op == 3) c = a / b;
        PipeBarrier<PIPE_ALL>();
        Store(z + op * n * sizeof(float), c, n);
        PipeBarrier<PIPE_ALL>();
    }
    for (int op = 0; op < 2; ++op) {
        if (op == 0) bits = a <= b;
        if (op == 1) bits = a > b;
        PipeBarrier<PIPE_ALL>();
        Store(z + 4 * n * sizeof(float) + op * n / 8, bits, n / 8);
        PipeBarrier<PIPE_ALL>();
    }
}

// The C library has a function of this name.
extern "C" __global__ __aicore__ void hypot(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n) {
    ASSERT(n % 8 == 0 && "whole blocks");
    if (unlikely(n == 0)) return;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    TBuf<> other;
    pipe.InitBuffer(queue, 1, n * sizeof(float));
    pipe.InitBuffer(other, n * sizeof(float));
    LocalTensor<float> a = queue.AllocTensor<float>(), b = other.Get<float>();
    Load(a, x, n);
    Load(b, y, n);
    queue.EnQue(a);
    queue.DeQue();  // the buffer without its type
    PipeBarrier<PIPE_ALL>();
    Mul(a, a, a, n);
    MulAddDst(a, b, b, n);
    Sqrt(a, a, n);
    PipeBarrier<PIPE_ALL>();
    Store(z, a, n);
    queue.FreeTensor(a);
}

// x to four-bit integers, and back from the second half of them: z gets 64 bytes, then 64 halves.
__global__ __aicore__ void nibbles(GM_ADDR x, GM_ADDR z) {
    TPipe pipe;
    TBuf<> wide, narrow, back;
    pipe.InitBuffer(wide, 256);
    pipe.InitBuffer(narrow, 64 * sizeof(int4b_t));
    pipe.InitBuffer(back, 128);
    LocalTensor<half> from = wide.Get<half>(), again = back.Get<half>();
    LocalTensor<int8_t> bytes = narrow.Get<int8_t>();
    LocalTensor<int4b_t> four = bytes.ReinterpretCast<int4b_t>();
    Load(from, x, 128);
    PipeBarrier<PIPE_ALL>();
    Cast(four, from, RoundMode::CAST_RINT, 128);
    Cast(again, four[64], RoundMode::CAST_NONE, 64);
    PipeBarrier<PIPE_ALL>();
    Store(z, bytes, 64);
    Store(z + 64, again, 64);
}

__global__ __aicore__ void plain(GM_ADDR z);

// Sums the tensors of a list into z; their lengths come from their shapes.
__global__ __aicore__ void list_sum(GM_ADDR list, GM_ADDR z) {
    ListTensorDesc tensors((__gm__ void*)list);
    GlobalTensor<float> out;
    out.SetGlobalBuffer((__gm__ float*)z);
    for (uint32_t i = 0; i < tensors.GetSize(); ++i) {
        uint64_t shape[8];
        TensorDesc<float> desc;
        desc.SetShapeAddr(shape);
        tensors.GetDesc(desc, i);
        uint64_t count = 1;
        for (uint32_t k = 0; k < desc.GetDim(); ++k) count *= desc.GetShape(k);
        GlobalTensor<float> values = desc.GetDataObj();
        float sum = 0;
        for (uint64_t k = 0; k < count; ++k) sum += values.GetValue(k);
        out.SetValue(i, sum + (desc.GetDataPtr() == tensors.GetDataPtr<float>(i) && desc.GetIndex() == i ? 0 : 1000));
    }
}

namespace {
void* device(const void* from, size_t bytes) {
    void* to = nullptr;
    aclrtMalloc(&to, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (from) aclrtMemcpy(to, bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    return to;
}
void write(const char* name, void* from, size_t bytes) {
    std::vector<char> host(bytes);
    aclrtMemcpy(host.data(), bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    std::FILE* file = std::fopen(name, "wb");
    std::fwrite(host.data(), 1, bytes, file);
    std::fclose(file);
}
}  // namespace

int main() {
    const uint32_t n = 256;
    std::vector<float> host(2 * n);
    std::FILE* file = std::fopen("input.bin", "rb");
    if (!file || std::fread(host.data(), 4, 2 * n, file) != 2 * n) return 4;
    std::fclose(file);
    aclInit(nullptr);
    aclrtStream stream = nullptr;
    aclrtCreateStream(&stream);
    auto* x = (uint8_t*)device(host.data(), 4 * n);
    auto* y = (uint8_t*)device(host.data() + n, 4 * n);
    auto* z = (uint8_t*)device(nullptr, 4 * 4 * n + 2 * n / 8);
    symbols<<<1, nullptr, stream>>>(x, y, z, n);
    write("symbols.bin", z, 4 * 4 * n + 2 * n / 8);
    auto* h = (uint8_t*)device(nullptr, 4 * n);
    hypot<<<1, nullptr, stream>>>(x, y, h, n);
    write("hypot.bin", h, 4 * n);
    // Two tensors: [2, 8] and [256]. Words: where the addresses are, then dimensions and shape of each.
    const uint64_t words[] = {6 * 8, 2 | 0ull << 32, 2, 8, 1 | 1ull << 32, n, (uint64_t)x, (uint64_t)y};
    auto* list = (uint8_t*)device(words, sizeof(words));
    auto* sums = (uint8_t*)device(nullptr, 8);
    list_sum<<<1, nullptr, stream>>>(list, sums);
    write("sums.bin", sums, 8);
    std::vector<uint16_t> halves(128);
    file = std::fopen("halves.bin", "rb");
    if (!file || std::fread(halves.data(), 2, 128, file) != 128) return 5;
    std::fclose(file);
    auto* wide = (uint8_t*)device(halves.data(), 256);
    auto* packed = (uint8_t*)device(nullptr, 192);
    nibbles<<<1, nullptr, stream>>>(wide, packed);
    write("nibbles.bin", packed, 192);
    plain<<<1, nullptr, stream>>>(sums);
    write("plain.bin", sums, 8);
    return 0;
}
