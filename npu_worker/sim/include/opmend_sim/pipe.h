// TPipe, TQue, TQueBind, TBuf: who owns which part of the unified buffer, and the queue protocol.
#pragma once
#include "opmend_sim/tensor.h"

namespace opmend_sim {
constexpr bool is_vector_position(AscendC::TPosition position) {
    return position == AscendC::TPosition::VECIN || position == AscendC::TPosition::VECOUT || position == AscendC::TPosition::VECCALC;
}
// The untyped half of TQue: at most `kMost` buffers and a first-in-first-out line.
struct Queue {
    static constexpr int kMost = 16;
    Buffer* buffers[kMost] = {};
    Buffer* line[kMost] = {};
    int count = 0, waiting = 0, head = 0;
    int depth = 1;
    void init(uint8_t number, uint32_t bytes, Where where);
    Buffer* alloc(Where where);
    void enqueue(Buffer* buffer, Where where);
    Buffer* dequeue(Where where);
    void release(Buffer* buffer, Where where);
    bool idle() const;
};
}  // namespace opmend_sim

namespace AscendC {

class TPipe;

template <TPosition source, TPosition destination, int depth, auto mask = 0> class TQueBind {
public:
    static constexpr TPosition srcPosition = source;
    static constexpr TPosition dstPosition = destination;
    TQueBind() { queue_.depth = depth; }
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
        return LocalTensor<T>(reinterpret_cast<T*>(buffer->data), buffer->bytes, destination, buffer);
    }
    ::opmend_sim::Queue queue_;
};

template <TPosition position, int depth, auto mask = 0> class TQue : public TQueBind<position, position, depth, mask> {};

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
                               ::opmend_sim::text(buffer_->bytes) + " bytes", where);
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

class TPipe {
public:
    TPipe() { Init(); }
    ~TPipe() { Destroy(); }
    TPipe(const TPipe&) = default;
    void Init() {
        ::opmend_sim::Core& now = ::opmend_sim::core();
        now.pipe = this;
        now.ub_used = 0;
    }
    template <TPosition source, TPosition destination, int depth, auto mask>
    bool InitBuffer(TQueBind<source, destination, depth, mask>& queue, uint8_t number, uint32_t bytes, OPMEND_WHERE) {
        require_vector<source>(where);
        require_vector<destination>(where);
        queue.queue().init(number, bytes, where);
        return true;
    }
    template <TPosition position> bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, OPMEND_WHERE) {
        require_vector<position>(where);
        ::opmend_sim::Core& now = ::opmend_sim::core();
        const uint32_t rounded = (bytes + 31) / 32 * 32;
        buffer.bind(now.add_buffer(now.take(rounded, where), rounded, ::opmend_sim::BufferState::Plain, where));
        return true;
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

private:
    template <TPosition position> static void require_vector(::opmend_sim::Where where) {
        if constexpr (!::opmend_sim::is_vector_position(position)) ::opmend_sim::unsupported("a buffer outside VECIN, VECOUT and VECCALC", where);
    }
};

inline TPipe* GetTPipePtr() { return static_cast<TPipe*>(::opmend_sim::core().pipe); }

}  // namespace AscendC
