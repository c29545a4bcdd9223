// TPipe, TQue, TQueBind, TBuf, TBufPool: who owns which part of a local memory, and the queue protocol.
#pragma once
#include "opmend_sim/tensor.h"

namespace opmend_sim {
// Where a queue between two positions keeps its buffers. A plain TQue has GM on one side.
constexpr AscendC::TPosition host_of(AscendC::TPosition source, AscendC::TPosition destination) {
    using P = AscendC::TPosition;
    if (source == P::GM || source == P::CO2) return destination;
    switch (destination) {
        case P::A1: case P::B1: case P::C1: case P::TSCM: case P::A2: case P::B2: case P::C2: return destination;
        default: return source;
    }
}
// A part of a local memory that InitBuffer takes buffers from: a pool, or (without one) the memory itself.
struct Pool {
    uint8_t* base = nullptr;
    uint32_t bytes = 0, used = 0;
    Space space = Space::UB;
    uint8_t* take(uint32_t size, Where where);
};
// The untyped half of TQue: at most `kMost` buffers and a first-in-first-out line.
struct Queue {
    static constexpr int kMost = 64;
    Buffer* buffers[kMost] = {};
    Buffer* line[kMost] = {};
    int count = 0, waiting = 0, head = 0;
    int depth = 1;
    AscendC::TPosition source = AscendC::TPosition::GM, destination = AscendC::TPosition::GM;
    AscendC::TPosition host() const { return host_of(source, destination); }
    void init(Pool* pool, uint32_t number, uint32_t bytes, Where where);
    Buffer* alloc(Where where);
    void enqueue(Buffer* buffer, Where where);
    Buffer* dequeue(Where where);
    void release(Buffer* buffer, Where where);
    bool idle() const;
};
// What a queue's call makes one pipe wait for in another (hazards.cpp).
enum class Handover : uint8_t { Alloc, EnQue, DeQue, Free };
void hand_over(const Queue& queue, Buffer& buffer, Handover how);
Buffer* init_plain(Pool* pool, AscendC::TPosition position, uint32_t bytes, Where where);
void init_pool(Pool* from, Pool& pool, AscendC::TPosition position, uint32_t bytes, Where where);
}  // namespace opmend_sim

