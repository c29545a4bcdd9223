// Block indices, barriers, events, atomics and caches.
#pragma once
#include <cstdarg>

#include "opmend_sim/pipe.h"

namespace opmend_sim {
void set_flag(int event, int id, Where where);
void wait_flag(int event, int id, Where where);
int take_event(int event, Where where);
inline void set_atomic(Atomic how, Where where) {
    core().atomic = how;
    core().atomic_place = where;
}
int event_between(pipe_t from, pipe_t to, Where where);
// Every pipe waits for every other.
void sync_pipes(Core& core);
}  // namespace opmend_sim

namespace AscendC {

// On an AIV: block x ratio + sub-block.
inline int64_t GetBlockIdx() {
    const ::opmend_sim::Core& now = ::opmend_sim::core();
    return now.unit == ::opmend_sim::Unit::Vector ? static_cast<int64_t>(now.block) * now.ratio + now.sub : now.block;
}
inline int64_t GetBlockNum() { return ::opmend_sim::core().blocks; }
inline int64_t GetSubBlockIdx() { return ::opmend_sim::core().sub; }
inline int64_t GetSubBlockNum() { return ::opmend_sim::core().unit == ::opmend_sim::Unit::Vector ? ::opmend_sim::core().ratio : 1; }
inline int64_t GetTaskRation() { return GetSubBlockNum(); }
inline int64_t GetTaskRatio() { return GetSubBlockNum(); }
inline int64_t GetProgramCounter() { return 0; }
inline int64_t GetSystemCycle() { return 0; }
inline int64_t GetArchVersion() { return 0x220; }

// All pipes run in program order, so a barrier has nothing to wait for; what it orders is remembered.
template <pipe_t pipe> void PipeBarrier() {
    ++::opmend_sim::core().cost.barriers;
    if constexpr (pipe == PIPE_ALL) ::opmend_sim::sync_pipes(::opmend_sim::core());
}
inline void DataSyncBarrier() {}
enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };
template <MemDsbT arg> void DataSyncBarrier() {}

template <HardEvent event> void SetFlag(int32_t id, OPMEND_WHERE) { ::opmend_sim::set_flag(static_cast<int>(event), id, where); }
template <HardEvent event> void WaitFlag(int32_t id, OPMEND_WHERE) { ::opmend_sim::wait_flag(static_cast<int>(event), id, where); }

template <HardEvent event> TEventID TPipe::AllocEventID(::opmend_sim::Where where) {
    return static_cast<TEventID>(::opmend_sim::take_event(static_cast<int>(event), where));
}
template <HardEvent event> void TPipe::ReleaseEventID(TEventID id) {
    ::opmend_sim::core().events_taken[static_cast<int>(event)] &= ~(1u << id);
}
inline TEventID TPipe::FetchEventID(HardEvent event, ::opmend_sim::Where where) {
    const int id = ::opmend_sim::take_event(static_cast<int>(event), where);
    ::opmend_sim::core().events_taken[static_cast<int>(event)] &= ~(1u << id);
    return static_cast<TEventID>(id);
}
template <HardEvent event> TEventID TPipe::FetchEventID(::opmend_sim::Where where) { return FetchEventID(event, where); }

template <bool isAIVOnly = true> void SyncAll(OPMEND_WHERE) { ::opmend_sim::sync_all(isAIVOnly, 0, where); }
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, int32_t usedCores = 0, OPMEND_WHERE) {
    ::opmend_sim::sync_all(isAIVOnly, usedCores > 0 ? static_cast<uint32_t>(usedCores) : 0, where);
}

template <class T> void SetAtomicAdd(OPMEND_WHERE) { ::opmend_sim::set_atomic(::opmend_sim::Atomic::Add, where); }
template <class T> void SetAtomicMax(OPMEND_WHERE) { ::opmend_sim::set_atomic(::opmend_sim::Atomic::Max, where); }
template <class T> void SetAtomicMin(OPMEND_WHERE) { ::opmend_sim::set_atomic(::opmend_sim::Atomic::Min, where); }
inline void SetAtomicNone() { ::opmend_sim::core().atomic = ::opmend_sim::Atomic::None; }
template <class T> void DisableDmaAtomic() { SetAtomicNone(); }
inline void DisableDmaAtomic() { SetAtomicNone(); }

// Global memory is coherent here, so the data cache needs no care.
template <class T, CacheLine line = CacheLine::SINGLE_CACHE_LINE, DcciDst destination = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>&) {}
template <class T, CacheLine line = CacheLine::SINGLE_CACHE_LINE, DcciDst destination = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const LocalTensor<T>&) {}
template <class T> void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {}

template <class T> void InitGlobalMemory(const GlobalTensor<T>& tensor, uint64_t size, T value, OPMEND_WHERE) {
    if (size == 0) return;
    tensor.require_inside(size - 1, where);
    T* to = tensor.GetPhyAddr();
    ::opmend_sim::used_global(to, size * sizeof(T), 1, 0, ::opmend_sim::GlobalUse::Write, "InitGlobalMemory", where);
    for (uint64_t i = 0; i < size; ++i) to[i] = value;
}
template <class T> void InitOutput(const GlobalTensor<T>& tensor, uint64_t size, T value = T(0), OPMEND_WHERE) {
    InitGlobalMemory(tensor, size, value, where);
}
template <class T> void Fill(const GlobalTensor<T>& tensor, uint64_t size, T value, OPMEND_WHERE) {
    InitGlobalMemory(tensor, size, value, where);
}

