#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;
using namespace matmul;

// What a run asks for, beside the tiling. Copied out of global memory with it.
struct Request {
    TCubeTiling tiling;
    int32_t how, transposeA, transposeB, batch, blocksM, hf32, atomic, tailM;
};

template <class A, class B, class C, class Bias> class Product {
public:
    __aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const Request& request) {
        const TCubeTiling& t = request.tiling;
        aGlobal.SetGlobalBuffer((__gm__ typename A::T*)a);
        bGlobal.SetGlobalBuffer((__gm__ typename B::T*)b);
        biasGlobal.SetGlobalBuffer((__gm__ typename Bias::T*)bias);
        cGlobal.SetGlobalBuffer((__gm__ typename C::T*)c);
        REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
        const int32_t block = GetBlockIdx();
        if (block >= t.usedCoreNum) return;
        const int32_t row = block % request.blocksM, column = block / request.blocksM;
        const int32_t m = row * t.singleCoreM, n = column * t.singleCoreN;
        if (request.how != 4) {
            const int32_t tailM = t.M - m < t.singleCoreM ? t.M - m : t.singleCoreM, tailN = t.N - n < t.singleCoreN ? t.N - n : t.singleCoreN;
            mm.SetTail(tailM, tailN);
        }
        const uint64_t fromA = request.how == 4 ? 0 : request.transposeA ? m : static_cast<uint64_t>(m) * t.Ka;
        const uint64_t fromB = request.how == 4 ? 0 : request.transposeB ? static_cast<uint64_t>(n) * t.Kb : n;
        const uint64_t fromC = static_cast<uint64_t>(m) * t.N + n;
        mm.SetHF32(request.hf32 != 0, request.hf32 == 2);
        mm.SetTensorA(aGlobal[fromA], request.transposeA);
        mm.SetTensorB(bGlobal[fromB], request.transposeB);
        if (t.isBias) mm.SetBias(biasGlobal[n]);
        switch (request.how) {
            case 0: mm.IterateAll(cGlobal[fromC], request.atomic); break;
            case 1:
                while (mm.Iterate()) mm.GetTensorC(cGlobal[fromC]);
                break;
            case 2: Blocks(fromC, t); break;
            case 3:  // the asynchronous form
                mm.template Iterate<false>();
                for (int32_t i = 0, all = ((t.singleCoreM + t.baseM - 1) / t.baseM) * ((t.singleCoreN + t.baseN - 1) / t.baseN); i < all; ++i)
                    mm.template GetTensorC<false>(cGlobal[fromC]);
                break;
            case 4: mm.IterateBatch(cGlobal, request.batch, request.batch, false); break;
            case 5: Local(aGlobal[fromA], fromC, t); break;
            case 8: Staged(fromC, t); break;
            case 6:  // twice the product, by partial sums over the same block
                mm.Iterate();
                mm.SetTensorA(aGlobal[fromA], request.transposeA);
                mm.Iterate(true);
                mm.GetTensorC(cGlobal[fromC]);
                break;
            case 7: mm.GetTensorC(cGlobal[fromC]); break;  // without Iterate
        }
        mm.End();
    }

