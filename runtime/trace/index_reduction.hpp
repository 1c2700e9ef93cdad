// runtime/trace/index_reduction.hpp -- reductions inside expressions of index notation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/trace/index_notation.hpp"

namespace adjit::trace {

/// Sum, Product, Max, Min, Any, All, ArgMax, ArgMin over the axes (outermost first), where `where`
/// holds. ArgMax and ArgMin give int64: the axis' value over one axis, the row-major position over
/// several.
ScalarExpr reduce(IndexNotation& n, CombinerKind kind, ScalarExpr body,
                  std::span<const AxisHandle> axes, ScalarExpr where = {}, Ties ties = Ties::Even);
/// Operand k of a custom reducer's combine expression: 0..n-1 left, n..2n-1 right.
ScalarExpr argument(IndexNotation& n, size_t number, DType dtype);
/// An associative reducer over n-tuples: combine[k] over argument(0..2n-1); identity[k] constants
/// or literals. One result per body.
std::vector<ScalarExpr> reduce_custom(IndexNotation& n, std::span<const ScalarExpr> bodies,
                                      std::span<const ScalarExpr> combine,
                                      std::span<const ScalarExpr> identity,
                                      std::span<const AxisHandle> axes, ScalarExpr where = {});

}  // namespace adjit::trace
