// autosched/cpu/passes/fuse_column_sums.hpp -- sums down columns beside the rows that they are of.
//
// A normalisation's gradient goes through its rows once for the input's gradient, and once more for
// those of scale and shift, which are sums down the columns, in parts (prepare.hpp). Where the
// rows as a whole leave the caches but those of one part do not, the kernel of the rows runs part
// by part, too: a chain (task_chains.hpp), whose second kernel finds its rows in the cache.
#pragma once

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Parts of sums down columns of so many bytes altogether: of equal size, as small as a core's
/// cache wants them, but of 16 rows or more; `fewest` where there are none such. They follow from
/// the shapes and the caches, not from the number of cores, so that results do not either.
int64_t parts_of_columns(double bytes, int64_t rows, int64_t fewest, const CpuMachine& machine);

/// Whether a sum down columns along that axis reads what may be computed row by row right before
/// it: something of each row, or rows that were made point by point.
bool follows_rows(const LoweredGraph& graph, const Stage& sum, const Accesses& accesses,
                  size_t axis);

/// Takes the loop over rows of such kernels apart, and settles the tasks of both. What reads rows
/// must stand behind the kernel that computes something of them; all nests must have plain loops.
Program chain_parts(Program program, const CpuMachine& machine, const ReductionPlans& plans,
                    TaskLoops& tasks);

}  // namespace adjit::sched
