// runtime/trace/ops/stages/operand.hpp -- what an operator takes where tensors and Python scalars
// are both welcome.
#pragma once

#include <concepts>
#include <optional>

#include "runtime/trace/promotion.hpp"
#include "runtime/trace/trace.hpp"
#include "runtime/trace/weak_scalar.hpp"

namespace adjit::trace {

/// A tensor, a literal, or nothing (an optional tensor left out).
struct Operand {
  TensorId tensor;
  std::optional<WeakScalar> scalar;
  std::optional<DType> scalar_dtype;  // of a literal that is not weak: a NumPy scalar

  Operand() = default;
  Operand(TensorId id) : tensor(id) {}              // NOLINT: reads as its tensor
  Operand(WeakScalar literal) : scalar(literal) {}  // NOLINT: reads as its literal
  Operand(std::floating_point auto value)           // NOLINT: reads as its literal
      : scalar(WeakScalar::of(static_cast<double>(value))) {}
  Operand(WeakScalar literal, DType dtype) : scalar(literal), scalar_dtype(dtype) {}
  bool given() const { return tensor.valid() || scalar.has_value(); }
};

/// The type of an operand that is given.
inline OperandType type_of(const Trace& trace, const Operand& operand) {
  if (operand.scalar_dtype) return {*operand.scalar_dtype, false};
  if (operand.scalar) return {operand.scalar->dtype(), true};
  return {dtype_of(trace, operand.tensor), trace.is_weak(operand.tensor)};
}

}  // namespace adjit::trace