inline __attribute__((format(printf, 1, 2))) int printf_of_kernel(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int written = vfprintf(stderr, format, arguments);
    va_end(arguments);
    return written;
}
#define PRINTF(...) ::AscendC::printf_of_kernel(__VA_ARGS__)
using ::printf;
template <class T> void DumpTensor(const T&, uint32_t, uint32_t) {}
template <class T> void DumpTensor(const T&, uint32_t, uint32_t, const ShapeInfo&) {}
template <class T> void DumpAccChkPoint(const T&, uint32_t, uint32_t, uint32_t) {}

inline float ToFloat(bfloat16_t value) { return static_cast<float>(value); }
inline bfloat16_t ToBfloat16(float value) { return bfloat16_t(value); }

inline int64_t ScalarGetCountOfValue(uint64_t value, int bit) { return bit ? __builtin_popcountll(value) : 64 - __builtin_popcountll(value); }
template <int bit> int64_t ScalarGetCountOfValue(uint64_t value) { return ScalarGetCountOfValue(value, bit); }
template <int bit> int64_t GetBitCount(uint64_t value) { return ScalarGetCountOfValue(value, bit); }
inline int64_t ScalarCountLeadingZero(uint64_t value) { return value ? __builtin_clzll(value) : 64; }
template <int bit> int64_t ScalarGetSFFValue(uint64_t value) {
    const uint64_t bits = bit ? value : ~value;
    return bits ? __builtin_ctzll(bits) : -1;
}

template <class T> void SetMaskNormImpl();
inline void SetMaskNorm() { ::opmend_sim::core().mask_mode = ::opmend_sim::MaskMode::Normal; }
inline void SetMaskCount(OPMEND_WHERE) {
    ::opmend_sim::core().mask_mode = ::opmend_sim::MaskMode::Counter;
    ::opmend_sim::core().mask_place = where;
}
template <class T, MaskMode mode = MaskMode::NORMAL> void SetVectorMask(uint64_t high, uint64_t low) {
    ::opmend_sim::core().mask[0] = low;
    ::opmend_sim::core().mask[1] = high;
}
template <class T, MaskMode mode = MaskMode::NORMAL> void SetVectorMask(int32_t length) {
    ::opmend_sim::Core& now = ::opmend_sim::core();
    const uint64_t n = static_cast<uint64_t>(length);
    now.mask[0] = mode == MaskMode::COUNTER ? n : (n >= 64 ? ~0ull : (1ull << n) - 1);
    now.mask[1] = mode == MaskMode::COUNTER ? 0 : (n >= 128 ? ~0ull : n > 64 ? (1ull << (n - 64)) - 1 : 0);
}
inline void ResetMask() {
    ::opmend_sim::core().mask[0] = ::opmend_sim::core().mask[1] = ~0ull;
}
inline void SetSysWorkspaceForce(GM_ADDR) {}
inline void SetSysWorkspace(GM_ADDR) {}
// Of an operator's call the first bytes belong to the library, where the tiling function asked for that much; else the caller's memory is its own.
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace, OPMEND_WHERE) { return ::opmend_sim::user_workspace(workspace, where); }
inline void OOMCheckAddrRange(GM_ADDR, uint64_t) {}
template <class T, class U> struct IsSameType {
    static constexpr bool value = std::is_same_v<T, U>;
};
template <bool condition, class T, class U> struct Conditional {
    using type = std::conditional_t<condition, T, U>;
};

namespace Std {
template <class T> constexpr T min(const T a, const T b) { return b < a ? b : a; }
template <class T> constexpr T max(const T a, const T b) { return a < b ? b : a; }
using std::conditional;
using std::conditional_t;
using std::decay_t;
using std::enable_if;
using std::enable_if_t;
using std::integral_constant;
using std::is_convertible;
using std::is_floating_point;
using std::is_integral;
using std::is_same;
using std::is_same_v;
}  // namespace Std

template <class... A> void Trap(A...) { ::opmend_sim::fail("trap", "the kernel called Trap", ::opmend_sim::Where{"", 0}); }

}  // namespace AscendC

using AscendC::GetTPipePtr;
using AscendC::printf_of_kernel;
inline void trap() { ::opmend_sim::fail("trap", "the kernel called trap", ::opmend_sim::Where{"", 0}); }

