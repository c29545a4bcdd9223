// A kernel's way to its tiling data: a copy out of the global memory its last argument points to.
#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "opmend_sim/sync.h"
#include "opmend_sim/tensor.h"
#include "opmend_sim/tiling_data.h"

namespace opmend_sim {
// Where a tiling argument's bytes are. Throws unless `bytes` from `offset` on lie in a tensor of the device.
inline const uint8_t* tiling_bytes(const void* tiling, size_t offset, size_t bytes, Where where) {
    const Range range = find_global(tiling);
    if (!range.begin) fail("gm-unknown-address", std::string("tiling data: ") + kUnknownAddress, where);
    const uint8_t* from = static_cast<const uint8_t*>(tiling) + offset;
    if (from < range.begin || from + bytes > range.end)
        fail("gm-read-out-of-range", "tiling data of " + text(static_cast<uint64_t>(bytes)) + " bytes in a tensor of " +
             text(static_cast<uint64_t>(range.end - range.begin)) + " bytes", where);
    return from;
}
template <class T> void copy_tiling(T& out, const void* tiling, size_t offset, Where where) {
    static_assert(std::is_trivially_copyable_v<T>, "tiling data must be trivially copyable");
    std::memcpy(&out, tiling_bytes(tiling, offset, sizeof(T), where), sizeof(T));
}
inline Where tiling_site(OPMEND_WHERE) { return where; }
}  // namespace opmend_sim

#define GET_TILING_DATA_WITH_STRUCT(tiling_struct, tiling_data, tiling_arg) \
    tiling_struct tiling_data; \
    ::opmend_sim::copy_tiling(tiling_data, (const void*)(tiling_arg), 0, ::opmend_sim::tiling_site())
#define GET_TILING_DATA_PTR_WITH_STRUCT(tiling_struct, dst_ptr, tiling_ptr) \
    GET_TILING_DATA_WITH_STRUCT(tiling_struct, opmend_copy_of_##dst_ptr, tiling_ptr); \
    const tiling_struct* dst_ptr = &opmend_copy_of_##dst_ptr
#define COPY_TILING_WITH_STRUCT(tiling_struct, src_ptr, dst_ptr) GET_TILING_DATA_PTR_WITH_STRUCT(tiling_struct, dst_ptr, src_ptr)
#define COPY_TILING_WITH_ARRAY(element_type, count, src_ptr, dst_ptr) \
    element_type dst_ptr[count]; \
    ::opmend_sim::copy_tiling(dst_ptr, (const void*)(src_ptr), 0, ::opmend_sim::tiling_site())
#define GET_TILING_DATA_MEMBER(tiling_type, member, var, tiling) \
    std::remove_cv_t<decltype(tiling_type::member)> var; \
    ::opmend_sim::copy_tiling(var, (const void*)(tiling), offsetof(tiling_type, member), ::opmend_sim::tiling_site())
// The struct that GET_TILING_DATA means is the one registered in scope; else the toolchain names it (toolchains/tilings.py).
#define REGISTER_TILING_DEFAULT(tiling_struct) using OpmendDefaultTiling [[maybe_unused]] = tiling_struct
#define REGISTER_TILING_FOR_TILINGKEY(expression, tiling_struct) static_assert(sizeof(tiling_struct) > 0, expression)
#define REGISTER_NONE_TILING static_assert(true, "no tiling struct")
#define GET_TILING_DATA(tiling_data, tiling_arg) GET_TILING_DATA_WITH_STRUCT(OpmendDefaultTiling, tiling_data, tiling_arg)

// A device compiles a kernel once a key and drops the other branches; here the host's key of the launch decides as it runs.
#define TILING_KEY_IS(key) (::opmend_sim::tiling_key() == static_cast<uint64_t>(key))
#define TILING_KEY_VAR (::opmend_sim::tiling_key())

// The template arguments that a kernel's keys stand for: a device's build makes a kernel of each. Here a launch names them.
#define ASCENDC_TPL_ARGS_DECL(...)
#define ASCENDC_TPL_SEL(...)
#define ASCENDC_TPL_SEL_PARAM(...)
#define ASCENDC_TPL_SEL_PARAM_WITH_TILING(...)
