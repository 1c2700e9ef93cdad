// runtime/diff/simplify/simplify.cpp -- the order of the clean-up passes.
#include "runtime/diff/simplify/simplify.hpp"

#include <utility>

#include "runtime/diff/indices/indices.hpp"
#include "runtime/graph/subgraphs.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::diff {
namespace {

constexpr CleanUpPass kPasses[] = {
    {"inline_views", inline_views},
    {"with_whole_sums", with_whole_sums},
    {"stop_at_invariant_shifts", stop_at_invariant_shifts},
    {"simplify_indices", simplify_indices},
    {"restrict_domains", restrict_domains},
    {"restrict_to_supports", restrict_to_supports},
    {"restrict_to_reads", restrict_to_reads},
    {"drop_fixed_outputs", drop_fixed_outputs},
    {"selects_for_unique_scatters", selects_for_unique_scatters},
    {"hoist_factors", hoist_factors},
    {"merge_equal_stages", merge_equal_stages},
    {"prune_scans", prune_scans},
};

// Zeros that the user wrote down leave first: each part of a sum is then derived over its points.
constexpr CleanUpPass kBeforeDerivative[] = {
    {"inline_views", inline_views},
    {"with_whole_sums", with_whole_sums},
    {"restrict_domains", restrict_domains},
    {"stop_at_invariant_shifts", stop_at_invariant_shifts},
};

// Exact forms of a graph with numbers near 2^63 may leave 64 bits on the way of a proof. No pass is
// needed: one that cannot go on leaves the graph as it was.
Graph unless_overflow(Graph (*pass)(Graph), Graph graph) {
  try {
    return pass(graph);
  } catch (const Overflow&) {
    return graph;
  }
}

Graph run_passes(Graph graph, bool may_overflow) {
  // The second round sees what the first uncovered: views of restricted sums, equal stages with
  // equal operands.
  constexpr int kRounds = 2;
  Graph result = std::move(graph);
  for (int round = 0; round < kRounds; ++round) {
    for (const CleanUpPass& pass : kPasses) {
      check_cancelled();
      result =
          may_overflow ? unless_overflow(pass.run, std::move(result)) : pass.run(std::move(result));
    }
    result = compact(std::move(result));
  }
  return result;
}

}  // namespace

std::span<const CleanUpPass> clean_up_passes() { return kPasses; }
std::span<const CleanUpPass> passes_before_derivative() { return kBeforeDerivative; }

Graph simplify(Graph graph) {
  graph = compact(with_subgraphs(std::move(graph), simplify));
  try {
    return run_passes(graph, false);
  } catch (const Overflow&) {
    return run_passes(std::move(graph), true);
  }
}

Graph simplify_last(Graph graph) {
  graph = with_subgraphs(std::move(graph), simplify_last);
  const size_t stages = graph.stages.size();
  graph = masks_behind_sums(std::move(graph));
  if (graph.stages.size() != stages) graph = simplify(std::move(graph));
  return maxima_of_winners(std::move(graph));
}

Graph with_whole_sums(Graph graph) {
  return reroll_sums(window_sums(padded_reads(std::move(graph))));
}

}  // namespace adjit::diff
