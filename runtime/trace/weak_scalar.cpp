// runtime/trace/weak_scalar.cpp -- literals to constants of a type.
#include "runtime/trace/weak_scalar.hpp"

#include <cmath>
#include <sstream>

#include "runtime/expr/error.hpp"
#include "runtime/expr/scalar.hpp"

namespace adjit::trace {

DType WeakScalar::dtype() const {
  switch (kind) {
    case Kind::Bool: return DType::Bool;
    case Kind::Int: return DType::Int64;
    case Kind::Float: return DType::Float64;
  }
  return DType::Float64;
}

std::string to_string(const WeakScalar& scalar) {
  switch (scalar.kind) {
    case WeakScalar::Kind::Bool: return scalar.integer ? "True" : "False";
    case WeakScalar::Kind::Int: return std::to_string(scalar.integer);
    case WeakScalar::Kind::Float: break;
  }
  std::ostringstream text;
  text << scalar.real;
  return text.str();
}

ExprId to_constant(ExprPool& pool, const WeakScalar& scalar, DType dtype) {
  const auto refuse = [&](const std::string& remedy) {
    throw Error(ErrorCode::DType, "the literal " + to_string(scalar) + " does not go with " +
                                      std::string(name_of(dtype)) + ": " + remedy);
  };
  switch (scalar.kind) {
    case WeakScalar::Kind::Bool:
      return is_float(dtype) ? pool.constant_float(static_cast<double>(scalar.integer), dtype)
                             : pool.constant_int(scalar.integer, dtype);
    case WeakScalar::Kind::Int:
      if (is_float(dtype)) return pool.constant_float(static_cast<double>(scalar.integer), dtype);
      if (dtype == DType::Bool) refuse("cast the tensor with astype, or write True or False");
      if (wrap_to(scalar.integer, dtype) != scalar.integer)
        refuse("it is out of range; cast the tensor to a wider type with astype");
      return pool.constant_int(scalar.integer, dtype);
    case WeakScalar::Kind::Float:
      if (!is_float(dtype)) refuse("cast the tensor to a float type with astype");
      return pool.constant_float(scalar.real, dtype);
  }
  return {};
}

}  // namespace adjit::trace
