// Tiling data: plain structs that a kernel copies from the global memory its last argument points to.
#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "opmend_sim/tensor.h"

namespace opmend_sim {
// Copies one tiling struct, or a part of it, out of global memory; the address must be a device tensor's.
template <class T> void copy_tiling(T& out, const void* tiling, size_t offset, Where where) {
    static_assert(std::is_trivially_copyable_v<T>, "tiling data must be trivially copyable");
    const Range range = find_global(tiling);
    if (!range.begin) fail("gm-unknown-address", std::string("tiling data: ") + kUnknownAddress, where);
    const uint8_t* from = static_cast<const uint8_t*>(tiling) + offset;
    if (from + sizeof(T) > range.end)
        fail("gm-read-out-of-range", "tiling data of " + text(static_cast<uint64_t>(sizeof(T))) + " bytes in a tensor of " +
             text(static_cast<uint64_t>(range.end - range.begin)) + " bytes", where);
    std::memcpy(&out, from, sizeof(T));
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
#define GET_TILING_DATA_MEMBER(tiling_type, member, var, tiling) \
    std::remove_cv_t<decltype(tiling_type::member)> var; \
    ::opmend_sim::copy_tiling(var, (const void*)(tiling), offsetof(tiling_type, member), ::opmend_sim::tiling_site())
// The struct that GET_TILING_DATA means is the one that the same scope registers.
#define REGISTER_TILING_DEFAULT(tiling_struct) using OpmendDefaultTiling = tiling_struct
#define GET_TILING_DATA(tiling_data, tiling_arg) GET_TILING_DATA_WITH_STRUCT(OpmendDefaultTiling, tiling_data, tiling_arg)
