// GlobalTensor and LocalTensor: typed views that know how far they may reach.
#pragma once
#include "opmend_sim/shadow.h"
#include "opmend_sim/types.h"

namespace AscendC {
template <class T> class LocalTensor;
}  // namespace AscendC

namespace opmend_sim {
// The memory a position lies in. CO2 is global memory where cube and vector cores are apart, and needs no buffer there.
constexpr Space space_of(AscendC::TPosition position) {
    using P = AscendC::TPosition;
    switch (position) {
        case P::A1: case P::B1: case P::C1: case P::TSCM: case P::SHM: return Space::L1;
        case P::A2: return Space::L0A;
        case P::B2: return Space::L0B;
        case P::C2: return Space::BT;
        case P::CO1: return Space::L0C;
        case P::C2PIPE2GM: case P::C2PIPE2LOCAL: return Space::FB;
        case P::GM: return Space::Global;
        default: return Space::UB;
    }
}
// A pipe touches a buffer that no queue hands over (runtime/hazards.cpp).
void touch(const Buffer* buffer, const void* data, uint64_t bytes, bool writes, pipe_t pipe, const char* call, Where where);
// Whether scalar accesses are looked at, too (OPMEND_SIM_SCALAR_SYNC=1): a compiler's auto-sync covers them, so it is off by default.
extern bool watches_scalars;
const char* position_name(AscendC::TPosition position);
// a + b as a value (expressions.h).
template <class S> struct Expression;
template <class T, class S> void assign_expression(const AscendC::LocalTensor<T>& dst, const void* given, Where where);
inline constexpr const char* kUnknownAddress = "a global address that lies in no tensor of the device (null, host memory, or far outside)";
}  // namespace opmend_sim

namespace AscendC {

struct ShapeInfo {
    uint8_t shapeDim = 0, originalShapeDim = 0;
    uint32_t shape[8] = {}, originalShape[8] = {};
    ShapeInfo() = default;
    ShapeInfo(uint8_t dims, const uint32_t* of) : ShapeInfo(dims, of, dims, of) {}
    ShapeInfo(uint8_t dims, const uint32_t* of, uint8_t original_dims, const uint32_t* original)
        : shapeDim(dims), originalShapeDim(original_dims) {
        for (uint8_t i = 0; i < 8; ++i) {
            if (i < dims) shape[i] = of[i];
            if (i < original_dims) originalShape[i] = original[i];
        }
    }
};

template <class T> class GlobalTensor {
public:
    using PrimType = T;
    void SetGlobalBuffer(__gm__ T* buffer, uint64_t size, OPMEND_WHERE) {
        bind(buffer, where);
        size_ = size;
    }
    void SetGlobalBuffer(__gm__ T* buffer, OPMEND_WHERE) { bind(buffer, where); }
    T* GetPhyAddr() const { return data_; }
    T* GetPhyAddr(uint64_t offset) const { return data_ + offset; }
    uint64_t GetSize() const { return size_; }
    void SetShapeInfo(const ShapeInfo& shape) { shape_ = shape; }
    ShapeInfo GetShapeInfo() const { return shape_; }
    void SetL2CacheHint(CacheMode) {}
    template <CacheRwMode = CacheRwMode::RW> void SetL2CacheHint(CacheMode) {}
    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor view = *this;
        view.data_ += offset / ::opmend_sim::packed<T>;
        view.size_ = size_ > offset ? size_ - offset : 0;
        return view;
    }
    template <class U> GlobalTensor<U> ReinterpretCast() const {
        GlobalTensor<U> view;
        view.assume(reinterpret_cast<U*>(data_), range_, size_ * sizeof(T) / ::opmend_sim::packed<T> * ::opmend_sim::packed<U> / sizeof(U));
        return view;
    }
    T GetValue(uint64_t index, OPMEND_WHERE) const {
        if (__builtin_expect(!inside(data_ + index), 0)) out_of_range("gm-read-out-of-range", index, where);
        ::opmend_sim::scalar_step(::opmend_sim::core(), where);
        ::opmend_sim::used_scalar(::opmend_sim::core(), data_ + index, sizeof(T), false, where);
        return data_[index];
    }
    T& operator()(uint64_t index, OPMEND_WHERE) const {
        if (__builtin_expect(!inside(data_ + index), 0)) out_of_range("gm-access-out-of-range", index, where);
        return data_[index];
    }
    template <class V> void SetValue(uint64_t index, V value, OPMEND_WHERE) const {
        if (__builtin_expect(!inside(data_ + index), 0)) out_of_range("gm-write-out-of-range", index, where);
        ::opmend_sim::scalar_step(::opmend_sim::core(), where);
        ::opmend_sim::used_scalar(::opmend_sim::core(), data_ + index, sizeof(T), true, where);
        data_[index] = static_cast<T>(value);
    }
    void require_inside(uint64_t index, ::opmend_sim::Where where) const {
        if (!inside(data_ + index)) out_of_range("gm-write-out-of-range", index, where);
    }
    const ::opmend_sim::Range& range() const { return range_; }
    void assume(T* data, const ::opmend_sim::Range& range, uint64_t size) {
        data_ = data;
        range_ = range;
        size_ = size;
    }

private:
    void bind(T* buffer, ::opmend_sim::Where where) {
        data_ = buffer;
        if (reinterpret_cast<uintptr_t>(buffer) % sizeof(T) != 0)
            ::opmend_sim::fail("gm-unaligned", "SetGlobalBuffer: the address is not aligned to its element type", where);
        range_ = ::opmend_sim::find_global(buffer);
    }
    bool inside(const T* at) const {
        return reinterpret_cast<const uint8_t*>(at) >= range_.begin && reinterpret_cast<const uint8_t*>(at + 1) <= range_.end;
    }
    [[noreturn]] void out_of_range(const char* rule, uint64_t index, ::opmend_sim::Where where) const {
        if (!range_.begin) ::opmend_sim::fail("gm-unknown-address", ::opmend_sim::kUnknownAddress, where);
        ::opmend_sim::fail(rule, "element " + ::opmend_sim::text(index) + " is outside the tensor's storage of " +
                           ::opmend_sim::text(static_cast<uint64_t>(range_.end - range_.begin)) + " bytes", where);
    }
    T* data_ = nullptr;
    ::opmend_sim::Range range_;
    uint64_t size_ = 0;
    ShapeInfo shape_;
};

