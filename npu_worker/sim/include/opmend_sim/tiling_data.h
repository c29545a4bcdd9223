// Tiling data as both sides see it: one plain struct with the host's set_x, get_x, SaveToBuffer and GetDataSize. A kernel that never includes
// the host's header gets the same text from the toolchain (toolchains/tilings.py), so both have one layout: fields in order, naturally aligned.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace opmend_sim {
template <class T> void save_tiling(const T& data, void* to, size_t room) {
    static_assert(std::is_trivially_copyable_v<T>, "tiling data holds plain fields, arrays and structs");
    if (to) std::memcpy(to, &data, sizeof(T) < room ? sizeof(T) : room);
}
}  // namespace opmend_sim

#define BEGIN_TILING_DATA_DEF(name)                                                                                  \
    struct name {                                                                                                    \
        void SaveToBuffer(void* to, size_t room) const { ::opmend_sim::save_tiling(*this, to, room); }                 \
        size_t GetDataSize() const { return sizeof(*this); }                                                           \
        const char* GetTilingClassName() const { return #name; }
#define TILING_DATA_FIELD_DEF(type, name)                                                                            \
    type name{};                                                                                                     \
    void set_##name(type value) { name = value; }                                                                    \
    type get_##name() const { return name; }
#define TILING_DATA_FIELD_DEF_ARR(type, length, name)                                                                \
    type name[length]{};                                                                                             \
    void set_##name(const type* values) { std::memcpy(name, values, sizeof(name)); }                                  \
    type* get_##name() { return name; }                                                                              \
    const type* get_##name() const { return name; }
#define TILING_DATA_FIELD_DEF_STRUCT(type, name) type name{};
#define END_TILING_DATA_DEF }
// Which operator a struct belongs to: the toolchain reads it from the text.
#define REGISTER_TILING_DATA_CLASS(operator_name, tiling_struct) \
    static_assert(sizeof(tiling_struct) > 0, "tiling data of " #operator_name);
