// runtime/diff/simplify/maxima_of_winners.cpp -- a maximum whose place is asked for, too, is found
// with it.
//
//   m[i] = max over r of x[i, r],   (v, k)[i] = argmax over r of (x[i, r], r)
//   ->   (m, k)[i] = argmax over r of (x[i, r], r)
#include <algorithm>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"

namespace adjit::diff {
namespace {

// Whether `winner` finds what `extremum` does, of operands that are there for it.
bool finds(const Graph& graph, const Stage& winner, const Stage& extremum) {
  const auto is = [&](CombinerKind one, CombinerKind other) {
    return extremum.combiner.kind == one && winner.combiner.kind == other;
  };
  if (!is(CombinerKind::Max, CombinerKind::ArgMax) && !is(CombinerKind::Min, CombinerKind::ArgMin))
    return false;
  return extremum.kind == StageKind::Compute && winner.kind == StageKind::Compute &&
         winner.region == extremum.region && extremum.bodies.size() == 1 &&
         extremum.bodies[0] == winner.bodies[0] && extremum.domain == winner.domain &&
         std::ranges::includes(tensors_read(graph, extremum), tensors_read(graph, winner));
}

}  // namespace

Graph maxima_of_winners(Graph graph) {
  std::vector<size_t> winners;
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const CombinerKind kind = graph.stages[s].combiner.kind;
    if (kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin) winners.push_back(s);
  }
  if (winners.empty()) return graph;
  bool any = false;
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const auto found = std::ranges::find_if(
        winners, [&](size_t w) { return finds(graph, graph.stages[w], graph.stages[s]); });
    if (found == winners.end()) continue;
    any = true;
    // As the other one is: they are merged. The place keeps its name in the earlier one, which
    // stages between them may read.
    Stage& stage = graph.stages[s];
    Stage& winner = graph.stages[*found];
    Stage both = winner;
    both.results[0] = stage.results[0];
    both.lines = stage.lines;
    const TensorInfo place = graph.info(winner.results[1]);
    TensorId& of_later = s < *found ? winner.results[1] : both.results[1];
    of_later = add_tensor(graph, place.name, place.dtype, place.shape);
    stage = std::move(both);
  }
  return any ? compact(merge_equal_stages(std::move(graph))) : graph;
}

}  // namespace adjit::diff
