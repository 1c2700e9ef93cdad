// autosched/cpu/passes/pack/pack_operands.hpp -- operands of contractions in the layout that the
// tile wants.
#pragma once

#include <cstddef>

#include "autosched/cpu/passes/layout_context.hpp"

namespace adjit::sched {

/// Packs the operands of a stage that its tile would read badly, in panels inside its loops or as a
/// whole; a plan with the tile is noted where any is.
void pack_operands(LayoutContext& c, size_t s);

}  // namespace adjit::sched
