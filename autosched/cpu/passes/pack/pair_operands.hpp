// autosched/cpu/passes/pack/pair_operands.hpp -- operands of bfloat16 products with two points of
// the reduction side by side.
#pragma once

#include <cstddef>

#include "autosched/cpu/passes/layout_context.hpp"

namespace adjit::sched {

/// Sums of products of bfloat16 where one instruction takes two points of the reduction: both
/// operands have the two side by side, in the lanes' operand for every lane.
bool pair_operands(LayoutContext& c, size_t s);

}  // namespace adjit::sched
