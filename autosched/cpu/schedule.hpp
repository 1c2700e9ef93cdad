// autosched/cpu/schedule.hpp -- the default schedule of a processor: linear in the graph's size.
#pragma once

#include "autosched/cpu/pass_list.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/passes/fallbacks.hpp"
#include "autosched/passes/plan_rematerialization.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules a final graph (after simplify and contract) by the list of passes (pass_list.hpp).
/// Both arguments must outlive the result. `listener`, which may be empty, gets the program after
/// each pass.
MakeSchedule all_passes(const Graph& graph, const CpuMachine& machine,
                        const PassListener& listener);

/// What the schedule may compute a second time to need less memory.
Rematerialization rematerialization_of(const Graph& graph, const CpuMachine& machine);

}  // namespace adjit::sched
