// autosched/gpu/schedule.hpp -- a schedule for a GPU at once, without search: always legal, linear
// in the graph's size.
//
// The flat mapping: every stage that is left after inlining and fusing is a kernel without anything
// attached, its tasks are threads (flat_loops.hpp).
#pragma once

#include "autosched/decisions/attempts.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/passes/pass_listener.hpp"
#include "autosched/passes/plan_rematerialization.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules a final graph (after simplify and contract). Never ErrorCode::Schedule: what a move
/// refuses is left out (fallbacks.hpp). ErrorCode::Compile for stages that this version does not
/// compile.
Program default_schedule(const Graph& graph, const GpuMachine& machine);
/// The same with other answers to some of its decisions. `listener`, which may be empty, gets the
/// program after each pass; after one that a move refuses, all passes again, with caution.
Program schedule_with(const Graph& graph, const GpuMachine& machine, Choices& choices,
                      const PassListener& listener = {});
/// The same with caution from the beginning.
Program cautious_schedule(const Graph& graph, const GpuMachine& machine, Choices& choices,
                          Attempts& attempts, const PassListener& listener = {});

/// What the schedule may compute a second time to need less memory.
Rematerialization rematerialization_of(const Graph& graph, const GpuMachine& machine);

}  // namespace adjit::sched
