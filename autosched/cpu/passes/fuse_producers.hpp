// autosched/cpu/passes/fuse_producers.hpp -- producers computed row by row where their readers run.
#pragma once

#include "autosched/cpu/passes/loops/kernel.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Attaches stages to the loops over leading axes that they share with a later stage (softmax,
/// normalisations and their adjoints), from the last stage to the first, as long as the row's
/// buffers stay small and no point is computed twice. Stages with plans and contractions stay
/// kernels of their own; where `tasks` are settled, nothing is attached outside them. All nests
/// must have plain loops. `side_by_side`: reductions of short rows run for several rows at once.
Program attach_rows(Program program, const ReductionPlans& plans, const TaskLoops& tasks,
                    bool side_by_side, Choices& choices);

}  // namespace adjit::sched
