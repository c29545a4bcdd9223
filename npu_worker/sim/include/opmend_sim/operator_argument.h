// One argument of an operator's call, in plain C++: what torch's side (operator_call.h) hands to the runtime.
#pragma once
#include <functional>

#include "opmend_sim/operator_types.h"

namespace opmend_sim {
struct OperatorArgument {
    enum class Kind : uint8_t { Nothing, Tensor, Boolean, Integer, Real, Text, Integers, Reals, Booleans } kind = Kind::Nothing;
    void* data = nullptr;
    bool contiguous = true;
    gert::Shape shape;
    ge::DataType type = ge::DT_UNDEFINED;
    int64_t integer = 0;
    double real = 0;
    std::string text;
    std::vector<int64_t> integers;  // and booleans
    std::vector<double> reals;
    // Of a tensor that is not contiguous: the memory of a contiguous copy, and what puts the copy back.
    std::function<void*()> copy;
    std::function<void()> put_back;
};
// Throws KernelError or unsupported. call: as it is written, aclnnX.
void call_operator(const char* call, std::vector<OperatorArgument> arguments, Where where);
}  // namespace opmend_sim
