// One call a form: x, y and w lie in local buffers, z's bytes are there before and are stored after.
#include "kernel_operator.h"

using namespace AscendC;

namespace {
__aicore__ inline void In(const LocalTensor<uint8_t>& to, GM_ADDR from, uint32_t n) {
    GlobalTensor<uint8_t> gm;
    gm.SetGlobalBuffer((__gm__ uint8_t*)from);
    DataCopyPad(to, gm, DataCopyExtParams{1, n, 0, 0, 0}, DataCopyPadExtParams<uint8_t>{false, 0, 0, 0});
}
}  // namespace

__global__ __aicore__ void forms(GM_ADDR x, GM_ADDR y, GM_ADDR w, GM_ADDR z, uint32_t nx, uint32_t ny, uint32_t nw, uint32_t nz, int32_t op, int32_t p, int32_t q) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> bx, by, bw, bz, scratch, small;
    pipe.InitBuffer(bx, 32768);
    pipe.InitBuffer(by, 32768);
    pipe.InitBuffer(bw, 32768);
    pipe.InitBuffer(bz, 32768);
    pipe.InitBuffer(scratch, 32768);
    pipe.InitBuffer(small, 256);
    LocalTensor<uint8_t> a = bx.Get<uint8_t>(), b = by.Get<uint8_t>(), c = bw.Get<uint8_t>(), d = bz.Get<uint8_t>();
    In(a, x, nx);
    In(b, y, ny);
    In(c, w, nw);
    In(d, z, nz);
    PipeBarrier<PIPE_ALL>();
    LocalTensor<float> af = bx.Get<float>(), bf = by.Get<float>(), df = bz.Get<float>(), sf = scratch.Get<float>();
    LocalTensor<half> ah = bx.Get<half>(), bh = by.Get<half>(), dh = bz.Get<half>(), sh = scratch.Get<half>();
    LocalTensor<int32_t> ai = bx.Get<int32_t>(), bi = by.Get<int32_t>(), di = bz.Get<int32_t>();
    LocalTensor<uint32_t> ci = bw.Get<uint32_t>(), du = bz.Get<uint32_t>();
    uint64_t bits[2] = {0x00ff00ff00ff00ffull, 0xf0f0f0f0f0f0f0f0ull};
    uint64_t kept = 0;
    switch (op) {
        case 0: Add(df, af, bf, 40, 3, {1, 1, 1, 8, 8, 8}); break;
        case 1: Add(dh, ah, bh, bits, 2, {2, 1, 1, 16, 8, 8}); break;
        case 2:
            SetMaskCount();
            SetVectorMask<float, MaskMode::COUNTER>(0, 150);
            Add<float, false>(df, af, bf, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8});
            SetMaskNorm();
            ResetMask();
            break;
        case 3:
            SetVectorMask<float>(0, 0xf0f0);
            Muls<float, false>(df, af, 2.0f, MASK_PLACEHOLDER, 2, {1, 1, 8, 8});
            ResetMask();
            break;
        case 4: Compare(d, af, bf, static_cast<CMPMODE>(p), static_cast<uint32_t>(q)); break;
        case 5: Compare(d, ah, bh, static_cast<CMPMODE>(p), static_cast<uint64_t>(16), 2, {1, 1, 1, 8, 8, 8}); break;
        case 6: CompareScalar(d, af, bf.GetValue(0), static_cast<CMPMODE>(p), static_cast<uint32_t>(q)); break;
        case 7:
            Compare(af, bf, CMPMODE::LT, static_cast<uint64_t>(64), BinaryRepeatParams());
            GetCmpMask(d);
            break;
        case 8: Select(df, c, af, bf, SELMODE::VSEL_CMPMASK_SPR, static_cast<uint32_t>(q)); break;
        case 9: Select(df, c, af, 7.5f, SELMODE::VSEL_TENSOR_SCALAR_MODE, static_cast<uint32_t>(q)); break;
        case 10: Select(df, c, af, bf, SELMODE::VSEL_TENSOR_TENSOR_MODE, static_cast<uint32_t>(q)); break;
        case 11: Select(dh, c, ah, bh, SELMODE::VSEL_TENSOR_TENSOR_MODE, static_cast<uint64_t>(32), 2, {1, 1, 1, 8, 8, 8}); break;
        case 12:
            SetCmpMask(c);
            SetVectorMask<float>(64);
            Select<float, SELMODE::VSEL_CMPMASK_SPR>(df, af, bf, 2, {1, 1, 1, 8, 8, 8});
            ResetMask();
            break;
        case 13: {
            LocalTensor<uint32_t> address = scratch.Get<uint32_t>();
            Duplicate(address, static_cast<uint32_t>(reinterpret_cast<uint64_t>(c.GetPhyAddr())), 32);
            SetCmpMask<int64_t>(scratch.Get<int64_t>());
            SetVectorMask<float>(64);
            Select<float, SELMODE::VSEL_TENSOR_TENSOR_MODE>(df, af, bf, 2, {1, 1, 1, 8, 8, 8});
            ResetMask();
            break;
        }
        case 14:
            Duplicate(sf, 7.5f, 64);
            SetCmpMask(sf);
            SetVectorMask<float>(64);
            Select(df, c, af, 2, {1, 1, 1, 8, 8, 8});
            ResetMask();
            break;
        case 15: Sort32(df, af, ci, p); break;
        case 16: Sort32(dh, ah, ci, p); break;
        case 17:
        case 18: {  // p queues of 32 elements
            Sort32(sf, af, ci, 8);
            uint16_t lengths[4] = {32, 32, 32, 32};
            MrgSortSrcList<float> list(sf[0], sf[64], sf[128], sf[192]);
            MrgSort4Info info(lengths, op == 18, p == 2 ? 3 : p == 3 ? 7 : 15, q);
            MrgSort(df, list, info);
            if (op == 18) {
                uint16_t taken[4];
                GetMrgSortResult(taken[0], taken[1], taken[2], taken[3]);
                for (int i = 0; i < 4; ++i) df.SetValue(1024 + i, static_cast<float>(taken[i]));
            }
            break;
        }
        case 19: {  // the full sort of 128 halves, and its parts
            LocalTensor<half> concat, tmp = sh[2048], sorted = sh;
            Concat(concat, ah, tmp, 8);
            if (p) Sort<half, true>(sorted, concat, ci, tmp, 4);
            else {
                Sort<half, false>(sorted, concat, ci, tmp, 4);
                const uint32_t offset = GetSortOffset<half>(32);
                MrgSortSrcList list = MrgSortSrcList(sorted[0], sorted[offset], sorted[2 * offset], sorted[3 * offset]);
                const uint16_t lengths[4] = {32, 32, 32, 32};
                uint32_t taken[4];
                MrgSort<half, false>(tmp, list, lengths, taken, 0b1111, 1);
                sorted = tmp;
            }
            Extract(dh, du[256], sorted, 4);
            break;
        }
        case 20: {  // an NCHW plane of halves to NC1HWC0, as the page does
            TransDataTo5HDParams params(false, false, 16, 16, 1);
            LocalTensor<half> to[16], from[16];
            for (int i = 0; i < 16; ++i) to[i] = dh[16 * i], from[i] = ah[256 * i];
            TransDataTo5HD<half>(to, from, params);
            break;
        }
        case 21: {  // 16 x 8 floats to 8 x 16, by addresses
            TransDataTo5HDParams params(false, false, 1, 0, 0);
            uint64_t to[16], from[16];
            for (int i = 0; i < 16; ++i) to[i] = (uint64_t)df[8 * i].GetPhyAddr(), from[i] = (uint64_t)af[8 * i].GetPhyAddr();
            TransDataTo5HD<float>(to, from, params);
            break;
        }
        case 22: {  // bytes: which half of a block is read and written
            TransDataTo5HDParams params(p & 1, p & 2, 1, 0, 0);
            LocalTensor<int8_t> to[16], from[16], out = bz.Get<int8_t>(), in = bx.Get<int8_t>();
            for (int i = 0; i < 16; ++i) to[i] = out[32 * i], from[i] = in[32 * i];
            TransDataTo5HD<int8_t>(to, from, params);
            break;
        }
        case 23: {  // one repeat starts a stride later
            TransDataTo5HDParams params(false, false, 1, 16, 16);
            LocalTensor<half> to[16], from[16];
            for (int i = 0; i < 16; ++i) to[i] = dh[16 * i], from[i] = ah[16 * i];
            TransDataTo5HD<half>(to, from, params);
            break;
        }
        case 24: Transpose(dh, ah, scratch.Get<uint8_t>(), TransposeParamsExt(3, 3, 2, 8, TransposeType::TRANSPOSE_NCHW2NHWC)); break;
        case 25: Transpose(df, af, scratch.Get<uint8_t>(), TransposeParamsExt(2, 5, 4, 6, TransposeType::TRANSPOSE_NHWC2NCHW)); break;
        case 26: Gather(dh, ah, ci, 0u, 128u); break;
        case 27: Gather(df, af, ci, 32u, static_cast<uint64_t>(48), 2, 8); break;
        case 28: Gatherb(bz.Get<uint16_t>(), bx.Get<uint16_t>(), ci, 1, GatherRepeatParams{1, 8}); break;
        case 29:
            GatherMask(df, af, static_cast<uint8_t>(p), false, 0, GatherMaskParams(1, 2, 8, 0), kept);
            df.SetValue(1024, static_cast<float>(kept));
            break;
        case 30:
            GatherMask(du, bx.Get<uint32_t>(), ci, true, 70, {1, 2, 4, 0}, kept);
            df.SetValue(1024, static_cast<float>(kept));
            break;
        case 31: AddReluCast(dh, af, bf, static_cast<uint32_t>(q)); break;
        case 32: SubReluCast(bz.Get<int8_t>(), ah, bh, static_cast<uint64_t>(128), 2, {1, 1, 1, 4, 8, 8}); break;
        case 33: MulCast(bz.Get<uint8_t>(), ah, bh, static_cast<uint32_t>(q)); break;
        case 34:
            SetDeqScale(static_cast<half>(0.1));
            AddDeqRelu(dh, ai, bi, static_cast<uint32_t>(q));
            break;
        case 35: {
            float scale[16];
            int16_t offset[16];
            bool sign[16];
            for (int i = 0; i < 16; ++i) scale[i] = 0.5f * static_cast<float>(i), offset[i] = static_cast<int16_t>(-i), sign[i] = true;
            VdeqInfo info(scale, offset, sign);
            LocalTensor<uint64_t> table = scratch.Get<uint64_t>();
            SetDeqScale(table, info);
            CastDeq<int8_t, int16_t, true, true>(bz.Get<int8_t>(), bx.Get<int16_t>(), 256);
            break;
        }
        case 36:
            SetDeqScale(2.0f, static_cast<int16_t>(3), false);
            CastDeq<uint8_t, int16_t, true, false, false>(d, bx.Get<int16_t>(), 128, 2, {1, 1, 8, 8});
            break;
        case 37: Brcb(bz.Get<uint16_t>(), bx.Get<uint16_t>(), 2, {1, 8}); break;
        case 38:
            SetMaskCount();
            Copy(df, af, 40, 2, {1, 2, 8, 16});
            SetMaskNorm();
            break;
        case 39: CreateVecIndex(di, 5, static_cast<uint64_t>(20), 2, 1, 8); break;
        case 40: Duplicate(dh, half(18.0), bits, 2, 1, 12); break;
        case 41: Axpy(df, ah, half(2.0), static_cast<uint64_t>(64), 2, {1, 1, 8, 4}); break;
        case 43:
            ReduceMax(df, af, sf, 64, p, 8, true);
            break;
        case 44: WholeReduceMin(df, af, 50, 3, 1, 1, 8, static_cast<ReduceOrder>(p)); break;
        case 45: PairReduceSum(df, af, 1, 62, 1, 1, 8); break;
        case 46: BlockReduceMax(dh[8], ah, 2, 128, 1, 1, 8); break;
        case 47: {
            WholeReduceMax(sf, af, 64, 1, 1, 1, 8);
            float value = 0, index = 0;
            GetReduceMaxMinCount<float>(value, index);
            df.SetValue(0, value);
            df.SetValue(1, index);
            break;
        }
        case 48:
            ReduceSum(df[3], af, small.Get<float>(), static_cast<int32_t>(q));  // any size of scratch; dst at 4 bytes
            df.SetValue(5, GetAccVal<float>());
            break;
        case 49: WholeReduceSum(dh[1], ah, 128, 3, 1, 1, 8); break;
        case 50: MulAddDst(df, ah, bh, static_cast<int32_t>(q)); break;
        case 51: ReduceMin(df[2], af, sf, static_cast<int32_t>(q), true); break;
        case 52: Cast(di, ah, RoundMode::CAST_CEIL, static_cast<uint64_t>(32), 2, {1, 1, 8, 4}); break;
        case 53: Select(dh, c, ah, half(2.0), SELMODE::VSEL_TENSOR_SCALAR_MODE, bits, 1, {1, 1, 1, 8, 8, 8}); break;
        case 54: ReduceSum(df, af, sf, 64, p, 8); break;
        // findings
        case 60: Adds(df, af, 1.0f, 256); Adds(af, af[8], 1.0f, 128); break;
        case 61: Adds(af[64], af, 1.0f, 64, 3, {1, 1, 8, 8}); break;
        case 62: Add(df, af, df, 64, 3, {1, 1, 1, 0, 8, 0}); break;
        case 63: Adds(df, af, 1.0f, static_cast<uint64_t>(64), 256 + p, {1, 1, 8, 8}); break;
        case 64: {
            UnaryRepeatParams strides;
            strides.srcRepStride = 256 + p;
            Adds(df, af, 1.0f, static_cast<uint64_t>(64), 2, strides);
            break;
        }
        case 65: ShiftRight(di, ai, 40, 64); break;
        case 66: CompareScalar(d, ai, 3, CMPMODE::LT, 64); break;
        case 67: Cast(di, af, RoundMode::CAST_NONE, 64); break;
        case 68: Scatter(dh, ah, ci, 0u, 128u); break;
        case 69:
            ProposalConcat(sh, ah, 4, 4);
            RpSort16(sh[1024], sh, 4);
            {
                uint16_t lengths[4] = {16, 16, 16, 16};
                MrgSortSrcList<half> list(sh[1024], sh[1152], sh[1280], sh[1408]);
                MrgSort4(sh[4096], list, MrgSort4Info(lengths, false, 15, 1));
                ProposalExtract(dh, sh[4096], 4, 4);
            }
            break;
        case 70: ReduceMax(df, af, small.Get<float>(), 4096, true); break;
        case 71: Cast(dh, ai, RoundMode::CAST_NONE, 64); break;
        case 72: Cast(af.ReinterpretCast<half>(), af, RoundMode::CAST_RINT, 512); Adds(dh, ah, half(0.0), 512); break;
        case 73: Cast(af, ah, RoundMode::CAST_NONE, 512); break;
        case 74: Gather(df, af, ci, 0u, 8u); break;
        case 75: {  // lanes of padding that are thrown away, by way of bits
            LocalTensor<float> fresh = scratch.Get<float>();
            Adds(fresh, af, 0.0f, 100);
            Compare(small.Get<uint8_t>(), fresh, bf, CMPMODE::LT, 128);
            Select(df, small.Get<uint8_t>(), af, bf, SELMODE::VSEL_TENSOR_TENSOR_MODE, 128);
            break;
        }
        case 76: {  // a sort over scores that nothing wrote
            LocalTensor<float> fresh = scratch.Get<float>();
            Adds(fresh, af, 0.0f, 24);
            Sort32(df, fresh, ci, 1);
            break;
        }
        case 77: Cast(af, ah[512], RoundMode::CAST_NONE, 512); Adds(df, af, 0.0f, 512); break;
    }
    PipeBarrier<PIPE_ALL>();
    GlobalTensor<uint8_t> gm;
    gm.SetGlobalBuffer((__gm__ uint8_t*)z);
    DataCopyPad(gm, d, DataCopyExtParams{1, nz, 0, 0, 0});
}

extern "C" void forms_do(int op, void* stream, uint8_t* x, uint8_t* y, uint8_t* w, uint8_t* z, uint32_t nx, uint32_t ny, uint32_t nw, uint32_t nz, int32_t p, int32_t q) {
    forms<<<1, nullptr, stream>>>(x, y, w, z, nx, ny, nw, nz, op, p, q);
}
