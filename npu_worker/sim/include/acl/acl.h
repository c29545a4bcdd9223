// The host runtime calls that kernels' host sides make, on host memory. One device, streams in order: a call has ended when it returns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace opmend_sim {
void register_global(const void* begin, size_t bytes);
void forget_global(const void* begin);
void poison(void* data, size_t bytes);
const char* soc_name();
// What handles point to: programs check that they are not null.
inline void* handle() {
    static char one;
    return &one;
}
inline void* device_memory(size_t bytes) {
    const size_t rounded = (bytes + 511) / 512 * 512;
    void* data = std::aligned_alloc(512, rounded);
    if (!data) return nullptr;
    poison(data, rounded);
    register_global(data, bytes);
    return data;
}
}  // namespace opmend_sim

typedef void* aclrtStream;
typedef void* aclrtContext;
typedef void* aclrtEvent;
typedef void* aclrtNotify;
typedef int aclError;
typedef uint16_t aclFloat16;
enum : int {
    ACL_SUCCESS = 0, ACL_ERROR_NONE = 0, ACL_ERROR_INVALID_PARAM = 100000, ACL_ERROR_UNINITIALIZE = 100001, ACL_ERROR_REPEAT_INITIALIZE = 100002,
    ACL_ERROR_BAD_ALLOC = 200000, ACL_ERROR_FAILURE = 500002,
};
enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEFAULT
};
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY, ACL_MEM_MALLOC_HUGE_FIRST_P2P,
                            ACL_MEM_MALLOC_HUGE_ONLY_P2P, ACL_MEM_MALLOC_NORMAL_ONLY_P2P };
enum aclrtMemAttr { ACL_DDR_MEM, ACL_HBM_MEM };
enum aclrtRunMode { ACL_DEVICE, ACL_HOST };
enum aclrtEventStatus { ACL_EVENT_STATUS_COMPLETE = 0, ACL_EVENT_STATUS_NOT_READY = 1 };
enum aclDataType { ACL_DT_UNDEFINED = -1, ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_INT8 = 2, ACL_INT32 = 3, ACL_UINT8 = 4, ACL_INT16 = 6,
                   ACL_UINT16 = 7, ACL_UINT32 = 8, ACL_INT64 = 9, ACL_UINT64 = 10, ACL_DOUBLE = 11, ACL_BOOL = 12, ACL_BF16 = 27 };
enum aclFormat { ACL_FORMAT_UNDEFINED = -1, ACL_FORMAT_NCHW = 0, ACL_FORMAT_NHWC = 1, ACL_FORMAT_ND = 2, ACL_FORMAT_FRACTAL_NZ = 29 };
enum : uint32_t {
    ACL_EVENT_SYNC = 1,
    ACL_EVENT_CAPTURE_STREAM_PROGRESS = 2,
    ACL_EVENT_TIME_LINE = 8,
    ACL_STREAM_FAST_LAUNCH = 1,
    ACL_STREAM_FAST_SYNC = 2
};

