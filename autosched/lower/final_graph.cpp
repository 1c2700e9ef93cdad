// autosched/lower/final_graph.cpp -- the list of passes.
#include "autosched/lower/final_graph.hpp"

#include "autosched/lower/scans.hpp"
#include "autosched/lower/visited_winners.hpp"
#include "runtime/diff/reverse/calls.hpp"
#include "runtime/diff/simplify/long_sums.hpp"
#include "runtime/diff/simplify/simplify.hpp"

namespace adjit::sched {

Graph final_graph(const Graph& graph, bool simple) {
  const Graph clean = simplify_last(simple ? graph : simplify(expand_calls(graph)));
  const Graph apart = split_loops(linear_scans_as_prefixes(clean));
  const Graph exact = with_visited_winners(long_sums_in_float64(contract(apart)));
  return compact(separate_outputs(exact));
}

}  // namespace adjit::sched
