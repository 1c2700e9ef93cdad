// autosched/analysis/reads/factored_sum.hpp -- the factors of a sum's terms that an axis of the sum
// moves, and those that it does not.
#pragma once

#include <cstddef>

#include "autosched/program/program.hpp"
#include "runtime/diff/rewrite/factors.hpp"

namespace adjit::sched {

/// The term is the product of both, where `condition` holds, else zero.
struct FactoredSum {
  const char* refusal = nullptr;  // why the terms are none; null where they are
  ExprId condition;               // not valid: everywhere
  diff::Product still, moved;     // factors that the axis does not move, and the others, each some
};

/// Of a stage and an axis of its reduction.
FactoredSum factored_sum(LoweredGraph& graph, const Stage& stage, size_t axis);

}  // namespace adjit::sched
