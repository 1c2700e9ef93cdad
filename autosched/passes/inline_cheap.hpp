// autosched/passes/inline_cheap.hpp -- which stages are better computed again by their readers than
// stored.
#pragma once

#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Bodies grow to about this many expressions; then a value is stored.
inline constexpr size_t kBodyLimit = 500;

struct InliningPlan {
  std::vector<size_t> inlined;     // ascending
  std::vector<size_t> recomputed;  // graph outputs whose readers compute them again
};

/// Shapes of tensors that their readers compute again, whatever that costs: readers of pairs that
/// are going to share them (share_pairwise.hpp).
using Shapes = std::vector<std::vector<int64_t>>;

/// Short sums (ascending) whose results are large, which would be inlined if they were written out
/// (unroll_reduction).
std::vector<size_t> sums_worth_expanding(const Program& program, const Shapes& again = {});

/// Linear in the graph. A stage is inlined when its readers are pointwise over the same points, or
/// when evaluating it again costs less than storing and loading it.
InliningPlan plan_inlining(const Program& program, const Shapes& again = {});

/// Both of these, done. All nests must have plain loops.
Program inline_cheap_stages(Program program, const Shapes& again = {});

}  // namespace adjit::sched
