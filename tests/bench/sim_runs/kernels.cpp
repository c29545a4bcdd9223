// What bench_sim runs: plain kernels of the kind that everybody writes.
#include <torch/extension.h>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

// Double-buffered tiles of one or two inputs; `compute` makes an output tile of them.
template <class In, class Out, class Compute>
__aicore__ inline void tiles(GM_ADDR a, GM_ADDR b, GM_ADDR z, uint32_t total, uint32_t tile, Compute compute) {
    const uint32_t mine = total / GetBlockNum(), first = mine * GetBlockIdx();
    GlobalTensor<In> left, right;
    GlobalTensor<Out> result;
    left.SetGlobalBuffer(reinterpret_cast<__gm__ In*>(a) + first, mine);
    right.SetGlobalBuffer(reinterpret_cast<__gm__ In*>(b) + first, mine);
    result.SetGlobalBuffer(reinterpret_cast<__gm__ Out*>(z) + first, mine);
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> lefts, rights;
    TQue<QuePosition::VECOUT, 2> results;
    pipe.InitBuffer(lefts, 2, tile * sizeof(In));
    pipe.InitBuffer(rights, 2, tile * sizeof(In));
    pipe.InitBuffer(results, 2, tile * sizeof(Out));
    for (uint32_t at = 0; at < mine; at += tile) {
        LocalTensor<In> x = lefts.AllocTensor<In>();
        DataCopy(x, left[at], tile);
        lefts.EnQue(x);
        LocalTensor<In> y;
        if (a != b) {
            y = rights.AllocTensor<In>();
            DataCopy(y, right[at], tile);
            rights.EnQue(y);
            y = rights.DeQue<In>();
        }
        x = lefts.DeQue<In>();
        LocalTensor<Out> out = results.AllocTensor<Out>();
        compute(out, x, y, tile);
        results.EnQue(out);
        lefts.FreeTensor(x);
        if (a != b) rights.FreeTensor(y);
        out = results.DeQue<Out>();
        DataCopy(result[at], out, tile);
        results.FreeTensor(out);
    }
}

uint8_t* address(const at::Tensor& tensor) { return reinterpret_cast<uint8_t*>(tensor.data_ptr()); }

}  // namespace

