// autosched/cpu/schedule.hpp -- a good schedule at once, without search: always legal, linear in
// the graph's size.
#pragma once

#include "autosched/cpu/passes/prepared.hpp"
#include "autosched/decisions/attempts.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/machine/target.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Schedules a final graph (after simplify and contract): inlines, fuses rows, tiles contractions,
/// vectorises and runs in parallel. Never ErrorCode::Schedule: what a move refuses is left out
/// (attempts.hpp). ErrorCode::Compile for stages that this version does not compile.
Program default_schedule(const Graph& graph, const Target& target);
/// The same with other answers to some of its decisions.
Program schedule_with(const Graph& graph, const Target& target, Choices& choices);
/// The same with caution from the beginning.
Program cautious_schedule(const Graph& graph, const Target& target, Choices& choices,
                          Attempts& attempts);
/// Plain loops, for this reason.
Program plain_schedule(const Graph& graph, const Target& target, const std::string& reason);

/// The first steps of prepare_loops: stages are inlined and share passes, but none is
/// rematerialized, split or packed yet. `scan`: whose body the graph is, or null. Here and below
/// ErrorCode::Schedule where a move refuses an answer, unless attempts are made with caution.
Prepared prepare_stages(const Graph& graph, const Target& target, Choices& choices,
                        Attempts& attempts, const Scan* scan = nullptr);
/// The two halves of a schedule: the first asks nothing that is about loops (`is_about_loops` in
/// choices.hpp), the second nothing else, but for the steps of scans.
Prepared prepare_loops(const Graph& graph, const Target& target, Choices& choices,
                       Attempts& attempts, const Scan* scan = nullptr);
Program schedule_loops(Prepared prepared, const Target& target, Choices& choices,
                       Attempts& attempts, const Scan* scan = nullptr);

}  // namespace adjit::sched
