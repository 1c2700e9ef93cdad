// runtime/diff/rules/product_of_others.cpp -- the parts of a factor, and the product without it.
#include "runtime/diff/rules/product_of_others.hpp"

#include <limits>

#include "runtime/diff/conditions/condition.hpp"

namespace adjit::diff {

FactorParts parts_of(ExprPool& pool, ExprId factor) {
  const DType dtype = pool.dtype(factor);
  const ExprId zero = pool.make(Op::Eq, {factor, pool.constant(0, dtype)});
  const ExprId infinite = pool.make(Op::IsInf, {factor});
  const ExprId one = pool.constant(1, dtype);
  const ExprId finite = pool.select(infinite, pool.make(Op::Sign, {factor}), factor);
  return {pool.cast(pool.select(zero, one, finite), DType::Float64),
          guard(pool, zero, pool.sub(one, factor)), guard(pool, infinite, one)};
}

// With Z' = Z - zeros: (1 - Z') times the product of the nonzero others where Z' is 0 or 1 (there
// 1 - Z' is the one zero, with its derivative), else 0. Infinities among the others have left their
// signs.
ExprId product_of_others(ExprPool& pool, const FactorParts& factor, const FactorParts& all) {
  const DType dtype = pool.dtype(all.zeros);
  const ExprId finite = pool.div(all.nonzero, factor.nonzero);
  const ExprId infinity =
      pool.constant(std::numeric_limits<double>::infinity(), pool.dtype(finite));
  const ExprId some = pool.make(Op::Ne, {all.infinities, factor.infinities});
  const ExprId nonzero = pool.select(some, pool.mul(finite, infinity), finite);
  const ExprId one = pool.constant(1, dtype), left = pool.sub(all.zeros, factor.zeros);
  // Before it is narrowed: 0 times what is beyond the narrow type is 0.
  const ExprId zero = pool.cast(pool.sub(one, left), pool.dtype(finite));
  return guard(pool, pool.make(Op::Le, {left, one}), pool.cast(pool.mul(zero, nonzero), dtype));
}

}  // namespace adjit::diff
