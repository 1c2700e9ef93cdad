// runtime/diff/rewrite/unconditional_reads.hpp -- which reads of a body no condition protects.
#pragma once

#include <span>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// Reads of these bodies that are evaluated at every point: not under a branch of a select,
/// nor as what another condition is joined with.
std::vector<ExprId> unconditional_reads(const ExprPool& pool, std::span<const ExprId> bodies);

}  // namespace adjit::diff
