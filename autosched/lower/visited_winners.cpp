// autosched/lower/visited_winners.cpp -- the reducer (value, payload, visited).
#include "autosched/lower/visited_winners.hpp"

#include <optional>

#include "runtime/expr/interval.hpp"
#include "runtime/expr/scalar.hpp"
#include "runtime/graph/identity.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::sched {
namespace {

bool finds_winner(const Stage& stage) {
  return stage.kind == StageKind::Compute && (stage.combiner.kind == CombinerKind::ArgMax ||
                                              stage.combiner.kind == CombinerKind::ArgMin);
}

bool may_be_least(const ExprPool& pool, const Stage& stage) {
  const ExprId payload = stage.bodies[1];
  const std::optional<ValueRange> range = interval_of(pool, payload, stage.domain.extents);
  return !range || range->lo <= lowest_of(pool.dtype(payload)).i;
}

// (v, p, visited) of the left and the right partial result, in the order of Custom's arguments. A
// point that was visited beats none, a better value the other, a NaN every number; the left of
// equal values and of two NaNs stays.
void reduce_with_flag(ExprPool& pool, Stage& stage) {
  const CombinerKind kind = stage.combiner.kind;
  const bool largest = kind == CombinerKind::ArgMax;
  const DType dtypes[] = {accumulator_of(pool.dtype(stage.bodies[0])), pool.dtype(stage.bodies[1]),
                          DType::Bool};
  ExprId left[3], right[3];
  for (size_t k = 0; k < 3; ++k) {
    left[k] = pool.argument(k, dtypes[k]);
    right[k] = pool.argument(3 + k, dtypes[k]);
  }
  const ExprId not_better =
      largest ? pool.make(Op::Le, {right[0], left[0]}) : pool.make(Op::Le, {left[0], right[0]});
  const ExprId number = pool.make(Op::Eq, {left[0], left[0]});
  const ExprId better = pool.logical_and(pool.make(Op::Not, {not_better}), number);
  const ExprId first = pool.make(Op::Not, {left[2]});
  const ExprId wins = pool.logical_and(right[2], pool.make(Op::Or, {first, better}));
  stage.combiner.kind = CombinerKind::Custom;
  stage.combiner.combine = {pool.select(wins, right[0], left[0]),
                            pool.select(wins, right[1], left[1]),
                            pool.make(Op::Or, {left[2], right[2]})};
  stage.combiner.identity = {identity_of(pool, kind, dtypes[0]), pool.constant_int(0, dtypes[1]),
                             pool.constant_int(0, DType::Bool)};
  stage.bodies.push_back(pool.constant_int(1, DType::Bool));
}

}  // namespace

Graph with_visited_winners(const Graph& source) {
  Graph graph = with_subgraphs(source, with_visited_winners);
  for (Stage& stage : graph.stages) {
    if (!finds_winner(stage) || !may_be_least(graph.pool, stage)) continue;
    const TensorInfo winner = graph.info(stage.results[0]);
    stage.results.push_back(add_tensor(graph, winner.name + "_visited", DType::Bool, winner.shape));
    reduce_with_flag(graph.pool, stage);
  }
  return graph;
}

}  // namespace adjit::sched
