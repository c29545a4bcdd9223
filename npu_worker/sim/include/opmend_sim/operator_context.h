// The contexts that an operator's host functions get: TilingContext for TilingFunc, and those of the shape and type functions. The runtime makes
// one from the tensors and attributes of a call. Shape and type functions compile and are not run: an aclnn call takes its outputs as they are.
#pragma once
#include <deque>
#include <memory>
#include <type_traits>

#include "opmend_sim/operator_types.h"

namespace fe {
class PlatFormInfos;
}  // namespace fe

namespace opmend_sim {
// An attribute's value, in the type that the operator declares.
struct AttributeValue {
    enum class Kind : uint8_t { Boolean, Integer, Real, Text, Integers, Reals, Booleans } kind = Kind::Integer;
    bool boolean = false;
    int64_t integer = 0;
    float real = 0;
    std::string text;
    gert::TypedContinuousVector<int64_t> integers;
    gert::TypedContinuousVector<float> reals;
    gert::TypedContinuousVector<uint8_t> booleans;
};
// A tensor of a call as its host functions see it.
struct TensorFacts {
    bool there = true;
    gert::StorageShape shape;
    gert::Tensor tensor;
    gert::CompileTimeTensorDesc description;
};
}  // namespace opmend_sim

namespace gert {
class RuntimeAttrs {
public:
    size_t GetAttrNum() const { return values_.size(); }
    const bool* GetBool(size_t at) const { return has(at, Kind::Boolean) ? &values_[at].boolean : nullptr; }
    const int64_t* GetInt(size_t at) const { return has(at, Kind::Integer) ? &values_[at].integer : nullptr; }
    const float* GetFloat(size_t at) const { return has(at, Kind::Real) ? &values_[at].real : nullptr; }
    const char* GetStr(size_t at) const { return has(at, Kind::Text) ? values_[at].text.c_str() : nullptr; }
    const TypedContinuousVector<int64_t>* GetListInt(size_t at) const { return has(at, Kind::Integers) ? &values_[at].integers : nullptr; }
    const TypedContinuousVector<float>* GetListFloat(size_t at) const { return has(at, Kind::Reals) ? &values_[at].reals : nullptr; }
    template <class T> const T* GetAttrPointer(size_t at) const {
        if constexpr (std::is_same_v<T, bool>) return GetBool(at);
        else if constexpr (std::is_same_v<T, float>) return GetFloat(at);
        else if constexpr (std::is_same_v<T, char>) return GetStr(at);
        else if constexpr (std::is_same_v<T, TypedContinuousVector<float>>) return GetListFloat(at);
        else if constexpr (std::is_same_v<T, ContinuousVector>) return GetListInt(at);
        // An attribute is stored as int64_t; a device gives its first bytes to who asks for fewer.
        else return at < values_.size() && values_[at].kind == Kind::Integer ? reinterpret_cast<const T*>(&values_[at].integer) : nullptr;
    }
    std::vector<::opmend_sim::AttributeValue>& opmend_values() { return values_; }

private:
    using Kind = ::opmend_sim::AttributeValue::Kind;
    bool has(size_t at, Kind kind) const { return at < values_.size() && values_[at].kind == kind; }
    std::vector<::opmend_sim::AttributeValue> values_;
};

// The buffer that reaches the kernel as its tiling argument.
class TilingData {
public:
    static constexpr size_t kCapacity = 64 << 10;
    void* GetData() { return bytes_.data(); }
    const void* GetData() const { return bytes_.data(); }
    size_t GetCapacity() const { return bytes_.size(); }
    size_t GetDataSize() const { return size_; }
    void SetDataSize(size_t size) { size_ = size < bytes_.size() ? size : bytes_.size(); }
    template <class T> ge::graphStatus Append(const T& value) {
        if (size_ + sizeof(T) > bytes_.size()) return ge::GRAPH_FAILED;
        std::memcpy(bytes_.data() + size_, &value, sizeof(T));
        size_ += sizeof(T);
        return ge::GRAPH_SUCCESS;
    }

private:
    std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kCapacity);
    size_t size_ = 0;
};

class OpmendContext {
public:
    std::string opmend_type;
    std::deque<::opmend_sim::TensorFacts> opmend_inputs, opmend_outputs;
    RuntimeAttrs opmend_attributes;

