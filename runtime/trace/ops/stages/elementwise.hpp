// runtime/trace/ops/stages/elementwise.hpp -- one stage that applies a formula to broadcast
// operands.
//
// Operands agree on one dtype by the rule of promotion.hpp. Formulas see half types as float32; a
// result of that type is rounded back.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>

#include "runtime/trace/ops/stages/formula.hpp"
#include "runtime/trace/ops/stages/operand.hpp"
#include "runtime/trace/ops/stages/stage_builder.hpp"

namespace adjit::trace {

/// The elements of the operands at one point, to the result's element there.
using ElementFormula = std::function<Formula(std::span<const Formula>)>;

/// Whether a formula is defined for floats only: weak integers are floats then.
enum class Takes : uint8_t { Numbers, Floats };

/// result[...] = formula(operands[...]) over the broadcast shape.
TensorId map(Trace& trace, std::string_view name, std::span<const Operand> operands,
             const ElementFormula& formula, Takes takes = Takes::Numbers);
inline TensorId map(Trace& trace, std::string_view name, std::initializer_list<Operand> operands,
                    const ElementFormula& formula, Takes takes = Takes::Numbers) {
  return map(trace, name, std::span<const Operand>(operands.begin(), operands.size()), formula,
             takes);
}

/// The type that the operands that are given agree on.
OperandType common_type(const Trace& trace, std::span<const Operand> operands);
DType common_dtype(const Trace& trace, std::span<const Operand> operands);
/// The shape they broadcast to.
Shape common_shape(const Trace& trace, std::span<const Operand> operands);
/// The operand's element at the builder's axes, as `dtype` (half types as float32).
Formula element(const Trace& trace, const StageBuilder& stage, const Operand& operand, DType dtype);

/// The tensor in another dtype; the same tensor when it has it already.
TensorId astype(Trace& trace, TensorId x, DType dtype);
/// Half types as float32, everything else as it is: composite operators compute in it and round
/// once, with astype.
TensorId widened(Trace& trace, TensorId x);
/// ErrorCode::DType unless float.
void require_float(const Trace& trace, TensorId x, std::string_view what);
void require_integer(const Trace& trace, TensorId x, std::string_view what);

/// x != 0, unless it is a bool already.
inline Formula as_bool(Formula x) { return x.dtype() == DType::Bool ? x : x != 0; }

}  // namespace adjit::trace
