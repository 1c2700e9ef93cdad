// runtime/graph/verify/ways_to_reads.hpp -- the conditions on the ways from an expression's roots
// to each of its reads.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::graph {

/// Conditions that hold together, each with the value it has: those of the selects, guarded reads,
/// && and || above (which evaluate their second operand only where the first leaves it open).
using Way = std::vector<std::pair<ExprId, bool>>;

struct WaysToRead {
  std::vector<Way> ways;
  /// The read is evaluated where one of the ways holds, and only there. Where ways grow too many,
  /// conditions are left out: one of the ways still holds wherever the read is evaluated.
  bool exact = true;
};

/// Per read reachable from the roots: the ways to reach it. (A read's own predicate is not among
/// them.)
std::unordered_map<uint32_t, WaysToRead> ways_to_reads(const ExprPool& pool,
                                                       std::span<const ExprId> roots);

/// Where the roots evaluate the read, as a Bool expression, exact for any number of ways; linear in
/// the nodes between them. It evaluates conditions only where the roots do. (The read's own
/// predicate is no part of it.)
ExprId evaluated_where(ExprPool& pool, std::span<const ExprId> roots, ExprId read);

}  // namespace adjit::graph
