// runtime/trace/ops/operand.hpp -- what an operator takes where tensors and Python scalars are both
// welcome.
#pragma once

#include <concepts>
#include <optional>

#include "runtime/trace/trace.hpp"
#include "runtime/trace/weak_scalar.hpp"

namespace adjit {

/// A tensor, a weakly typed literal, or nothing (an optional tensor left out).
struct Operand {
  TensorId tensor;
  std::optional<WeakScalar> scalar;

  Operand() = default;
  Operand(TensorId id) : tensor(id) {}              // NOLINT: reads as its tensor
  Operand(WeakScalar literal) : scalar(literal) {}  // NOLINT: reads as its literal
  Operand(std::floating_point auto value)           // NOLINT: reads as its literal
      : scalar(WeakScalar::of(static_cast<double>(value))) {}
  bool given() const { return tensor.valid() || scalar.has_value(); }
};

}  // namespace adjit