namespace AscendC {

class TPipe;
// A buffer of a queue without a type.
using TBufHandle = ::opmend_sim::Buffer*;

template <TPosition source, TPosition destination, int depth, auto mask = 0> class TQueBind {
public:
    static constexpr TPosition srcPosition = source;
    static constexpr TPosition dstPosition = destination;
    static constexpr bool isTQue = true;
    TQueBind() {
        queue_.depth = depth;
        queue_.source = source;
        queue_.destination = destination;
    }
    template <class T> LocalTensor<T> AllocTensor(OPMEND_WHERE) {
        return tensor<T>(queue_.alloc(where));
    }
    template <class T> void AllocTensor(LocalTensor<T>& out, OPMEND_WHERE) { out = tensor<T>(queue_.alloc(where)); }
    template <class T> bool EnQue(const LocalTensor<T>& item, OPMEND_WHERE) {
        queue_.enqueue(item.buffer(), where);
        return true;
    }
    template <TPosition, TPosition, class T> bool EnQue(const LocalTensor<T>& item, OPMEND_WHERE) {
        queue_.enqueue(item.buffer(), where);
        return true;
    }
    template <class T> LocalTensor<T> DeQue(OPMEND_WHERE) { return tensor<T>(queue_.dequeue(where)); }
    template <class T> void DeQue(LocalTensor<T>& out, OPMEND_WHERE) { out = tensor<T>(queue_.dequeue(where)); }
    TBufHandle DeQue(OPMEND_WHERE) { return queue_.dequeue(where); }
    TBufHandle AllocBuffer(OPMEND_WHERE) { return queue_.alloc(where); }
    void FreeBuffer(TBufHandle buffer, OPMEND_WHERE) { queue_.release(buffer, where); }
    template <TPosition, TPosition, class T> LocalTensor<T> DeQue(OPMEND_WHERE) { return tensor<T>(queue_.dequeue(where)); }
    template <class T> void FreeTensor(const LocalTensor<T>& item, OPMEND_WHERE) { queue_.release(item.buffer(), where); }
    void FreeAllEvent() {}
    bool VacantInQue() const { return queue_.waiting < depth; }
    bool HasTensorInQue() const { return queue_.waiting > 0; }
    int32_t GetTensorCountInQue() const { return queue_.waiting; }
    bool HasIdleBuffer() const { return queue_.idle(); }
    void InitBufHandle() = delete;
    ::opmend_sim::Queue& queue() { return queue_; }

private:
    template <class T> LocalTensor<T> tensor(::opmend_sim::Buffer* buffer) const {
        return LocalTensor<T>(reinterpret_cast<T*>(buffer->data), buffer->bytes, ::opmend_sim::host_of(source, destination), buffer);
    }
    ::opmend_sim::Queue queue_;
};

namespace opmend_detail {
// The other side of a plain TQue, as the interface's documentation pairs positions.
constexpr TPosition queue_source(TPosition position) {
    switch (position) {
        case TPosition::A2: return TPosition::A1;
        case TPosition::B2: return TPosition::B1;
        case TPosition::C2: return TPosition::C1;
        case TPosition::VECIN: case TPosition::A1: case TPosition::B1: case TPosition::C1: case TPosition::TSCM: return TPosition::GM;
        default: return position;
    }
}
constexpr TPosition queue_destination(TPosition position) {
    switch (position) {
        case TPosition::CO1: return TPosition::CO2;
        case TPosition::VECOUT: case TPosition::CO2: return TPosition::GM;
        default: return position;
    }
}
}  // namespace opmend_detail
template <TPosition position, int depth, auto mask = 0>
class TQue : public TQueBind<opmend_detail::queue_source(position), opmend_detail::queue_destination(position), depth, mask> {};

template <TPosition position = TPosition::LCM> class TBuf {
public:
    template <class T = uint8_t> LocalTensor<T> Get(OPMEND_WHERE) const {
        require(where);
        return LocalTensor<T>(reinterpret_cast<T*>(buffer_->data), buffer_->bytes, position, buffer_);
    }
    template <class T = uint8_t> LocalTensor<T> Get(uint32_t count, OPMEND_WHERE) const { return GetWithOffset<T>(count, 0, where); }
    // size in elements, offset in bytes
    template <class T = uint8_t> LocalTensor<T> GetWithOffset(uint32_t count, uint32_t offset, OPMEND_WHERE) const {
        require(where);
        const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
        if (offset + bytes > buffer_->bytes)
            ::opmend_sim::note("ub-buffer-overrun", "violation", "TBuf.Get asks for " + ::opmend_sim::text(offset + bytes) + " of " +
                               ::opmend_sim::text(buffer_->bytes) + " bytes", where, buffer_);
        return LocalTensor<T>(reinterpret_cast<T*>(buffer_->data + offset), static_cast<uint32_t>(bytes), position, buffer_);
    }
    uint32_t GetBufLen() const { return buffer_ ? buffer_->bytes : 0; }
    template <class T> void EnQue(const LocalTensor<T>&) {}
    template <class T> LocalTensor<T> DeQue(OPMEND_WHERE) const { return Get<T>(where); }
    template <class T> LocalTensor<T> AllocTensor(OPMEND_WHERE) const { return Get<T>(where); }
    template <class T> void FreeTensor(const LocalTensor<T>&) {}
    void bind(::opmend_sim::Buffer* buffer) { buffer_ = buffer; }

private:
    void require(::opmend_sim::Where where) const {
        if (!buffer_) ::opmend_sim::fail("buffer-not-initialised", "TBuf.Get before InitBuffer", where);
    }
    ::opmend_sim::Buffer* buffer_ = nullptr;
};
template <TPosition position = TPosition::TSCM, int depth = 1, auto mask = 0>
class TSCM : public TQueBind<TPosition::GM, TPosition::TSCM, depth, mask> {};

// A part of a pipe's memory with buffers, and pools, of its own. Another pool may share its place (shareBuf) for another time.
template <TPosition position, uint32_t idSize = 4> class TBufPool {
public:
    template <TPosition source, TPosition destination, int depth, auto mask>
    bool InitBuffer(TQueBind<source, destination, depth, mask>& queue, uint32_t number, uint32_t bytes, OPMEND_WHERE) {
        queue.queue().init(&pool_, number, bytes, where);
        return true;
    }
    template <TPosition of> bool InitBuffer(TBuf<of>& buffer, uint32_t bytes, OPMEND_WHERE) {
        buffer.bind(::opmend_sim::init_plain(&pool_, of, bytes, where));
        return true;
    }
    template <class Inner> bool InitBufPool(Inner& inner, uint32_t bytes, OPMEND_WHERE) {
        ::opmend_sim::init_pool(&pool_, inner.pool(), position, bytes, where);
        return true;
    }
    template <class Inner, class Shared> bool InitBufPool(Inner& inner, uint32_t bytes, Shared& shareBuf, OPMEND_WHERE) {
        ::opmend_sim::Pool whole{shareBuf.pool().base, shareBuf.pool().bytes, 0, shareBuf.pool().space};
        ::opmend_sim::init_pool(&whole, inner.pool(), position, bytes, where);
        return true;
    }
    void Reset() { pool_.used = 0; }
    ::opmend_sim::Pool& pool() { return pool_; }

private:
    ::opmend_sim::Pool pool_;
};

class TPipe {
public:
    TPipe() { Init(); }
    ~TPipe() { Destroy(); }
    TPipe(const TPipe&) = default;
    void Init() {
        ::opmend_sim::Core& now = ::opmend_sim::core();
        now.pipe = this;
        for (::opmend_sim::Memory& memory : now.memories) memory.used = 0;
    }
    template <TPosition source, TPosition destination, int depth, auto mask>
    bool InitBuffer(TQueBind<source, destination, depth, mask>& queue, uint32_t number, uint32_t bytes, OPMEND_WHERE) {
        queue.queue().init(nullptr, number, bytes, where);
        return true;
    }
    template <TPosition position> bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, OPMEND_WHERE) {
        buffer.bind(::opmend_sim::init_plain(nullptr, position, bytes, where));
        return true;
    }
    template <TPosition position, uint32_t idSize> bool InitBufPool(TBufPool<position, idSize>& pool, uint32_t bytes, OPMEND_WHERE) {
        ::opmend_sim::init_pool(nullptr, pool.pool(), position, bytes, where);
        return true;
    }
    template <TPosition position, uint32_t idSize, class Shared>
    bool InitBufPool(TBufPool<position, idSize>& pool, uint32_t bytes, Shared& shareBuf, OPMEND_WHERE) {
        ::opmend_sim::Pool whole{shareBuf.pool().base, shareBuf.pool().bytes, 0, shareBuf.pool().space};
        ::opmend_sim::init_pool(&whole, pool.pool(), position, bytes, where);
        return true;
    }
    // The address of a position's memory that the next InitBuffer gives out.
    uint64_t GetBaseAddr(int8_t position) {
        return ::opmend_sim::core().memory(::opmend_sim::space_of(static_cast<TPosition>(position))).used;
    }
    void Reset() { Init(); }
    void Destroy() {
        ::opmend_sim::Core* now = ::opmend_sim::current_core;
        if (now && now->pipe == this) now->pipe = nullptr;
    }
    template <HardEvent event> TEventID AllocEventID(OPMEND_WHERE);
    template <HardEvent event> void ReleaseEventID(TEventID id);
    template <HardEvent event> TEventID FetchEventID(OPMEND_WHERE);
    TEventID FetchEventID(HardEvent event, OPMEND_WHERE);
};