extern "C" __global__ __aicore__ void bench_add(GM_ADDR a, GM_ADDR b, GM_ADDR z, uint32_t total, uint32_t tile) {
    tiles<float, float>(a, b, z, total, tile,
                        [](LocalTensor<float>& out, LocalTensor<float>& x, LocalTensor<float>& y, uint32_t n) { Add(out, x, y, n); });
}
// The same in mask and repeat form.
extern "C" __global__ __aicore__ void bench_add_repeats(GM_ADDR a, GM_ADDR b, GM_ADDR z, uint32_t total, uint32_t tile) {
    tiles<float, float>(a, b, z, total, tile, [](LocalTensor<float>& out, LocalTensor<float>& x, LocalTensor<float>& y, uint32_t n) {
        for (uint32_t at = 0; at < n; at += 64 * 128) Add(out[at], x[at], y[at], 64, 128, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
    });
}
extern "C" __global__ __aicore__ void bench_exp(GM_ADDR a, GM_ADDR z, uint32_t total, uint32_t tile) {
    tiles<float, float>(a, a, z, total, tile,
                        [](LocalTensor<float>& out, LocalTensor<float>& x, LocalTensor<float>&, uint32_t n) { Exp(out, x, n); });
}
extern "C" __global__ __aicore__ void bench_widen(GM_ADDR a, GM_ADDR z, uint32_t total, uint32_t tile) {
    tiles<half, float>(a, a, z, total, tile, [](LocalTensor<float>& out, LocalTensor<half>& x, LocalTensor<half>&, uint32_t n) {
        Cast(out, x, RoundMode::CAST_NONE, n);
    });
}
extern "C" __global__ __aicore__ void bench_narrow(GM_ADDR a, GM_ADDR z, uint32_t total, uint32_t tile) {
    tiles<float, half>(a, a, z, total, tile, [](LocalTensor<half>& out, LocalTensor<float>& x, LocalTensor<float>&, uint32_t n) {
        Cast(out, x, RoundMode::CAST_RINT, n);
    });
}
extern "C" __global__ __aicore__ void bench_whole(GM_ADDR a, GM_ADDR z, uint32_t total, uint32_t tile, uint32_t mode) {
    tiles<float, int32_t>(a, a, z, total, tile, [mode](LocalTensor<int32_t>& out, LocalTensor<float>& x, LocalTensor<float>&, uint32_t n) {
        Cast(out, x, static_cast<RoundMode>(mode), n);
    });
}
// One sum a tile, in the first of 8 lanes.
extern "C" __global__ __aicore__ void bench_sum(GM_ADDR a, GM_ADDR z, uint32_t total, uint32_t tile) {
    const uint32_t mine = total / GetBlockNum(), first = mine * GetBlockIdx();
    GlobalTensor<float> source, result;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(a) + first, mine);
    result.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + first / tile * 8, mine / tile * 8);
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> tensors;
    TQue<QuePosition::VECOUT, 2> sums;
    TBuf<TPosition::VECCALC> scratch;
    pipe.InitBuffer(tensors, 2, tile * sizeof(float));
    pipe.InitBuffer(sums, 2, 32);
    pipe.InitBuffer(scratch, tile * sizeof(float));
    for (uint32_t at = 0; at < mine; at += tile) {
        LocalTensor<float> x = tensors.AllocTensor<float>();
        DataCopy(x, source[at], tile);
        tensors.EnQue(x);
        x = tensors.DeQue<float>();
        LocalTensor<float> sum = sums.AllocTensor<float>();
        Duplicate(sum, 0.0f, 8);
        ReduceSum(sum, x, scratch.Get<float>(), tile);
        sums.EnQue(sum);
        tensors.FreeTensor(x);
        sum = sums.DeQue<float>();
        DataCopy(result[at / tile * 8], sum, 8);
        sums.FreeTensor(sum);
    }
}
// Rows of any width, a few at a time, through the unified buffer.
extern "C" __global__ __aicore__ void bench_pad(GM_ADDR a, GM_ADDR z, uint32_t rows, uint32_t width, uint32_t stride, uint32_t group) {
    const uint32_t mine = rows / GetBlockNum(), first = mine * GetBlockIdx();
    GlobalTensor<float> source, result;
    source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(a) + uint64_t(first) * stride, uint64_t(mine) * stride);
    result.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + uint64_t(first) * width, uint64_t(mine) * width);
    const uint32_t padded = (width + 7) / 8 * 8;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> queue;
    pipe.InitBuffer(queue, 2, group * padded * sizeof(float));
    for (uint32_t row = 0; row < mine; row += group) {
        LocalTensor<float> x = queue.AllocTensor<float>();
        DataCopyPad(x, source[uint64_t(row) * stride],
                    DataCopyExtParams(group, width * sizeof(float), (stride - width) * sizeof(float), 0, 0),
                    DataCopyPadExtParams<float>(true, 0, padded - width, 0.0f));
        queue.EnQue(x);
        x = queue.DeQue<float>();
        DataCopyPad(result[uint64_t(row) * width], x, DataCopyExtParams(group, width * sizeof(float), 0, 0, 0));
        queue.FreeTensor(x);
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("add", [](const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, int64_t blocks, int64_t tile) {
        bench_add<<<blocks, nullptr, nullptr>>>(address(x), address(y), address(z), x.numel(), tile);
    });
    m.def("add_repeats", [](const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, int64_t blocks, int64_t tile) {
        bench_add_repeats<<<blocks, nullptr, nullptr>>>(address(x), address(y), address(z), x.numel(), tile);
    });
    m.def("exp", [](const at::Tensor& x, const at::Tensor& z, int64_t blocks, int64_t tile) {
        bench_exp<<<blocks, nullptr, nullptr>>>(address(x), address(z), x.numel(), tile);
    });
    m.def("widen", [](const at::Tensor& x, const at::Tensor& z, int64_t blocks, int64_t tile) {
        bench_widen<<<blocks, nullptr, nullptr>>>(address(x), address(z), x.numel(), tile);
    });
    m.def("narrow", [](const at::Tensor& x, const at::Tensor& z, int64_t blocks, int64_t tile) {
        bench_narrow<<<blocks, nullptr, nullptr>>>(address(x), address(z), x.numel(), tile);
    });
    m.def("whole", [](const at::Tensor& x, const at::Tensor& z, int64_t blocks, int64_t tile, int64_t mode) {
        bench_whole<<<blocks, nullptr, nullptr>>>(address(x), address(z), x.numel(), tile, mode);
    });
    m.def("sum", [](const at::Tensor& x, const at::Tensor& z, int64_t blocks, int64_t tile) {
        bench_sum<<<blocks, nullptr, nullptr>>>(address(x), address(z), x.numel(), tile);
    });
    m.def("pad", [](const at::Tensor& x, const at::Tensor& z, int64_t blocks, int64_t rows, int64_t width, int64_t stride, int64_t group) {
        bench_pad<<<blocks, nullptr, nullptr>>>(address(x), address(z), rows, width, stride, group);
    });
}
