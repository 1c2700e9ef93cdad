// runtime/graph/identity.cpp -- what a combiner starts from.
#include "runtime/graph/identity.hpp"

#include <cmath>
#include <optional>

namespace adjit::graph {
namespace {

Scalar zero_of(DType dtype) { return is_float(dtype) ? Scalar::of_float(0) : Scalar::of_int(0); }

Scalar one_of(DType dtype) { return is_float(dtype) ? Scalar::of_float(1) : Scalar::of_int(1); }

}  // namespace

Scalar identity_of(CombinerKind kind, DType dtype) {
  switch (kind) {
    case CombinerKind::Product:
    case CombinerKind::All: return one_of(dtype);
    case CombinerKind::Max:
    case CombinerKind::ArgMax: return lowest_of(dtype);
    case CombinerKind::Min:
    case CombinerKind::ArgMin: return highest_of(dtype);
    default: return zero_of(dtype);
  }
}

ExprId identity_of(ExprPool& pool, CombinerKind kind, DType dtype) {
  const Scalar identity = identity_of(kind, dtype);
  return is_float(dtype) ? pool.constant_float(identity.f, dtype)
                         : pool.constant_int(identity.i, dtype);
}

bool is_identity_of(const ExprPool& pool, CombinerKind kind, ExprId expr) {
  if (!pool.is(expr, Op::Constant)) return false;
  const DType dtype = pool.dtype(expr);
  const Scalar identity = identity_of(kind, dtype);
  const std::optional<double> value = pool.value(expr);
  return is_float(dtype)
             ? value && *value == identity.f && std::signbit(*value) == std::signbit(identity.f)
             : pool.int_value(expr) == identity.i;
}

}  // namespace adjit::graph
