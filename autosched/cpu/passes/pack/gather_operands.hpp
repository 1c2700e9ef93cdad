// autosched/cpu/passes/pack/gather_operands.hpp -- operands whose rows are at places that data
// names.
#pragma once

#include <cstddef>

#include "autosched/cpu/passes/layout_context.hpp"

namespace adjit::sched {

/// Operands whose lanes data puts anywhere, with the dimension innermost that data does not
/// decide: rows of it are loaded whole, where a gather takes element by element. The
/// number of the stage after that.
size_t gather_rows(LayoutContext& c, size_t s);

}  // namespace adjit::sched
