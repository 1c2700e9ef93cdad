// runtime/diff/simplify/simplify.cpp -- the order of the clean-up passes.
#include "runtime/diff/simplify/simplify.hpp"

#include <utility>

#include "runtime/diff/indices/indices.hpp"
#include "runtime/graph/subgraphs.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::diff {

Graph simplify(Graph graph) {
  // The second round sees what the first uncovered: views of restricted sums, equal stages with
  // equal operands.
  constexpr int kRounds = 2;
  Graph result = compact(with_subgraphs(std::move(graph), simplify));
  for (int round = 0; round < kRounds; ++round) {
    for (Graph (*pass)(Graph) :
         {inline_views, with_whole_sums, stop_at_invariant_shifts, simplify_indices,
          restrict_domains, restrict_to_supports, restrict_to_reads, drop_fixed_outputs,
          selects_for_unique_scatters, hoist_factors, merge_equal_stages, prune_scans}) {
      check_cancelled();
      result = pass(std::move(result));
    }
    result = compact(std::move(result));
  }
  return result;
}

Graph simplify_last(Graph graph) {
  graph = with_subgraphs(std::move(graph), simplify_last);
  const size_t stages = graph.stages.size();
  graph = masks_behind_sums(std::move(graph));
  return graph.stages.size() == stages ? graph : simplify(std::move(graph));
}

Graph with_whole_sums(Graph graph) {
  return reroll_sums(window_sums(padded_reads(std::move(graph))));
}

}  // namespace adjit::diff