inline aclError aclInit(const char*) { return ACL_SUCCESS; }
inline aclError aclFinalize() { return ACL_SUCCESS; }
inline aclError aclrtSetDevice(int32_t device) { return device < 0 ? ACL_ERROR_INVALID_PARAM : ACL_SUCCESS; }
inline aclError aclrtResetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtResetDeviceForce(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtGetDevice(int32_t* device) { *device = 0; return ACL_SUCCESS; }
inline aclError aclrtGetDeviceCount(uint32_t* count) { *count = 1; return ACL_SUCCESS; }
inline aclError aclrtGetRunMode(aclrtRunMode* mode) { *mode = ACL_HOST; return ACL_SUCCESS; }
inline aclError aclrtCreateContext(aclrtContext* context, int32_t) { *context = ::opmend_sim::handle(); return ACL_SUCCESS; }
inline aclError aclrtDestroyContext(aclrtContext) { return ACL_SUCCESS; }
inline aclError aclrtSetCurrentContext(aclrtContext) { return ACL_SUCCESS; }
inline aclError aclrtGetCurrentContext(aclrtContext* context) { *context = ::opmend_sim::handle(); return ACL_SUCCESS; }
inline aclError aclrtCreateStream(aclrtStream* stream) { *stream = ::opmend_sim::handle(); return ACL_SUCCESS; }
inline aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) { return aclrtCreateStream(stream); }
inline aclError aclrtDestroyStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtDestroyStreamForce(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeDevice() { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeDeviceWithTimeout(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtCreateEvent(aclrtEvent* event) { *event = ::opmend_sim::handle(); return ACL_SUCCESS; }
inline aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) { return aclrtCreateEvent(event); }
inline aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) { return aclrtCreateEvent(event); }
inline aclError aclrtDestroyEvent(aclrtEvent) { return ACL_SUCCESS; }
inline aclError aclrtRecordEvent(aclrtEvent, aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtResetEvent(aclrtEvent, aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeEvent(aclrtEvent) { return ACL_SUCCESS; }
inline aclError aclrtStreamWaitEvent(aclrtStream, aclrtEvent) { return ACL_SUCCESS; }
inline aclError aclrtQueryEventStatus(aclrtEvent, aclrtEventStatus* status) { *status = ACL_EVENT_STATUS_COMPLETE; return ACL_SUCCESS; }
// No time passes on a simulator that means anything for a device.
inline aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent, aclrtEvent) { *milliseconds = 0.0f; return ACL_SUCCESS; }
inline aclError aclrtMalloc(void** data, size_t bytes, aclrtMemMallocPolicy) {
    *data = bytes ? ::opmend_sim::device_memory(bytes) : nullptr;
    return *data ? ACL_SUCCESS : bytes ? ACL_ERROR_BAD_ALLOC : ACL_ERROR_INVALID_PARAM;
}
inline aclError aclrtMallocAlign32(void** data, size_t bytes, aclrtMemMallocPolicy policy) { return aclrtMalloc(data, bytes, policy); }
inline aclError aclrtMallocCached(void** data, size_t bytes, aclrtMemMallocPolicy policy) { return aclrtMalloc(data, bytes, policy); }
inline aclError aclrtFree(void* data) {
    if (!data) return ACL_ERROR_INVALID_PARAM;
    ::opmend_sim::forget_global(data);
    std::free(data);
    return ACL_SUCCESS;
}
inline aclError aclrtMallocHost(void** data, size_t bytes) {
    *data = std::malloc(bytes);
    return *data ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}
inline aclError aclrtFreeHost(void* data) {
    std::free(data);
    return ACL_SUCCESS;
}
inline aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind) {
    if (bytes > room || (bytes && (!to || !from))) return ACL_ERROR_INVALID_PARAM;
    std::memmove(to, from, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind kind, aclrtStream) {
    return aclrtMemcpy(to, room, from, bytes, kind);
}
inline aclError aclrtMemset(void* to, size_t room, int32_t value, size_t bytes) {
    if (bytes > room || (bytes && !to)) return ACL_ERROR_INVALID_PARAM;
    std::memset(to, value, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtMemsetAsync(void* to, size_t room, int32_t value, size_t bytes, aclrtStream) { return aclrtMemset(to, room, value, bytes); }
inline aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free_bytes, size_t* total_bytes) {
    *free_bytes = *total_bytes = size_t{64} << 30;
    return ACL_SUCCESS;
}
inline size_t aclDataTypeSize(aclDataType type) {
    switch (type) {
        case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
        case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
        case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
        case ACL_DOUBLE: case ACL_INT64: case ACL_UINT64: return 8;
        default: return 0;
    }
}
inline const char* aclGetRecentErrMsg() { return ""; }
inline const char* aclrtGetSocName() { return ::opmend_sim::soc_name(); }
