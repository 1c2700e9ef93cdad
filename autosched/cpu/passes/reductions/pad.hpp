// autosched/cpu/passes/reductions/pad.hpp -- zeros around operands of contractions.
#pragma once

#include <cstddef>

#include "autosched/cpu/passes/layout_context.hpp"

namespace adjit::sched {

/// Zeros around an operand in place of the conditions that keep the reads inside it. The number of
/// the stage after that.
size_t pad_operand(LayoutContext& c, size_t s);

}  // namespace adjit::sched