template <class T> class LocalTensor {
public:
    using PrimType = T;
    LocalTensor() = default;
    LocalTensor(T* data, uint32_t bytes, TPosition position, ::opmend_sim::Buffer* buffer)
        : data_(data), count_(bytes / sizeof(T) * ::opmend_sim::packed<T>), bytes_(bytes), buffer_(buffer), position_(position) {}
    // A tensor at a chosen byte address of a position's memory; tileSize in elements.
    LocalTensor(TPosition position, uint32_t address, uint32_t tileSize)
        : data_(reinterpret_cast<T*>(::opmend_sim::core().memory(::opmend_sim::space_of(position)).base + address)), count_(tileSize),
          bytes_(static_cast<uint32_t>(tileSize * sizeof(T) / ::opmend_sim::packed<T>)), position_(position) {}
    uint32_t GetSize() const { return count_; }
    uint32_t GetLength() const { return bytes_; }
    void SetSize(uint32_t count) { count_ = count; bytes_ = count * sizeof(T) / ::opmend_sim::packed<T>; }
    TPosition GetPosition() const { return position_; }
    // The kernel goes on with a bare pointer: what it writes there is not seen, so all counts as written from here.
    T* GetPhyAddr() const { return GetPhyAddr(0); }
    T* GetPhyAddr(uint32_t offset) const {
        ::opmend_sim::mark_written(data_, bytes_);
        return data_ + offset;
    }
    T* raw() const { return data_; }  // for the simulator itself
    void SetUserTag(int32_t tag) { tag_ = tag; }
    int32_t GetUserTag() const { return tag_; }
    void SetShapeInfo(const ShapeInfo& shape) { shape_ = shape; }
    ShapeInfo GetShapeInfo() const { return shape_; }
    LocalTensor operator[](uint32_t offset) const {
        LocalTensor view = *this;
        view.data_ += offset / ::opmend_sim::packed<T>;
        view.count_ = count_ > offset ? count_ - offset : 0;
        view.bytes_ = view.count_ * sizeof(T) / ::opmend_sim::packed<T>;
        return view;
    }
    void SetAddrWithOffset(LocalTensor& source, uint32_t offset) { *this = source[offset]; }
    template <class U> LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(reinterpret_cast<U*>(data_), bytes_, position_, buffer_);
    }
    T GetValue(uint32_t index, OPMEND_WHERE) const {
        check(index, where);
        touch(index, false, where);
        if (__builtin_expect(::opmend_sim::unwritten(data_ + index, sizeof(T)), 0))
            ::opmend_sim::report_unwritten(data_ + index, sizeof(T), "GetValue", "tensor", where, buffer_);
        return data_[index];
    }
    template <class V> void SetValue(uint32_t index, V value, OPMEND_WHERE) const {
        check(index, where);
        touch(index, true, where);
        ::opmend_sim::mark_written(data_ + index, sizeof(T));
        data_[index] = static_cast<T>(value);
    }
    // Read or written by the caller: which, can't be known.
    T& operator()(uint32_t index, OPMEND_WHERE) const {
        check(index, where);
        ::opmend_sim::mark_written(data_ + index, sizeof(T));
        return data_[index];
    }
    ::opmend_sim::Buffer* buffer() const { return buffer_; }
    // dst = a + b. What converts is made at the caller, and so knows the place.
    struct Assigned {
        const void* expression;
        void (*run)(const LocalTensor&, const void*, ::opmend_sim::Where);
        ::opmend_sim::Where where;
        template <class S>
        Assigned(const ::opmend_sim::Expression<S>& given, OPMEND_WHERE)
            : expression(&given), run(&::opmend_sim::assign_expression<T, S>), where(where) {}
    };
    LocalTensor& operator=(const Assigned& given) {
        given.run(*this, given.expression, given.where);
        return *this;
    }

