// tests/runtime/graph/reduced_again.hpp -- another reduction of what an earlier stage reduces: a
// maximum beside its place, a sum beside a maximum.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_values.hpp"

namespace adjit::testing {

/// The reductions of numbers that are held as they are computed, which half types are not.
inline std::vector<size_t> reductions_of_numbers(const Graph& graph) {
  std::vector<size_t> found;
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    if (stage.kind != StageKind::Compute || stage.domain.reduction_rank() == 0) continue;
    const DType dtype = graph.pool.dtype(stage.bodies[0]);
    if (dtype != DType::Bool && accumulator_of(dtype) == dtype) found.push_back(s);
  }
  return found;
}

/// Adds a stage over the domain and the first body of one of `reductions`, rather the last, by a
/// drawn combiner. Its results.
inline std::vector<TensorId> reduced_again(Graph& graph, Random& random, const std::string& name,
                                           const std::vector<size_t>& reductions) {
  static const std::vector<CombinerKind> kKinds{
      CombinerKind::Sum, CombinerKind::Max,    CombinerKind::Max,   CombinerKind::Min,
      CombinerKind::Min, CombinerKind::ArgMax, CombinerKind::ArgMin};
  const Stage& like = graph.stages[random.chance(60) ? reductions.back() : random.pick(reductions)];
  const Domain domain = like.domain;
  std::vector<ExprId> bodies{like.bodies[0]};
  Combiner combiner;
  combiner.kind = random.pick(kKinds);
  if (combiner.kind == CombinerKind::ArgMax || combiner.kind == CombinerKind::ArgMin)
    bodies.push_back(graph.pool.axis(domain.output_rank));
  return add_compute(graph, name, domain, std::move(combiner), std::move(bodies));
}

}  // namespace adjit::testing
