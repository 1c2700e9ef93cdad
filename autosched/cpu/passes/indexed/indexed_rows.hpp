// autosched/cpu/passes/indexed/indexed_rows.hpp -- sums of rows that data names, computed where
// they are read.
#pragma once

#include <optional>

#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/moves/moves.hpp"

namespace adjit::sched {

/// Elements of a row in whole vectors, where that is at most a third more; else what it has.
int64_t whole_row(int64_t elements, int64_t lanes);

/// Scatters to which scatter_accumulate() can be applied, their rows innermost and in whole
/// vectors; what it makes is attached to them.
Program accumulate_indexed_rows(Program program, ReductionPlans& plans);

/// A stage with gather_reduce() applied to an operand, its rows innermost and in whole vectors by
/// `packing`, and what that makes attached to it; `plans` gets the tile of the sums. nullopt where
/// rows are short, few, or longer than L1 holds, and where the move is not legal.
std::optional<Program> with_summed_rows(const Program& program, size_t stage, TensorId operand,
                                        const Packing& packing, ReductionPlans& plans,
                                        Choices& choices);

}  // namespace adjit::sched
