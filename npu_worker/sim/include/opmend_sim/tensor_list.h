// Lists of tensors, as an operator's dynamic inputs and outputs come: one block of global memory with shapes and addresses.
// Layout by the interface's page (ListTensorDesc): 64-bit words; word 0 is the offset in bytes of the addresses; then for each shape a word with its
// dimensions in the low half and the index of its first tensor in the high half, and that many words of shape; then the addresses.
#pragma once
#include "opmend_sim/tiling.h"

namespace AscendC {

template <class T> class TensorDesc {
public:
    void SetShapeAddr(uint64_t* shapePtr) { shape_ = shapePtr; }
    uint64_t GetDim() const { return dim_; }
    uint64_t GetIndex() const { return index_; }
    uint64_t GetShape(uint32_t offset) const { return shape_ ? shape_[offset] : 0; }
    T* GetDataPtr() const { return data_; }
    GlobalTensor<T> GetDataObj(OPMEND_WHERE) const {
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(data_, where);
        return tensor;
    }
    void assume(uint64_t dim, uint64_t index, const uint64_t* shape, T* data) {
        dim_ = dim;
        index_ = index;
        data_ = data;
        for (uint64_t i = 0; shape_ && i < dim; ++i) shape_[i] = shape[i];
    }

private:
    uint64_t* shape_ = nullptr;
    uint64_t dim_ = 0, index_ = 0;
    T* data_ = nullptr;
};

class ListTensorDesc {
public:
    ListTensorDesc() = default;
    explicit ListTensorDesc(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff, OPMEND_WHERE) {
        Init(data, length, shapeSize, where);
    }
    void Init(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff, OPMEND_WHERE) {
        const ::opmend_sim::Range range = ::opmend_sim::find_global(data);
        if (!range.begin) ::opmend_sim::fail("gm-unknown-address", std::string("ListTensorDesc: ") + ::opmend_sim::kUnknownAddress, where);
        words_ = static_cast<const uint64_t*>(data);
        bytes_ = static_cast<uint64_t>(range.end - static_cast<const uint8_t*>(data));
        if (length != 0xffffffff && length < bytes_) bytes_ = length;
        if (bytes_ < 8 || words_[0] > bytes_ || words_[0] % 8 != 0)
            ::opmend_sim::fail("tensor-list", "ListTensorDesc: the first word is no offset in bytes of the tensors' addresses", where);
        size_ = shapeSize;
        if (size_ == 0xffffffff) size_ = counted();
    }
    uint32_t GetSize() const { return size_; }
    template <class T> T* GetDataPtr(uint32_t index, OPMEND_WHERE) const {
        const uint64_t at = words_ ? words_[0] + static_cast<uint64_t>(index) * 8 : ~0ull;
        if (at > bytes_ || at + 8 > bytes_)
            ::opmend_sim::fail("tensor-list", "ListTensorDesc: tensor " + ::opmend_sim::text(index) + " is not in the list", where);
        return reinterpret_cast<T*>(words_[at / 8]);
    }
    template <class T> void GetDesc(TensorDesc<T>& desc, uint32_t index, OPMEND_WHERE) const {
        T* data = GetDataPtr<T>(index, where);
        const uint64_t end = words_[0] / 8;
        uint64_t found = 0;
        for (uint64_t at = 1; at < end; at += 1 + (words_[at] & 0xffffffffu))
            if (words_[at] >> 32 <= index) found = at;
        if (found) desc.assume(words_[found] & 0xffffffffu, index, words_ + found + 1, data);
        else desc.assume(0, index, nullptr, data);
    }

private:
    uint32_t counted() const {
        // The addresses go to the end of what the host allocated; a shape for each tensor says how many there are.
        uint32_t shapes = 0;
        for (uint64_t at = 1; at < words_[0] / 8; at += 1 + (words_[at] & 0xffffffffu)) ++shapes;
        return shapes;
    }
    const uint64_t* words_ = nullptr;
    uint64_t bytes_ = 0;
    uint32_t size_ = 0;
};

}  // namespace AscendC
