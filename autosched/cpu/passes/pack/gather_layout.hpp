// autosched/cpu/passes/pack/gather_layout.hpp -- operands at places that data names, read row by
// row.
//
// A gather takes an element for every lane. Where the places of the lanes are data's choice, but an
// axis of the stage walks the operand by itself (the channels of an image that a flow samples), a
// tile that has several points of that axis takes a piece of a row for every lane, and transposes
// the pieces in registers (jit/emit/loads/transposed_load.hpp): a quarter of the loads of float32.
// The rows must lie contiguously; where they do not, a copy of the operand with that dimension
// innermost may pay.
#pragma once

#include <optional>

#include "autosched/analysis/access.hpp"
#include "autosched/moves/moves.hpp"

namespace adjit::sched {

/// The copy of an operand that has the dimension innermost which an axis of the stage walks alone,
/// where data decides other dimensions; nullopt where there is no such axis of about a piece or
/// more, or its dimension is innermost anyway.
std::optional<Packing> rows_innermost(const Graph& graph, const Stage& stage,
                                      const MemoryAccess& access);

}  // namespace adjit::sched
