// runtime/diff/rules/prefix_winner.cpp -- running maxima and minima, by the point that holds each.
#include "runtime/diff/rules/prefix_winner.hpp"

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rules/reducers.hpp"

namespace adjit::diff {
namespace {

bool keeps_first(const Combiner& combiner) {
  switch (combiner.kind) {
    case CombinerKind::Max:
    case CombinerKind::Min: return combiner.ties == Ties::First;
    case CombinerKind::ArgMax:
    case CombinerKind::ArgMin: return true;
    default: return false;
  }
}

}  // namespace

std::optional<PrefixWinner> prefix_winner(Graph& graph, size_t stage) {
  ExprPool& pool = graph.pool;
  if (!keeps_first(graph.stages[stage].combiner)) return std::nullopt;
  const std::optional<Running> running = prefix_reduction(pool, graph.stages[stage]);
  if (!running) return std::nullopt;
  const TensorId winner = winning_point(graph, stage);
  const Domain& domain = graph.stages[stage].domain;
  const std::vector<ExprId> point = axes(pool, domain.output_rank);
  const ExprId won = pool.cast(read(graph, winner, point), DType::Int64);
  std::vector<ExprId> now = point;
  now.push_back(won);
  const ExprId extent = pool.constant_int(domain.extents[running->axis]);
  PrefixWinner result;
  result.body = substitute_axes(pool, graph.stages[stage].bodies[0], now);
  result.exists = pool.logical_and(pool.make(Op::Le, {pool.constant_int(0), won}),
                                   pool.make(Op::Lt, {won, extent}));
  if (running->exclusive) {
    const ExprId first =
        pool.constant_int(running->reverse ? domain.extents[running->axis] - 1 : int64_t{0});
    result.exists =
        pool.logical_and(pool.make(Op::Ne, {point[running->axis], first}), result.exists);
  }
  return result;
}

}  // namespace adjit::diff
