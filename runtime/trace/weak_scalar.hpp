// runtime/trace/weak_scalar.hpp -- a Python literal: it takes the dtype of what it meets.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/expr/dtype.hpp"
#include "runtime/expr/expr.hpp"

namespace adjit::trace {

/// A bool, int or float literal. A bool adapts to every type, an int to integers and floats, a
/// float to floats only.
struct WeakScalar {
  enum class Kind : uint8_t { Bool, Int, Float };
  Kind kind = Kind::Float;
  int64_t integer = 0;  // Bool, Int
  double real = 0;      // Float

  static WeakScalar of(bool value) { return {Kind::Bool, value, 0}; }
  static WeakScalar of(int64_t value) { return {Kind::Int, value, 0}; }
  static WeakScalar of(double value) { return {Kind::Float, 0, value}; }

  /// What it is held in where nothing else says so: bool, int64, float64.
  DType dtype() const;
  double value() const { return kind == Kind::Float ? real : static_cast<double>(integer); }
};

/// "2.5", "3", "True".
std::string to_string(const WeakScalar& scalar);

/// The constant of that type. ErrorCode::DType when it does not adapt (a float literal with an
/// integer tensor: cast the tensor with astype) or does not fit the range of an integer type.
ExprId to_constant(ExprPool& pool, const WeakScalar& scalar, DType dtype);

}  // namespace adjit::trace
