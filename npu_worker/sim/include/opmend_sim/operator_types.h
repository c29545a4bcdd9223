// What the host side of an operator project says about tensors: types and formats (ge), shapes and descriptions (gert). Plain C++, no device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "opmend_sim/report.h"

namespace ge {
enum DataType : int32_t {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8, DT_INT64 = 9, DT_UINT64 = 10,
    DT_DOUBLE = 11, DT_BOOL = 12, DT_STRING = 13, DT_COMPLEX64 = 16, DT_COMPLEX128 = 17, DT_QINT8 = 18, DT_QINT16 = 19, DT_QINT32 = 20,
    DT_QUINT8 = 21, DT_QUINT16 = 22, DT_BF16 = 27, DT_UNDEFINED = 28, DT_INT4 = 29, DT_UINT1 = 30, DT_INT2 = 31, DT_UINT2 = 32, DT_MAX
};
enum Format : int32_t {
    FORMAT_NCHW = 0, FORMAT_NHWC = 1, FORMAT_ND = 2, FORMAT_NC1HWC0 = 3, FORMAT_FRACTAL_Z = 4, FORMAT_HWCN = 16, FORMAT_NDHWC = 27,
    FORMAT_FRACTAL_NZ = 29, FORMAT_NCDHW = 30, FORMAT_RESERVED = 40, FORMAT_NCL = 47, FORMAT_NULL = 254, FORMAT_MAX = 255
};
using graphStatus = uint32_t;
inline constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 0xFFFFFFFFu, GRAPH_NOT_CHANGED = 1343242304u, GRAPH_PARAM_INVALID = 50331649u;
// Bytes of an element; -1 where it has no whole bytes.
inline int GetSizeByDataType(DataType type) {
    switch (type) {
        case DT_INT8: case DT_UINT8: case DT_BOOL: case DT_QINT8: case DT_QUINT8: return 1;
        case DT_FLOAT16: case DT_BF16: case DT_INT16: case DT_UINT16: case DT_QINT16: case DT_QUINT16: return 2;
        case DT_FLOAT: case DT_INT32: case DT_UINT32: case DT_QINT32: return 4;
        case DT_DOUBLE: case DT_INT64: case DT_UINT64: case DT_COMPLEX64: return 8;
        case DT_COMPLEX128: return 16;
        default: return -1;
    }
}
}  // namespace ge

namespace opmend_sim {
// "DT_FLOAT": how messages name a type.
const char* type_name(ge::DataType type);
}  // namespace opmend_sim

namespace gert {
class Shape {
public:
    static constexpr size_t kMaxDimNum = 25;
    static constexpr int64_t kInvalidDimValue = INT64_MIN;
    Shape() = default;
    Shape(std::initializer_list<int64_t> dims) {
        for (int64_t dim : dims) AppendDim(dim);
    }
    size_t GetDimNum() const { return count_; }
    void SetDimNum(size_t count) { count_ = count < kMaxDimNum ? count : kMaxDimNum; }
    int64_t GetDim(size_t at) const { return at < count_ ? dims_[at] : kInvalidDimValue; }
    void SetDim(size_t at, int64_t value) {
        if (at < kMaxDimNum) dims_[at] = value;
    }
    Shape& AppendDim(int64_t value) {
        if (count_ < kMaxDimNum) dims_[count_++] = value;
        return *this;
    }
    int64_t GetShapeSize() const {
        int64_t size = 1;
        for (size_t at = 0; at < count_; ++at) size *= dims_[at];
        return size;
    }
    bool IsScalar() const { return count_ == 0; }
    const int64_t& operator[](size_t at) const { return dims_[at]; }
    int64_t& operator[](size_t at) { return dims_[at]; }
    bool operator==(const Shape& other) const {
        return count_ == other.count_ && std::memcmp(dims_, other.dims_, count_ * sizeof(int64_t)) == 0;
    }
    bool operator!=(const Shape& other) const { return !(*this == other); }

private:
    size_t count_ = 0;
    int64_t dims_[kMaxDimNum] = {};
};

// Tensors are ND here, so the shape in memory is the shape that the user named.
class StorageShape {
public:
    StorageShape() = default;
    explicit StorageShape(const Shape& shape) : shape_(shape) {}
    StorageShape(std::initializer_list<int64_t> origin, std::initializer_list<int64_t>) : shape_(origin) {}
    const Shape& GetOriginShape() const { return shape_; }
    const Shape& GetStorageShape() const { return shape_; }
    const Shape& GetShape() const { return shape_; }
    Shape& MutableOriginShape() { return shape_; }
    Shape& MutableStorageShape() { return shape_; }
    bool operator==(const StorageShape& other) const { return shape_ == other.shape_; }
    bool operator!=(const StorageShape& other) const { return !(*this == other); }

private:
    Shape shape_;
};

class StorageFormat {
public:
    explicit StorageFormat(ge::Format format = ge::FORMAT_ND) : format_(format) {}
    ge::Format GetOriginFormat() const { return format_; }
    ge::Format GetStorageFormat() const { return format_; }

private:
    ge::Format format_;
};

class CompileTimeTensorDesc {
public:
    CompileTimeTensorDesc() = default;
    explicit CompileTimeTensorDesc(ge::DataType type) : type_(type) {}
    ge::DataType GetDataType() const { return type_; }
    const StorageFormat& GetFormat() const { return format_; }
    ge::Format GetOriginFormat() const { return ge::FORMAT_ND; }
    ge::Format GetStorageFormat() const { return ge::FORMAT_ND; }

private:
    ge::DataType type_ = ge::DT_UNDEFINED;
    StorageFormat format_;
};

// A tensor as tiling sees it: shape and type. Its values are on the device.
class Tensor {
public:
    Tensor() = default;
    Tensor(const StorageShape& shape, ge::DataType type) : shape_(shape), type_(type) {}
    const StorageShape& GetShape() const { return shape_; }
    const Shape& GetOriginShape() const { return shape_.GetOriginShape(); }
    const Shape& GetStorageShape() const { return shape_.GetStorageShape(); }
    int64_t GetShapeSize() const { return GetStorageShape().GetShapeSize(); }
    ge::DataType GetDataType() const { return type_; }
    ge::Format GetOriginFormat() const { return ge::FORMAT_ND; }
    ge::Format GetStorageFormat() const { return ge::FORMAT_ND; }
    size_t GetSize() const { return static_cast<size_t>(GetShapeSize()) * static_cast<size_t>(ge::GetSizeByDataType(type_)); }

private:
    StorageShape shape_;
    ge::DataType type_ = ge::DT_UNDEFINED;
};

template <class T> class TypedContinuousVector {
public:
    TypedContinuousVector() = default;
    explicit TypedContinuousVector(std::vector<T> values) : values_(std::move(values)) {}
    size_t GetSize() const { return values_.size(); }
    size_t GetCapacity() const { return values_.size(); }
    const T* GetData() const { return values_.data(); }

private:
    std::vector<T> values_;
};
using ContinuousVector = TypedContinuousVector<int64_t>;
}  // namespace gert