// Memories by name, for tensors without a pipe: each Alloc takes the next bytes of the memory.
enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };
template <Hardware hardware = Hardware::UB> class LocalMemAllocator {
public:
    uint32_t GetCurAddr() const { return ::opmend_sim::core().memory(space()).used; }
    template <TPosition position, class T, uint32_t tileSize> LocalTensor<T> Alloc(OPMEND_WHERE) { return Alloc<position, T>(tileSize, where); }
    template <class T, uint32_t tileSize> LocalTensor<T> Alloc(OPMEND_WHERE) { return Alloc<home(), T>(tileSize, where); }
    template <class T> LocalTensor<T> Alloc(uint32_t tileSize, OPMEND_WHERE) { return Alloc<home(), T>(tileSize, where); }
    template <TPosition position, class T> LocalTensor<T> Alloc(uint32_t tileSize, OPMEND_WHERE) {
        static_assert(::opmend_sim::space_of(position) == space(), "LocalMemAllocator: the position lies in another memory");
        ::opmend_sim::Buffer* buffer = ::opmend_sim::init_plain(nullptr, position, static_cast<uint32_t>(tileSize * sizeof(T)), where);
        return LocalTensor<T>(reinterpret_cast<T*>(buffer->data), static_cast<uint32_t>(tileSize * sizeof(T)), position, buffer);
    }

private:
    static constexpr ::opmend_sim::Space space() { return ::opmend_sim::space_of(home()); }
    static constexpr TPosition home() {
        switch (hardware) {
            case Hardware::L1: return TPosition::A1;
            case Hardware::L0A: return TPosition::A2;
            case Hardware::L0B: return TPosition::B2;
            case Hardware::L0C: return TPosition::CO1;
            case Hardware::BIAS: return TPosition::C2;
            case Hardware::FIXBUF: return TPosition::C2PIPE2GM;
            case Hardware::UB: return TPosition::VECCALC;
            default: return TPosition::GM;
        }
    }
};

inline TPipe* GetTPipePtr() { return static_cast<TPipe*>(::opmend_sim::core().pipe); }

}  // namespace AscendC
