// dst = a + b: the interface's operators on whole tensors. Arithmetic and bits take dst's size, comparisons the sources'.
#pragma once
#include "opmend_sim/compare.h"
#include "opmend_sim/vector.h"

namespace opmend_sim {
enum class Symbol : uint8_t { Add, Sub, Mul, Div, And, Or, LT, GT, EQ, LE, GE, NE };
template <class S> struct Expression {
    Symbol symbol;
    AscendC::LocalTensor<S> a, b;
};
template <class T, class S> void assign_expression(const AscendC::LocalTensor<T>& dst, const void* given, Where where) {
    const auto& e = *static_cast<const Expression<S>*>(given);
    if (e.symbol >= Symbol::LT) {
        if constexpr (one_of<S, half, float, int32_t> && std::is_integral_v<T>) {
            constexpr AscendC::CMPMODE modes[] = {AscendC::CMPMODE::LT, AscendC::CMPMODE::GT, AscendC::CMPMODE::EQ,
                                                  AscendC::CMPMODE::LE, AscendC::CMPMODE::GE, AscendC::CMPMODE::NE};
            AscendC::Compare(dst, e.a, e.b, modes[static_cast<int>(e.symbol) - static_cast<int>(Symbol::LT)], e.a.GetSize(), where);
            return;
        }
    } else if constexpr (std::is_same_v<T, S>) {
        const int32_t count = static_cast<int32_t>(dst.GetSize());
        if constexpr (one_of<T, int16_t, uint16_t>) {
            if (e.symbol == Symbol::And) return AscendC::And(dst, e.a, e.b, count, where);
            if (e.symbol == Symbol::Or) return AscendC::Or(dst, e.a, e.b, count, where);
        }
        if constexpr (one_of<T, half, float>) {
            if (e.symbol == Symbol::Div) return AscendC::Div(dst, e.a, e.b, count, where);
        }
        if constexpr (one_of<T, half, float, int16_t, int32_t>) {
            if (e.symbol == Symbol::Add) return AscendC::Add(dst, e.a, e.b, count, where);
            if (e.symbol == Symbol::Sub) return AscendC::Sub(dst, e.a, e.b, count, where);
            if (e.symbol == Symbol::Mul) return AscendC::Mul(dst, e.a, e.b, count, where);
        }
    }
    fail("operand-type", "an operator on tensors whose element type the call does not take on dav-2201", where);
}
}  // namespace opmend_sim

namespace AscendC {
#define OPMEND_SYMBOL(op, Name)                                                                                                          \
    template <class S>::opmend_sim::Expression<S> operator op(const LocalTensor<S>& a, const LocalTensor<S>& b) {                         \
        return {::opmend_sim::Symbol::Name, a, b};                                                                                       \
    }
OPMEND_SYMBOL(+, Add)
OPMEND_SYMBOL(-, Sub)
OPMEND_SYMBOL(*, Mul)
OPMEND_SYMBOL(/, Div)
OPMEND_SYMBOL(&, And)
OPMEND_SYMBOL(|, Or)
OPMEND_SYMBOL(<, LT)
OPMEND_SYMBOL(>, GT)
OPMEND_SYMBOL(==, EQ)
OPMEND_SYMBOL(<=, LE)
OPMEND_SYMBOL(>=, GE)
OPMEND_SYMBOL(!=, NE)
#undef OPMEND_SYMBOL
}  // namespace AscendC
