// autosched/search/scheduler.hpp -- a good schedule at once, without search, for whichever machine
// a target is.
//
// Each machine has a room with its passes (cpu/schedule.hpp, gpu/schedule.hpp).
#pragma once

#include "autosched/decisions/attempts.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/target.hpp"
#include "autosched/passes/pass_listener.hpp"
#include "autosched/passes/plan_rematerialization.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules a final graph (after simplify and contract), always legal, in time linear in its size.
/// Never ErrorCode::Schedule: what a move refuses is left out (fallbacks.hpp). ErrorCode::Compile
/// for stages that this version does not compile.
Program default_schedule(const Graph& graph, const Target& target);
/// The same with other answers to some of its decisions. `listener`, which may be empty, gets the
/// program after each pass; after one that a move refuses, all passes again, with caution.
Program schedule_with(const Graph& graph, const Target& target, Choices& choices,
                      const PassListener& listener = {});
/// The same with caution from the beginning.
Program cautious_schedule(const Graph& graph, const Target& target, Choices& choices,
                          Attempts& attempts, const PassListener& listener = {});

/// What the schedule may compute a second time to need less memory.
Rematerialization rematerialization_of(const Graph& graph, const Target& target);

}  // namespace adjit::sched
