// autosched/cpu/passes/loops/scatter.hpp -- the default schedule of scatters and of running
// reductions: tasks and lanes along axes whose points are independent, parts where a scatter has
// none, rows where data names them.
#pragma once

#include "autosched/cpu/passes/stage_plans.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Splits long scatters into few elements, which have no axis that writes apart, into parts.
Program split_scatters(Program program);

/// Lets scatters at places that data names write whole rows (gather_layout.hpp): the dimension that
/// an axis of theirs walks goes innermost where points are many, and values come in lanes of
/// another axis.
Program write_scatters_by_rows(Program program);

/// The loops of one scatter's, or one running reduction's, nest.
Program schedule_scatter(Program program, size_t stage, const CpuMachine& machine,
                         const ReductionPlans& plans, Choices& choices);

}  // namespace adjit::sched
