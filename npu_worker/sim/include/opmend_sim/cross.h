// Cores that wait for each other: cross-core flags, IBSet and IBWait, NotifyNextBlock and WaitPreBlock.
// Sources: the documentation pages of CrossCoreSetFlag, CrossCoreWaitFlag, IBSet, IBWait, InitDetermineComputeWorkspace.
#pragma once
#include "opmend_sim/sync.h"

namespace opmend_sim {
// mode 0: all cores of the caller's kind; 1: the AIVs of a block; 2: a block's AIC with its AIVs. A flag fires when all have set it.
void cross_set(int mode, int64_t id, Where where);
void cross_wait(int64_t id, Where where);
void signal_set(const void* workspace, int64_t block, int64_t event, Where where);
void signal_wait(const void* workspace, int64_t block, int64_t event, Where where);
void notify_next(Where where);
void wait_previous(Where where);
}  // namespace opmend_sim

namespace AscendC {

template <uint8_t modeId, pipe_t pipe> void CrossCoreSetFlag(uint16_t flagId, OPMEND_WHERE) {
    static_assert(modeId <= 2, "CrossCoreSetFlag: modes are 0, 1 and 2");
    ::opmend_sim::cross_set(modeId, flagId, where);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S> void CrossCoreWaitFlag(uint16_t flagId, OPMEND_WHERE) { ::opmend_sim::cross_wait(flagId, where); }

template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>&, int32_t blockIdx, int32_t eventID, OPMEND_WHERE) {
    ::opmend_sim::signal_set(gmWorkspace.GetPhyAddr(), blockIdx, eventID, where);
}
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>&, int32_t blockIdx, int32_t eventID, OPMEND_WHERE) {
    ::opmend_sim::signal_wait(gmWorkspace.GetPhyAddr(), blockIdx, eventID, where);
}

// Blocks take turns in the order of GetBlockIdx.
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>&, LocalTensor<int32_t>&) { ::opmend_sim::core(); }
inline void NotifyNextBlock(GlobalTensor<int32_t>&, LocalTensor<int32_t>&, OPMEND_WHERE) { ::opmend_sim::notify_next(where); }
inline void WaitPreBlock(GlobalTensor<int32_t>&, LocalTensor<int32_t>&, OPMEND_WHERE) { ::opmend_sim::wait_previous(where); }

}  // namespace AscendC
