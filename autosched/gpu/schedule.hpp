// autosched/gpu/schedule.hpp -- the default schedule of a GPU: linear in the graph's size.
//
// Stages that a row at a time goes through are one kernel (fuse_rows.hpp). Its tasks, and those of
// reductions whose terms threads share, are run by blocks of threads (block_loops.hpp); a task of
// any other kernel is a thread's (flat_loops.hpp).
#pragma once

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/passes/fallbacks.hpp"
#include "autosched/passes/pass_listener.hpp"
#include "autosched/passes/plan_rematerialization.hpp"

namespace adjit::sched {

/// Schedules a final graph (after simplify and contract). Both arguments must outlive the result.
/// `listener`, which may be empty, gets the program after each pass.
MakeSchedule all_passes(const Graph& graph, const GpuMachine& machine,
                        const PassListener& listener);

/// What the schedule may compute a second time to need less memory.
Rematerialization rematerialization_of(const Graph& graph, const GpuMachine& machine);

}  // namespace adjit::sched
