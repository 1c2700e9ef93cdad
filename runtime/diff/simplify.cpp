// runtime/diff/simplify.cpp -- the order of the clean-up passes.
#include "runtime/diff/simplify.hpp"

#include "runtime/graph/subgraphs.hpp"

namespace adjit {

Graph simplify(const Graph& graph) {
  // The second round sees what the first uncovered: views of restricted sums, equal stages with
  // equal operands.
  constexpr int kRounds = 2;
  Graph result = compact(with_subgraphs(graph, simplify));
  for (int round = 0; round < kRounds; ++round) {
    result = inline_views(result);
    result = simplify_indices(result);
    result = restrict_domains(result);
    result = drop_fixed_outputs(result);
    result = selects_for_unique_scatters(result);
    result = hoist_factors(result);
    result = merge_equal_stages(result);
    result = prune_scans(result);
    result = compact(result);
  }
  return result;
}

}  // namespace adjit