    const char* GetNodeName() const { return opmend_type.c_str(); }
    const char* GetNodeType() const { return opmend_type.c_str(); }
    size_t GetComputeNodeInputNum() const { return opmend_inputs.size(); }
    size_t GetComputeNodeOutputNum() const { return opmend_outputs.size(); }
    const RuntimeAttrs* GetAttrs() const { return &opmend_attributes; }
    const CompileTimeTensorDesc* GetInputDesc(size_t at) const { return found(opmend_inputs, at) ? &opmend_inputs[at].description : nullptr; }
    const CompileTimeTensorDesc* GetOptionalInputDesc(size_t at) const { return GetInputDesc(at); }
    const CompileTimeTensorDesc* GetOutputDesc(size_t at) const { return found(opmend_outputs, at) ? &opmend_outputs[at].description : nullptr; }
    const Tensor* GetInputTensor(size_t at) const { return found(opmend_inputs, at) ? &opmend_inputs[at].tensor : nullptr; }
    const Tensor* GetOptionalInputTensor(size_t at) const { return GetInputTensor(at); }

protected:
    static bool found(const std::deque<::opmend_sim::TensorFacts>& list, size_t at) { return at < list.size() && list[at].there; }
};

class TilingContext : public OpmendContext {
public:
    const StorageShape* GetInputShape(size_t at) const { return found(opmend_inputs, at) ? &opmend_inputs[at].shape : nullptr; }
    const StorageShape* GetOptionalInputShape(size_t at) const { return GetInputShape(at); }
    const StorageShape* GetOutputShape(size_t at) const { return found(opmend_outputs, at) ? &opmend_outputs[at].shape : nullptr; }
    // Never null; PlatformAscendC asks the simulator whatever it is made of.
    fe::PlatFormInfos* GetPlatformInfo() const { return reinterpret_cast<fe::PlatFormInfos*>(const_cast<TilingContext*>(this)); }
    ge::graphStatus SetBlockDim(uint32_t blocks) { return blocks_ = blocks, ge::GRAPH_SUCCESS; }
    uint32_t GetBlockDim() const { return blocks_; }
    ge::graphStatus SetTilingKey(uint64_t key) { return key_ = key, ge::GRAPH_SUCCESS; }
    uint64_t GetTilingKey() const { return key_; }
    ge::graphStatus SetScheduleMode(uint32_t) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetNeedAtomic(bool) { return ge::GRAPH_SUCCESS; }
    size_t* GetWorkspaceSizes(size_t count) {
        if (count > workspaces_.size()) workspaces_.resize(count);
        return workspaces_.data();
    }
    size_t GetWorkspaceNum() const { return workspaces_.size(); }
    TilingData* GetRawTilingData() { return &data_; }
    template <class T> T* GetTilingData() {
        static_assert(std::is_trivially_copyable_v<T>, "tiling data holds plain fields, arrays and structs");
        data_.SetDataSize(sizeof(T));
        return static_cast<T*>(data_.GetData());
    }

private:
    uint32_t blocks_ = 0;
    uint64_t key_ = 0;
    std::vector<size_t> workspaces_;
    TilingData data_;
};

class InferShapeContext : public OpmendContext {
public:
    const Shape* GetInputShape(size_t at) const { return found(opmend_inputs, at) ? &opmend_inputs[at].shape.GetOriginShape() : nullptr; }
    const Shape* GetOptionalInputShape(size_t at) const { return GetInputShape(at); }
    Shape* GetOutputShape(size_t at) { return found(opmend_outputs, at) ? &opmend_outputs[at].shape.MutableOriginShape() : nullptr; }
};

class InferDataTypeContext : public OpmendContext {
public:
    ge::DataType GetInputDataType(size_t at) const { return found(opmend_inputs, at) ? opmend_inputs[at].description.GetDataType() : ge::DT_UNDEFINED; }
    ge::DataType GetOptionalInputDataType(size_t at) const { return GetInputDataType(at); }
    ge::DataType GetOutputDataType(size_t at) const { return found(opmend_outputs, at) ? opmend_outputs[at].description.GetDataType() : ge::DT_UNDEFINED; }
    ge::graphStatus SetOutputDataType(size_t at, ge::DataType type) {
        if (!found(opmend_outputs, at)) return ge::GRAPH_FAILED;
        opmend_outputs[at].description = CompileTimeTensorDesc(type);
        return ge::GRAPH_SUCCESS;
    }
};
}  // namespace gert
