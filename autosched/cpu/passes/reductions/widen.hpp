// autosched/cpu/passes/reductions/widen.hpp -- operands of half types that are converted once.
#pragma once

#include <cstddef>

#include "autosched/cpu/passes/layout_context.hpp"

namespace adjit::sched {

/// Half types that are read often are converted once, not in the tile. The number of the
/// stage after that.
size_t widen_operands(LayoutContext& c, size_t s);

}  // namespace adjit::sched
