// autosched/search/print_passes.hpp -- the program after each pass of a schedule, as text for
// people.
#pragma once

#include <string>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/target.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// A section for each pass that changes something, the first for what the passes begin with: the
/// name of the pass, then the graph and the loops, each where it changes. Passes over the steps of
/// scan 'h' are called "h / name". Errors as schedule_with.
std::string print_passes(const Graph& graph, const Target& target, const Answers& answers = {});

}  // namespace adjit::sched
