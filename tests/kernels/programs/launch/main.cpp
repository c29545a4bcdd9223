// The host side as kernel-launch samples have it: files, acl memory, ACLRT_LAUNCH_KERNEL.
#include <cstdlib>

#include "acl/acl.h"
#include "aclrtlaunch_square.h"
#include "files.h"

#define CHECK(call)                                              \
    do {                                                         \
        const aclError error = call;                             \
        if (error != ACL_SUCCESS) {                              \
            std::fprintf(stderr, #call " failed: %d\n", error);  \
            return 3;                                            \
        }                                                        \
    } while (0)

int main(int argc, char** argv) {
    const uint32_t n = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 256;
    const size_t bytes = n * sizeof(float);
    std::vector<float> host(n);
    if (!read_file("input.bin", host)) return 4;
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtContext context = nullptr;
    CHECK(aclrtCreateContext(&context, 0));
    aclrtStream stream = nullptr;
    CHECK(aclrtCreateStream(&stream));
    if (!stream || !context) return 5;
    void *x = nullptr, *z = nullptr;
    CHECK(aclrtMalloc(&x, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&z, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(x, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    ACLRT_LAUNCH_KERNEL(square)(2, stream, x, z, n);
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(host.data(), bytes, z, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(aclrtFree(x));
    CHECK(aclrtFree(z));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtDestroyContext(context));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    std::printf("squared %u\n", n);
    return write_file("output.bin", host) ? 0 : 6;
}