private:
    void check(uint32_t index, ::opmend_sim::Where where) const {
        ::opmend_sim::scalar_step(::opmend_sim::core(), where);
        if (__builtin_expect(index >= count_, 0)) scalar_out_of_range(index, where);
    }
    void touch(uint32_t index, bool writes, ::opmend_sim::Where where) const {
        if (__builtin_expect(::opmend_sim::watches_scalars, 0) && buffer_)
            ::opmend_sim::touch(buffer_, data_ + index, sizeof(T), writes, PIPE_S, writes ? "SetValue" : "GetValue", where);
    }
    __attribute__((noinline, cold)) void scalar_out_of_range(uint32_t index, ::opmend_sim::Where where) const;
    T* data_ = nullptr;
    uint32_t count_ = 0;
    uint32_t bytes_ = 0;
    int32_t tag_ = -1;
    ::opmend_sim::Buffer* buffer_ = nullptr;
    TPosition position_ = TPosition::VECCALC;
    ShapeInfo shape_;
};
}  // namespace AscendC

namespace opmend_sim {
// Checks one operand: there, aligned as its memory asks (32 bytes in the unified buffer), inside its memory (else an error), and inside its
// own tensor (else a violation: hardware touches the neighbour).
void check_span(const void* data, uint64_t bytes, uint64_t own_bytes, AscendC::TPosition position, const Buffer* buffer, const char* call,
                const char* operand, Where where);
void check_scalar(const void* data, uint32_t index, uint32_t count, uint32_t size, AscendC::TPosition position, const Buffer* buffer, Where where);
// How a call uses an operand. Lanes: it writes, and its loop sets the shadow itself (`lanes` does, or `join`).
enum class Use : uint8_t { Check, Read, Write, Lanes };
// All that is asked of an operand, once a call, compiled once (runtime/memories.cpp): checks, cost, order of pipes, shadow.
void operand(void* data, uint64_t bytes, uint64_t own_bytes, AscendC::TPosition position, const Buffer* buffer, Use use, const char* call,
             const char* name, Where where, pipe_t pipe);
template <class T>
T* operand(const AscendC::LocalTensor<T>& tensor, uint64_t count, Use use, const char* call, const char* name, Where where, pipe_t pipe) {
    operand(tensor.raw(), count * sizeof(T), tensor.GetLength(), tensor.GetPosition(), tensor.buffer(), use, call, name, where, pipe);
    return tensor.raw();
}
// The checks alone: `count` elements of the tensor. Calls use `source`, `target` or `target_of_lanes`.
template <class T> T* span(const AscendC::LocalTensor<T>& tensor, uint64_t count, const char* call, const char* name, Where where) {
    return operand(tensor, count, Use::Check, call, name, where, PIPE_V);
}
// An operand that is read. Whether what it holds was written is asked where it becomes visible (`observe`).
template <class T>
const T* source(const AscendC::LocalTensor<T>& tensor, uint64_t count, const char* call, const char* name, Where where, pipe_t pipe = PIPE_V) {
    return operand(tensor, count, Use::Read, call, name, where, pipe);
}
// An operand that the call writes whole: it counts as written from here.
template <class T>
T* target(const AscendC::LocalTensor<T>& tensor, uint64_t count, const char* call, const char* name, Where where, pipe_t pipe = PIPE_V) {
    return operand(tensor, count, Use::Write, call, name, where, pipe);
}
// An operand whose shadow the call's loop sets itself (`lanes` does, or `join`).
template <class T>
T* target_of_lanes(const AscendC::LocalTensor<T>& tensor, uint64_t count, const char* call, const char* name, Where where, pipe_t pipe = PIPE_V) {
    return operand(tensor, count, Use::Lanes, call, name, where, pipe);
}
}  // namespace opmend_sim

namespace AscendC {
template <class T> void LocalTensor<T>::scalar_out_of_range(uint32_t index, ::opmend_sim::Where where) const {
    ::opmend_sim::check_scalar(data_, index, count_, sizeof(T), position_, buffer_, where);
}
}  // namespace AscendC
