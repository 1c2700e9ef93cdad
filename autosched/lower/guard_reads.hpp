// autosched/lower/guard_reads.hpp -- no read touches memory outside its tensor, whatever is
// evaluated.
//
// Code generation evaluates both arms of a select for every lane, so a read that is in bounds only
// where the selects around it let it be needs a predicate of its own. The weakest one will do: 0 <=
// index < extent for the dimensions (and sides) that are not provably in bounds over the stage's
// domain. Where it is false the value is 0 and never selected. The same predicate keeps an index
// that depends on data from touching foreign memory.
#pragma once

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

/// Same results on every input for which the graph has any. Reads that are in bounds at every point
/// of their stage's domain where their predicate holds stay as they are.
LoweredGraph guard_reads(LoweredGraph graph);

}  // namespace adjit::sched
