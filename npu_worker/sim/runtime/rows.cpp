// Lanes of any type to and from float.
#include "opmend_sim/rows.h"

#include <cmath>
#include <limits>

namespace opmend_sim {
namespace {

template <class T> void widen(const void* from, size_t n, float* to) {
    const T* in = static_cast<const T*>(from);
    for (size_t i = 0; i < n; ++i) to[i] = static_cast<float>(in[i]);
}
template <class T> void narrow(void* to, size_t n, const float* from) {
    T* out = static_cast<T*>(to);
    if constexpr (std::is_integral_v<T>) {
        constexpr double least = static_cast<double>(std::numeric_limits<T>::min()), most = static_cast<double>(std::numeric_limits<T>::max());
        for (size_t i = 0; i < n; ++i) {
            const double value = std::nearbyint(static_cast<double>(from[i]));
            out[i] = std::isnan(value) ? T(0)
                     : value < least   ? std::numeric_limits<T>::min()
                     : value > most    ? std::numeric_limits<T>::max()
                                       : static_cast<T>(value);
        }
    } else {
        for (size_t i = 0; i < n; ++i) out[i] = T(from[i]);
    }
}

}  // namespace

size_t size_of(Number number) {
    switch (number) {
        case Number::Int8: case Number::UInt8: return 1;
        case Number::Half: case Number::BFloat16: case Number::Int16: case Number::UInt16: return 2;
        default: return 4;
    }
}
void load(const Lanes& from, size_t first, size_t n, float* to) {
    const void* data = from.at(first);
    switch (from.number) {
        case Number::Half: return widen<half>(data, n, to);
        case Number::BFloat16: return widen<bfloat16_t>(data, n, to);
        case Number::Int8: return widen<int8_t>(data, n, to);
        case Number::UInt8: return widen<uint8_t>(data, n, to);
        case Number::Int16: return widen<int16_t>(data, n, to);
        case Number::UInt16: return widen<uint16_t>(data, n, to);
        case Number::Int32: return widen<int32_t>(data, n, to);
        case Number::UInt32: return widen<uint32_t>(data, n, to);
        default: return widen<float>(data, n, to);
    }
}
void store(const Lanes& to, size_t first, size_t n, const float* from) {
    void* data = to.at(first);
    switch (to.number) {
        case Number::Half: return narrow<half>(data, n, from);
        case Number::BFloat16: return narrow<bfloat16_t>(data, n, from);
        case Number::Int8: return narrow<int8_t>(data, n, from);
        case Number::UInt8: return narrow<uint8_t>(data, n, from);
        case Number::Int16: return narrow<int16_t>(data, n, from);
        case Number::UInt16: return narrow<uint16_t>(data, n, from);
        case Number::Int32: return narrow<int32_t>(data, n, from);
        case Number::UInt32: return narrow<uint32_t>(data, n, from);
        default: return narrow<float>(data, n, from);
    }
}
void mark(const Lanes& lanes, size_t first, size_t n, bool written) {
    if (!n) return;
    if (written) mark_written(lanes.at(first), n * size_of(lanes.number));
    else mark_unwritten(lanes.at(first), n * size_of(lanes.number));
}

}  // namespace opmend_sim
