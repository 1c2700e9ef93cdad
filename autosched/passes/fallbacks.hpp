// autosched/passes/fallbacks.hpp -- a schedule where a move refuses what was decided.
//
// Schedules are made without caution first, which costs nothing; what a move refuses, they are made
// again with (attempts.hpp), and come to plain loops where even that is illegal.
#pragma once

#include <functional>
#include <string>

#include "autosched/decisions/attempts.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Runs all passes; what a step raises without caution, it raises.
using MakeSchedule = std::function<Program(Choices& choices, Attempts& attempts)>;

/// What `make` makes of the graph, never ErrorCode::Schedule: if need be with caution, or plain
/// loops.
Program schedule_or_fall_back(const Graph& graph, const Target& target, Choices& choices,
                              const MakeSchedule& make);
/// The same with caution from the beginning.
Program schedule_with_caution(const Graph& graph, const Target& target, Choices& choices,
                              Attempts& attempts, const MakeSchedule& make);
/// Plain loops, for this reason.
Program plain_schedule(const Graph& graph, const Target& target, const std::string& reason);

}  // namespace adjit::sched