private:
    // Fetches each block into the unified buffer and doubles it there.
    __aicore__ inline void Blocks(uint64_t fromC, const TCubeTiling& t) {
        pipe.InitBuffer(queue, 1, t.baseM * t.baseN * sizeof(typename C::T));
        while (mm.template Iterate<true>()) {
            auto block = queue.template AllocTensor<typename C::T>();
            mm.template GetTensorC<true>(block, false, true);
            queue.EnQue(block);
            block = queue.template DeQue<typename C::T>();
            if constexpr (!std::is_same_v<typename C::T, bfloat16_t>) Add(block, block, block, t.baseM * t.baseN);
            const MatrixOffset at = mm.GetOffsetC();
            for (int32_t r = 0; r < at.height; ++r)
                DataCopyPad(cGlobal[fromC + at.offset + static_cast<uint64_t>(r) * t.N], block[r * t.baseN],
                            DataCopyExtParams{1, static_cast<uint32_t>(at.width * sizeof(typename C::T)), 0, 0, 0});
            queue.FreeTensor(block);
        }
    }
    // A comes from the unified buffer.
    __aicore__ inline void Local(const GlobalTensor<typename A::T>& a, uint64_t fromC, const TCubeTiling& t) {
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, t.singleCoreM * t.singleCoreK * sizeof(typename A::T));
        auto local = buffer.Get<typename A::T>();
        DataCopy(local, a, t.singleCoreM * t.singleCoreK);
        mm.SetTensorA(local);
        mm.IterateAll(cGlobal[fromC]);
    }
    // A goes from global memory through the unified buffer into L1, in fractals.
    __aicore__ inline void Staged(uint64_t fromC, const TCubeTiling& t) {
        TSCM<TPosition::VECIN, 1> staged;
        pipe.InitBuffer(queue, 1, t.singleCoreM * t.singleCoreK * sizeof(typename A::T));
        pipe.InitBuffer(staged, 1, t.singleCoreM * t.singleCoreK * sizeof(typename A::T));
        auto rows = queue.template AllocTensor<typename A::T>();
        DataCopy(rows, aGlobal, t.singleCoreM * t.singleCoreK);
        queue.EnQue(rows);
        rows = queue.template DeQue<typename A::T>();
        auto fractals = staged.template AllocTensor<typename A::T>();
        DataCopy(fractals, rows, Nd2NzParams(1, t.singleCoreM, t.singleCoreK, 0, t.singleCoreK, t.singleCoreM, 1, 0));
        staged.EnQue(fractals);
        queue.FreeTensor(rows);
        fractals = staged.template DeQue<typename A::T>();
        mm.SetTensorA(fractals);
        mm.IterateAll(cGlobal[fromC]);
        staged.FreeTensor(fractals);
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    GlobalTensor<typename A::T> aGlobal;
    GlobalTensor<typename B::T> bGlobal;
    GlobalTensor<typename Bias::T> biasGlobal;
    GlobalTensor<typename C::T> cGlobal;
    Matmul<A, B, C, Bias> mm;
};

// Batches in the layouts of attention: A and B as B, S, N, G, D, the result as B, N, G, S1, S2.
using Attention = MatmulType<TPosition::GM, CubeFormat::ND, half, true, LayoutMode::BSNGD>;
using Scores = MatmulType<TPosition::GM, CubeFormat::ND, float, false, LayoutMode::BNGS1S2>;
template <CubeFormat format, class T> using Operand = MatmulType<TPosition::GM, format, T, true, LayoutMode::NORMAL>;
template <CubeFormat format, class T> using Result = MatmulType<TPosition::GM, format, T, false, LayoutMode::NORMAL>;
constexpr CubeFormat ND = CubeFormat::ND, NZ = CubeFormat::NZ;

template <class A, class B, class C, class Bias>
__aicore__ inline void RunAs(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const Request& request) {
    Product<A, B, C, Bias> one;
    one.Run(a, b, bias, c, request);
}

extern "C" __global__ __aicore__ void matmul_kernel(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR requested, int32_t types) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    Request request;
    auto from = reinterpret_cast<__gm__ int32_t*>(requested);
    auto to = reinterpret_cast<int32_t*>(&request);
    for (uint32_t i = 0; i < sizeof(Request) / sizeof(int32_t); ++i) to[i] = from[i];
    switch (types) {
        case 0: RunAs<Operand<ND, half>, Operand<ND, half>, Result<ND, float>, Result<ND, float>>(a, b, bias, c, request); break;
        case 1: RunAs<Operand<ND, half>, Operand<ND, half>, Result<ND, half>, Result<ND, half>>(a, b, bias, c, request); break;
        case 2: RunAs<Operand<ND, bfloat16_t>, Operand<ND, bfloat16_t>, Result<ND, bfloat16_t>, Result<ND, float>>(a, b, bias, c, request); break;
        case 3: RunAs<Operand<ND, float>, Operand<ND, float>, Result<ND, float>, Result<ND, float>>(a, b, bias, c, request); break;
        case 4: RunAs<Operand<ND, int8_t>, Operand<ND, int8_t>, Result<ND, int32_t>, Result<ND, int32_t>>(a, b, bias, c, request); break;
        case 5: RunAs<Operand<NZ, half>, Operand<NZ, half>, Result<NZ, half>, Result<ND, float>>(a, b, bias, c, request); break;
        case 7: RunAs<MatmulType<TPosition::TSCM, NZ, half>, Operand<ND, half>, Result<ND, float>, Result<ND, float>>(a, b, bias, c, request); break;
        case 6: RunAs<Attention, Attention, Scores, Scores>(a, b, bias, c, request); break;
    }
}

extern "C" void matmul_do(uint32_t blockDim, void* stream, uint8_t* a, uint8_t* b, uint8_t* bias, uint8_t* c, uint8_t* request, int32_t types) {
    matmul_kernel<<<blockDim, nullptr, stream>>>(a, b, bias, c, request, types);
}
