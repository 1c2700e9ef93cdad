// autosched/cpu/passes/reductions/rfactor.hpp -- partial results of long reductions.
#pragma once

#include <cstddef>

#include "autosched/cpu/passes/layout_context.hpp"

namespace adjit::sched {

/// Few results of a long reduction, or sums down long columns, become partial results and a sum of
/// these; a plan for them is noted. Whether they did.
bool rfactor_long_sum(LayoutContext& c, size_t s);

}  // namespace adjit::sched
