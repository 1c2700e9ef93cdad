// autosched/cpu/schedule.hpp -- a good schedule at once, without search: always legal, linear in
// the graph's size.
#pragma once

#include <string>

#include "autosched/cpu/pass_list.hpp"
#include "autosched/decisions/attempts.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules a final graph (after simplify and contract) by the list of passes (pass_list.hpp).
/// Never ErrorCode::Schedule: what a move refuses is left out (attempts.hpp). ErrorCode::Compile
/// for stages that this version does not compile.
Program default_schedule(const Graph& graph, const CpuMachine& machine);
/// The same with other answers to some of its decisions. `listener`, which may be empty, gets the
/// program after each pass; after one that a move refuses, all passes again, with caution.
Program schedule_with(const Graph& graph, const CpuMachine& machine, Choices& choices,
                      const PassListener& listener = {});
/// The same with caution from the beginning.
Program cautious_schedule(const Graph& graph, const CpuMachine& machine, Choices& choices,
                          Attempts& attempts, const PassListener& listener = {});
/// Plain loops, for this reason.
Program plain_schedule(const Graph& graph, const Target& target, const std::string& reason);

}  // namespace adjit::sched
