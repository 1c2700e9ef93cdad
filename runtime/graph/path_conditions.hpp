// runtime/graph/path_conditions.hpp -- under which conditions each node of an expression is
// evaluated.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit {

/// Conditions that hold together, each with the value it has: those of the selects, guarded reads,
/// && and || above (which evaluate their second operand only where the first leaves it open).
using PathCondition = std::vector<std::pair<ExprId, bool>>;

/// Per read reachable from the roots: the ways to reach it; whenever it is evaluated one of them
/// holds. (A read's own predicate is not among them.) Where ways grow too many, conditions are left
/// out: what remains is still implied.
std::unordered_map<uint32_t, std::vector<PathCondition>> path_conditions(
    const ExprPool& pool, std::span<const ExprId> roots);

}  // namespace adjit
