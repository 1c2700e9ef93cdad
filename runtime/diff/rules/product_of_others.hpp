// runtime/diff/rules/product_of_others.hpp -- the derivative of a product: that of all factors but
// one.
#pragma once

#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// What a factor adds to the reductions that give the product of the others.
struct FactorParts {
  /// To a product, in float64: itself where it is a number other than 0, the sign of an infinity,
  /// 1 for 0. In float64 the product of narrower numbers may leave their range on the way, as long
  /// as that of the others does not.
  ExprId nonzero;
  /// To a sum: 1 - itself where it is 0, else 0. It counts the zeros, but its derivative is minus
  /// that of their sum, which makes higher derivatives right as well.
  ExprId zeros;
  /// To a sum: 1 for an infinity, else 0.
  ExprId infinities;
};

/// `factor` is of the accumulator dtype.
FactorParts parts_of(ExprPool& pool, ExprId factor);
/// The product of all factors but this one, from the reductions of all: right with any number of
/// zeros and beside infinities, one of which may be this factor. Of the dtype of `zeros`.
ExprId product_of_others(ExprPool& pool, const FactorParts& factor, const FactorParts& all);

}  // namespace adjit::diff
