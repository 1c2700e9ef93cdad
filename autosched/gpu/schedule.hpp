// autosched/gpu/schedule.hpp -- the default schedule of a GPU: linear in the graph's size.
//
// The flat mapping: every stage that is left after inlining and fusing is a kernel without anything
// attached, its tasks are threads (flat_loops.hpp).
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
