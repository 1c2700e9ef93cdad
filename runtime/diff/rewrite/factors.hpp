// runtime/diff/rewrite/factors.hpp -- a body as a product of factors, each with the axes that it
// uses.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// Set of axis numbers below 64.
using AxisSet = uint64_t;
inline AxisSet bit(size_t axis) { return AxisSet{1} << axis; }

struct Factor {
  ExprId expr;
  bool inverse = false;  // divides
  AxisSet axes = 0;
};

struct Product {
  bool negative = false;
  std::vector<Factor> factors;  // in the order they stand
};

/// Axes that an expression uses (those from 63 on share the last bit).
AxisSet axes_used(const ExprPool& pool, ExprId expr);

/// Takes multiplications, divisions and negations of floats apart (at most 32 factors; what is left
/// stays one factor).
Product factors_of(const ExprPool& pool, ExprId body);

/// The product of the factors in order; 1 when there are none.
ExprId product_of(ExprPool& pool, const Product& product, DType dtype);

/// a * x + b * x as (a + b) * x where every term of a sum has the factor x; the expression itself
/// otherwise.
ExprId common_factor_out(ExprPool& pool, ExprId body);

}  // namespace adjit::diff
