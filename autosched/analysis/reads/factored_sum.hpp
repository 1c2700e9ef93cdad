// autosched/analysis/reads/factored_sum.hpp -- which factors of a sum's terms depend on an axis of
// the sum.
#pragma once

#include <cstddef>

#include "autosched/program/program.hpp"
#include "runtime/diff/rewrite/factors.hpp"

namespace adjit::sched {

/// A term is the product of both, where `condition` holds, else zero.
struct FactoredSum {
  const char* refusal = nullptr;  // why the terms have no such factors; null where they have
  ExprId condition;               // not valid: everywhere
  diff::Product invariant;        // factors that do not depend on the axis: at least one
  diff::Product dependent;        // those that do; none where the condition alone does
};

/// The factors of a stage's terms, by an axis of its reduction.
FactoredSum factored_sum(LoweredGraph& graph, const Stage& stage, size_t axis);

}  // namespace adjit::sched
