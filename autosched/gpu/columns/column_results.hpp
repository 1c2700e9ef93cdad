// autosched/gpu/columns/column_results.hpp -- pointwise stages behind sums over rows.
//
// Gradients of parameters are added up in a wider type and rounded at the end: stages of their own,
// of a few points each, which would be kernels, too.
#pragma once

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Makes one stage of the pointwise ones, of one domain, that each read one of the sums of a stage
/// alone. Nothing is attached in the program.
Program join_readers(Program program, size_t sum);

/// Computes a stage that adds up parts in the kernel of the pointwise stage that alone reads it, a
/// tile of columns at a time.
Program attach_to_reader(Program program, size_t sum);

}  // namespace adjit::sched
