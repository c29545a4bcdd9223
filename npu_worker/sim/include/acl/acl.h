// The host runtime calls that kernels' host sides make, on host memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace opmend_sim {
void register_global(const void* begin, size_t bytes);
void forget_global(const void* begin);
void poison(void* data, size_t bytes);
}  // namespace opmend_sim

typedef void* aclrtStream;
typedef void* aclrtContext;
typedef void* aclrtEvent;
typedef int aclError;
enum : int { ACL_SUCCESS = 0, ACL_ERROR_NONE = 0, ACL_ERROR_INVALID_PARAM = 100000, ACL_ERROR_BAD_ALLOC = 200000 };
enum aclrtMemcpyKind { ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE };
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };
enum aclDataType { ACL_DT_UNDEFINED = -1, ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_INT8 = 2, ACL_INT32 = 3, ACL_UINT8 = 4, ACL_INT16 = 6,
                   ACL_UINT16 = 7, ACL_UINT32 = 8, ACL_INT64 = 9, ACL_UINT64 = 10, ACL_DOUBLE = 11, ACL_BOOL = 12, ACL_BF16 = 27 };

inline aclError aclInit(const char*) { return ACL_SUCCESS; }
inline aclError aclFinalize() { return ACL_SUCCESS; }
inline aclError aclrtSetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtResetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtGetDevice(int32_t* device) { *device = 0; return ACL_SUCCESS; }
inline aclError aclrtCreateContext(aclrtContext* context, int32_t) { *context = nullptr; return ACL_SUCCESS; }
inline aclError aclrtDestroyContext(aclrtContext) { return ACL_SUCCESS; }
inline aclError aclrtCreateStream(aclrtStream* stream) { *stream = nullptr; return ACL_SUCCESS; }
inline aclError aclrtDestroyStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeDevice() { return ACL_SUCCESS; }
inline aclError aclrtMalloc(void** data, size_t bytes, aclrtMemMallocPolicy) {
    const size_t rounded = (bytes + 511) / 512 * 512;
    *data = bytes ? std::aligned_alloc(512, rounded) : nullptr;
    if (!*data) return bytes ? ACL_ERROR_BAD_ALLOC : ACL_ERROR_INVALID_PARAM;
    ::opmend_sim::poison(*data, rounded);
    ::opmend_sim::register_global(*data, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtFree(void* data) {
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
inline const char* aclGetRecentErrMsg() { return ""; }
inline const char* aclrtGetSocName() { return "Ascend910B2"; }
