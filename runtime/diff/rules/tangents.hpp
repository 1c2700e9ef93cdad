// runtime/diff/rules/tangents.hpp -- one forward sweep over the DAG of scalar bodies: the tangent
// of every root at once.
//
// Reads the table of rules (rules.hpp) forwards: the tangent of a node is the sum over its operands
// of the contribution with the operand's tangent in place of the cotangent. Linear in distinct
// nodes, iterative, sharing everything.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// The tangent of each root, in accumulator_of the root's dtype; an invalid id where it is
/// structurally zero (integers and bool always are).
/// `leaf_tangent` is asked for every float Read and Argument and answers an invalid id for zero.
/// `value_of` holds, for nodes whose value is stored somewhere, a read of it: rules that use a
/// node's own value (exp, tanh) take it instead of the node.
std::vector<ExprId> tangents(ExprPool& pool, std::span<const ExprId> roots,
                             const std::function<ExprId(ExprId)>& leaf_tangent,
                             const std::unordered_map<uint32_t, ExprId>& value_of = {});

}  // namespace adjit::diff
