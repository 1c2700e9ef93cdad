// runtime/diff/simplify.cpp -- the order of the clean-up passes.
#include "runtime/diff/simplify.hpp"

#include <utility>

#include "runtime/graph/subgraphs.hpp"

namespace adjit {

Graph simplify(Graph graph) {
  // The second round sees what the first uncovered: views of restricted sums, equal stages with
  // equal operands.
  constexpr int kRounds = 2;
  Graph result = compact(with_subgraphs(std::move(graph), simplify));
  for (int round = 0; round < kRounds; ++round) {
    result = inline_views(std::move(result));
    result = window_sums(std::move(result));
    result = simplify_indices(std::move(result));
    result = restrict_domains(std::move(result));
    result = masks_behind_sums(std::move(result));
    result = restrict_to_supports(std::move(result));
    result = restrict_to_reads(std::move(result));
    result = drop_fixed_outputs(std::move(result));
    result = selects_for_unique_scatters(std::move(result));
    result = hoist_factors(std::move(result));
    result = merge_equal_stages(std::move(result));
    result = prune_scans(std::move(result));
    result = compact(std::move(result));
  }
  return result;
}

}  // namespace adjit
