// EXEC_NPU_CMD(aclnnX, inputs..., attributes..., outputs...): runs the workspace's own operator X. Arguments are taken down with their kinds here, where
// torch is known; the runtime (runtime/operators.cpp) binds them to the operator's description, asks its tiling function, and launches its kernel.
#pragma once
#include <memory>

#include "opmend_sim/operator_argument.h"
#include "torch/extension.h"

namespace opmend_sim {
inline ge::DataType operator_type(at::ScalarType type) {
    switch (type) {
        case at::ScalarType::Byte: return ge::DT_UINT8;
        case at::ScalarType::Char: return ge::DT_INT8;
        case at::ScalarType::Short: return ge::DT_INT16;
        case at::ScalarType::Int: return ge::DT_INT32;
        case at::ScalarType::Long: return ge::DT_INT64;
        case at::ScalarType::Half: return ge::DT_FLOAT16;
        case at::ScalarType::Float: return ge::DT_FLOAT;
        case at::ScalarType::Double: return ge::DT_DOUBLE;
        case at::ScalarType::Bool: return ge::DT_BOOL;
        case at::ScalarType::BFloat16: return ge::DT_BF16;
        case at::ScalarType::UInt16: return ge::DT_UINT16;
        case at::ScalarType::UInt32: return ge::DT_UINT32;
        case at::ScalarType::UInt64: return ge::DT_UINT64;
        case at::ScalarType::ComplexFloat: return ge::DT_COMPLEX64;
        case at::ScalarType::ComplexDouble: return ge::DT_COMPLEX128;
        default: return ge::DT_UNDEFINED;
    }
}

inline OperatorArgument operator_argument(const at::Tensor& tensor) {
    OperatorArgument out;
    if (!tensor.defined()) return out;
    out.kind = OperatorArgument::Kind::Tensor;
    out.data = tensor.data_ptr();
    out.contiguous = tensor.is_contiguous();
    for (int64_t size : tensor.sizes()) out.shape.AppendDim(size);
    out.type = operator_type(tensor.scalar_type());
    if (!out.contiguous) {
        auto kept = std::make_shared<at::Tensor>();
        out.copy = [tensor, kept] { return *kept = tensor.contiguous(), kept->data_ptr(); };
        out.put_back = [tensor, kept] { at::Tensor(tensor).copy_(*kept); };
    }
    return out;
}
inline OperatorArgument operator_argument(std::nullopt_t) { return {}; }
inline OperatorArgument operator_argument(const at::Scalar& scalar) {
    OperatorArgument out;
    out.kind = scalar.isBoolean() ? OperatorArgument::Kind::Boolean : scalar.isFloatingPoint() ? OperatorArgument::Kind::Real : OperatorArgument::Kind::Integer;
    out.integer = scalar.toLong();
    out.real = scalar.toDouble();
    return out;
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0> OperatorArgument operator_argument(T value) { return operator_argument(at::Scalar(value)); }
inline OperatorArgument operator_argument(at::ScalarType type) { return operator_argument(static_cast<int64_t>(operator_type(type))); }
inline OperatorArgument operator_argument(const std::string& value) {
    OperatorArgument out;
    out.kind = OperatorArgument::Kind::Text;
    out.text = value;
    return out;
}
inline OperatorArgument operator_argument(const char* value) { return operator_argument(std::string(value)); }
inline OperatorArgument operator_argument(at::IntArrayRef values) {
    OperatorArgument out;
    out.kind = OperatorArgument::Kind::Integers;
    out.integers = values.vec();
    return out;
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0> OperatorArgument operator_argument(const std::vector<T>& values) {
    OperatorArgument out;
    if constexpr (std::is_floating_point_v<T>) {
        out.kind = OperatorArgument::Kind::Reals;
        out.reals.assign(values.begin(), values.end());
    } else {
        out.kind = std::is_same_v<T, bool> ? OperatorArgument::Kind::Booleans : OperatorArgument::Kind::Integers;
        out.integers.assign(values.begin(), values.end());
    }
    return out;
}
inline OperatorArgument operator_argument(at::ArrayRef<double> values) { return operator_argument(values.vec()); }
// The description of an operator with lists of tensors (ParamType(DYNAMIC)) is not there either.
inline OperatorArgument operator_argument(at::TensorList) { ::opmend_sim::unsupported("a list of tensors in EXEC_NPU_CMD", Where{"", 0}); }
inline OperatorArgument operator_argument(const std::vector<at::Tensor>& tensors) { return operator_argument(at::TensorList(tensors)); }
template <class T> OperatorArgument operator_argument(const std::optional<T>& value) { return value ? operator_argument(*value) : OperatorArgument{}; }

template <class... A> void exec_operator(const char* call, Where where, const A&... arguments) {
    std::vector<OperatorArgument> list;
    list.reserve(sizeof...(A));
    (list.push_back(operator_argument(arguments)), ...);
    call_operator(call, std::move(list), where);
}
}  // namespace opmend_sim

#define EXEC_NPU_CMD(aclnn_api, ...) ::opmend_sim::exec_operator(#aclnn_api, ::opmend_sim::Where{__FILE__, __LINE__}, __VA_ARGS__)