// The device compiler's min and max of scalars, mixed types too. std's and a kernel's own are preferred where they fit.
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, int> = 0>
constexpr std::common_type_t<A, B> min(A a, B b) {
    return b < a ? static_cast<std::common_type_t<A, B>>(b) : static_cast<std::common_type_t<A, B>>(a);
}
template <class A, class B, std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, int> = 0>
constexpr std::common_type_t<A, B> max(A a, B b) {
    return a < b ? static_cast<std::common_type_t<A, B>>(b) : static_cast<std::common_type_t<A, B>>(a);
}
template <class F> opmend_sim::Narrow<F> min(opmend_sim::Narrow<F> a, opmend_sim::Narrow<F> b) { return b < a ? b : a; }
template <class F> opmend_sim::Narrow<F> max(opmend_sim::Narrow<F> a, opmend_sim::Narrow<F> b) { return a < b ? b : a; }

// The intrinsics that kernels use beside the AscendC names.
inline int64_t get_block_idx() { return AscendC::GetBlockIdx(); }
inline int64_t get_block_num() { return AscendC::GetBlockNum(); }
inline int64_t get_subblockid() { return AscendC::GetSubBlockIdx(); }
inline int64_t get_subblockdim() { return AscendC::GetSubBlockNum(); }
inline void pipe_barrier(pipe_t pipe) {
    ++opmend_sim::core().cost.barriers;
    if (pipe == PIPE_ALL) opmend_sim::sync_pipes(opmend_sim::core());
}
inline void set_flag(pipe_t from, pipe_t to, int64_t id, OPMEND_WHERE) {
    opmend_sim::set_flag(opmend_sim::event_between(from, to, where), static_cast<int>(id), where);
}
inline void wait_flag(pipe_t from, pipe_t to, int64_t id, OPMEND_WHERE) {
    opmend_sim::wait_flag(opmend_sim::event_between(from, to, where), static_cast<int>(id), where);
}
inline void dcci(const void*, int) {}

// As in `if ASCEND_IS_AIV { ... }`. On a SoC whose cores have both units, neither holds (as in the interface, which has a third type there).
namespace AscendC {
enum CoreKind : int32_t { AIC = 0, AIV = 1, MIX = 2 };
}  // namespace AscendC
namespace opmend_sim {
inline AscendC::CoreKind kind_of_core() {
    const Unit unit = core().unit;
    return unit == Unit::Cube ? AscendC::AIC : unit == Unit::Vector ? AscendC::AIV : AscendC::MIX;
}
}  // namespace opmend_sim
namespace AscendC {
struct CoreTypeNow {
    operator CoreKind() const { return ::opmend_sim::kind_of_core(); }
};
inline constexpr CoreTypeNow g_coreType{};
}  // namespace AscendC
#define ASCEND_IS_AIV (::opmend_sim::kind_of_core() == ::AscendC::AIV)
#define ASCEND_IS_AIC (::opmend_sim::kind_of_core() == ::AscendC::AIC)
#define ASCEND_IS_NOT_AIV (!ASCEND_IS_AIV)
#define ASCEND_IS_NOT_AIC (!ASCEND_IS_AIC)
#define ASCENDC_ASSERT(condition, ...)                                                                                   \
    do {                                                                                                                 \
        if (!(condition)) ::opmend_sim::fail("assertion", #condition, ::opmend_sim::Where::here());                       \
    } while (0)
#define ascendc_assert(condition, ...) ASCENDC_ASSERT(condition)
// A kernel has assert without a header of its own; one that fails stops the kernel, not the process. (A later <cassert> takes it back.)
#undef assert
#define assert(condition, ...) \
    ((condition) ? static_cast<void>(0) : static_cast<void>(::opmend_sim::fail("assertion", #condition, ::opmend_sim::Where::here())))

enum KernelMetaType { KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_MIX_AIC_1_0,
                      KERNEL_TYPE_MIX_AIC_1_1, KERNEL_TYPE_MIX_AIC_1_2, KERNEL_TYPE_AICORE, KERNEL_TYPE_VECTORCORE, KERNEL_TYPE_MIX_AICORE,
                      KERNEL_TYPE_MIX_VECTOR_CORE };
namespace opmend_sim {
constexpr Task task_of(KernelMetaType type) {
    switch (type) {
        case KERNEL_TYPE_AIC_ONLY: return Task{1, 0, false};
        case KERNEL_TYPE_MIX_AIV_1_0: return Task{0, 1, true};
        case KERNEL_TYPE_MIX_AIC_1_0: return Task{1, 0, true};
        case KERNEL_TYPE_MIX_AIC_1_1: return Task{1, 1, true};
        case KERNEL_TYPE_MIX_AIC_1_2: return Task{1, 2, true};
        default: return Task{0, 1, false};
    }
}
// TILING_KEY_IS and KERNEL_TASK_TYPE(key, ...) compare with it.
inline uint64_t& tiling_key() {
    static uint64_t key = 0;
    return key;
}
}  // namespace opmend_sim
#define KERNEL_TASK_TYPE_DEFAULT(type) ::opmend_sim::require_task(::opmend_sim::task_of(type), ::opmend_sim::Where::here())
#define KERNEL_TASK_TYPE(key, type)                                                                                       \
    do {                                                                                                                  \
        if (static_cast<uint64_t>(key) == ::opmend_sim::tiling_key()) KERNEL_TASK_TYPE_DEFAULT(type);                       \
    } while (0)
