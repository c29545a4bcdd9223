// How an operator project describes an operator: ops::OpDef with its inputs, outputs, attributes and tiling function, and OP_ADD, which registers
// it. The kernel registers itself (launch.h: the toolchain puts it behind the kernel's source); a call finds both by name (operator_call.h).
#pragma once
#include <functional>
#include <map>

#include "opmend_sim/operator_context.h"

namespace ops {
enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };

class OpParamDef {
public:
    explicit OpParamDef(const char* name = "") : opmend_name(name) {}
    OpParamDef& ParamType(Option option) { return opmend_option = option, *this; }
    OpParamDef& DataType(std::vector<ge::DataType> types) { return opmend_types = std::move(types), *this; }
    OpParamDef& DataTypeList(std::vector<ge::DataType> types) { return opmend_any_of = std::move(types), *this; }
    OpParamDef& Format(std::vector<ge::Format> formats) { return opmend_formats = std::move(formats), *this; }
    OpParamDef& FormatList(std::vector<ge::Format> formats) { return opmend_formats = std::move(formats), *this; }
    OpParamDef& UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
    OpParamDef& AutoContiguous() { return opmend_contiguous = true, *this; }
    OpParamDef& IgnoreContiguous() { return *this; }
    // The output's memory is set to this before the kernel.
    OpParamDef& InitValue(uint64_t value) { return opmend_initial = static_cast<int64_t>(value), opmend_has_initial = true, *this; }
    std::string opmend_name;
    Option opmend_option = REQUIRED;
    std::vector<ge::DataType> opmend_types, opmend_any_of;
    std::vector<ge::Format> opmend_formats;
    bool opmend_contiguous = false, opmend_has_initial = false;
    int64_t opmend_initial = 0;
};

class OpAttrDef {
public:
    using Kind = ::opmend_sim::AttributeValue::Kind;
    explicit OpAttrDef(const char* name = "") : opmend_name(name) {}
    OpAttrDef& AttrType(Option option) { return opmend_option = option, *this; }
    OpAttrDef& Bool() { return of(Kind::Boolean); }
    OpAttrDef& Bool(bool value) { return opmend_value.boolean = value, of(Kind::Boolean); }
    OpAttrDef& Int() { return of(Kind::Integer); }
    OpAttrDef& Int(int64_t value) { return opmend_value.integer = value, of(Kind::Integer); }
    OpAttrDef& Float() { return of(Kind::Real); }
    OpAttrDef& Float(float value) { return opmend_value.real = value, of(Kind::Real); }
    OpAttrDef& String() { return of(Kind::Text); }
    OpAttrDef& String(const char* value) { return opmend_value.text = value, of(Kind::Text); }
    OpAttrDef& ListInt() { return of(Kind::Integers); }
    OpAttrDef& ListInt(std::vector<int64_t> values) {
        return opmend_value.integers = gert::TypedContinuousVector<int64_t>(std::move(values)), of(Kind::Integers);
    }
    OpAttrDef& ListFloat() { return of(Kind::Reals); }
    OpAttrDef& ListFloat(std::vector<float> values) {
        return opmend_value.reals = gert::TypedContinuousVector<float>(std::move(values)), of(Kind::Reals);
    }
    std::string opmend_name;
    Option opmend_option = REQUIRED;
    ::opmend_sim::AttributeValue opmend_value;

private:
    OpAttrDef& of(Kind kind) { return opmend_value.kind = kind, *this; }
};

// What AddConfig says of one SoC. Flags are about a device's compiler, and mean nothing here.
class OpAICoreConfig {
public:
    explicit OpAICoreConfig(const char* = "") {}
    OpAICoreConfig& DynamicCompileStaticFlag(bool) { return *this; }
    OpAICoreConfig& DynamicFormatFlag(bool) { return *this; }
    OpAICoreConfig& DynamicRankSupportFlag(bool) { return *this; }
    OpAICoreConfig& DynamicShapeSupportFlag(bool) { return *this; }
    OpAICoreConfig& NeedCheckSupportFlag(bool) { return *this; }
    OpAICoreConfig& PrecisionReduceFlag(bool) { return *this; }
    OpAICoreConfig& ExtendCfgInfo(const char*, const char*) { return *this; }
};

using TilingFunction = std::function<ge::graphStatus(gert::TilingContext*)>;

class OpAICoreDef {
public:
    OpAICoreDef& SetTiling(ge::graphStatus (*function)(gert::TilingContext*)) { return opmend_tiling = function, *this; }
    OpAICoreDef& AddConfig(const char* soc) { return opmend_socs.push_back(soc), *this; }
    OpAICoreDef& AddConfig(const char* soc, const OpAICoreConfig&) { return AddConfig(soc); }
    TilingFunction opmend_tiling;
    std::vector<std::string> opmend_socs;
};

class OpDef {
public:
    explicit OpDef(const char* type) : opmend_type(type) {}
    OpParamDef& Input(const char* name) { return entry(opmend_inputs, name); }
    OpParamDef& Output(const char* name) { return entry(opmend_outputs, name); }
    OpAttrDef& Attr(const char* name) { return entry(opmend_attributes, name); }
    OpDef& SetInferShape(ge::graphStatus (*)(gert::InferShapeContext*)) { return *this; }
    OpDef& SetInferDataType(ge::graphStatus (*)(gert::InferDataTypeContext*)) { return *this; }
    OpAICoreDef& AICore() { return opmend_core; }
    std::string opmend_type;
    std::deque<OpParamDef> opmend_inputs, opmend_outputs;
    std::deque<OpAttrDef> opmend_attributes;
    OpAICoreDef opmend_core;

private:
    template <class T> static T& entry(std::deque<T>& list, const char* name) {
        for (T& one : list)
            if (one.opmend_name == name) return one;
        return list.emplace_back(name);
    }
};
}  // namespace ops

namespace opmend_sim {
// Remembers how to make an operator's description; the first call makes it.
bool add_operator(const char* type, std::function<ops::OpDef()> made);
// A tiling function that stands outside the description (IMPL_OP_OPTILING).
bool add_tiling(const char* type, ops::TilingFunction function);
}  // namespace opmend_sim

namespace ops {
// What stands behind IMPL_OP and its kin.
struct OpmendRegistration {
    const char* type;
    OpmendRegistration& Tiling(ge::graphStatus (*function)(gert::TilingContext*)) { return ::opmend_sim::add_tiling(type, function), *this; }
    OpmendRegistration& InferShape(ge::graphStatus (*)(gert::InferShapeContext*)) { return *this; }
    OpmendRegistration& InferDataType(ge::graphStatus (*)(gert::InferDataTypeContext*)) { return *this; }
};
}  // namespace ops

#define OP_ADD(type) \
    [[maybe_unused]] static const bool opmend_added_##type = ::opmend_sim::add_operator(#type, [] { return static_cast<::ops::OpDef>(type(#type)); })
#define IMPL_OP(type) [[maybe_unused]] static ::ops::OpmendRegistration opmend_impl_##type = ::ops::OpmendRegistration{#type}
#define IMPL_OP_OPTILING(type) [[maybe_unused]] static ::ops::OpmendRegistration opmend_tiling_##type = ::ops::OpmendRegistration{#type}
#define IMPL_OP_INFERSHAPE(type) [[maybe_unused]] static ::ops::OpmendRegistration opmend_shape_##type = ::ops::OpmendRegistration{#type}
