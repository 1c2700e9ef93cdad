// autosched/cpu/schedule.hpp -- a good schedule at once, without search: always legal, linear in
// the graph's size.
#pragma once

#include "autosched/cpu/pass_list.hpp"
#include "autosched/decisions/attempts.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/passes/plan_rematerialization.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules a final graph (after simplify and contract) by the list of passes (pass_list.hpp).
/// Never ErrorCode::Schedule: what a move refuses is left out (fallbacks.hpp). ErrorCode::Compile
/// for stages that this version does not compile.
Program default_schedule(const Graph& graph, const CpuMachine& machine);
/// The same with other answers to some of its decisions. `listener`, which may be empty, gets the
/// program after each pass; after one that a move refuses, all passes again, with caution.
Program schedule_with(const Graph& graph, const CpuMachine& machine, Choices& choices,
                      const PassListener& listener = {});
/// The same with caution from the beginning.
Program cautious_schedule(const Graph& graph, const CpuMachine& machine, Choices& choices,
                          Attempts& attempts, const PassListener& listener = {});

/// What the schedule may compute a second time to need less memory.
Rematerialization rematerialization_of(const Graph& graph, const CpuMachine& machine);

}  // namespace adjit::sched
