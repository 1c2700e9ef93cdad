// runtime/diff/rules/sweep.hpp -- one reverse sweep over the DAG of scalar bodies: the cotangent of
// every read at once.
//
// Linear in distinct nodes, iterative, sharing everything: x * x * ... * x with 10,000 factors
// gives 20,000 nodes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// The cotangent that arrives at the root of a body.
struct Seed {
  ExprId root;
  ExprId cotangent;  // dtype: accumulator_of the root's
  ExprId condition;  // where it is not structurally zero; invalid: everywhere
  ExprId
      value;  // stands for the root's own value (a read of the result), or invalid: the root itself
};

/// What one read contributes to its tensor at the read's index.
struct Access {
  ExprId read;
  ExprId condition;  // where it takes part (path conditions; not the read's own predicate);
                     // invalid: everywhere
  ExprId value;      // dtype: accumulator_of the read's; meaningful only where the condition holds
};

/// Every read for which `active` answers true and that a seed reaches, in ascending order of ids.
std::vector<Access> sweep(ExprPool& pool, std::span<const Seed> seeds,
                          const std::function<bool(ExprId)>& active);

}  // namespace adjit::diff
