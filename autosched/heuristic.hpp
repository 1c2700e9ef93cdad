// autosched/heuristic.hpp -- a good schedule at once, without search: always legal, linear in the
// graph's size.
#pragma once

#include "autosched/choices.hpp"
#include "autosched/program.hpp"
#include "autosched/target.hpp"

namespace adjit {

/// Schedules a final graph (after simplify and contract): inlines, fuses rows, tiles contractions,
/// vectorises and runs in parallel. ErrorCode::Compile for stages that this version does not
/// compile.
Program default_schedule(const Graph& graph, const Target& target);
/// The same with other answers to some of its decisions; `scan`: whose body the graph is, or null.
Program schedule_with(const Graph& graph, const Target& target, Choices& choices,
                      const Scan* scan = nullptr);

}  // namespace adjit
