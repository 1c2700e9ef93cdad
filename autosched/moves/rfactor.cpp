// autosched/moves/rfactor.cpp -- partial results over parts of a reduction, and their combination
// (rfactor).
//
//   C[i] = sum over r < 1000 of f(i, r), in 4 parts:
//   P[p, i] = sum over r < 250 of f(i, 250 p + r);   C[i] = sum over p < 4 of P[p, i].
// The tree is fixed by the number of parts, never by threads. Of winners the parts have numbers:
//   (v, k)() argmax= (f(r), r):   (V, K)[p] argmax= (f(250 p + r), 250 p + r);
//   (w, n)() argmax= (V[p], p);   v() = V[n()], k() = K[n()].
#include <algorithm>
#include <optional>
#include <utility>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/winners.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// Points of one part come before those of the next one.
bool has_winners_in_parts(const Graph& graph, const Stage& stage, size_t axis) {
  const Domain& domain = stage.domain;
  if (!tells_order(graph, stage) || !domain.is_box()) return false;
  for (size_t a = domain.output_rank; a < axis; ++a)
    if (domain.extents[a] > 1) return false;
  return true;
}

// Which part has the winner; the stage reads it there.
Stage best_part(Program& program, Stage& last, const Stage& partial) {
  ExprPool& pool = program.graph.pool;
  Stage best = last;
  const size_t rank = last.domain.output_rank;
  best.bodies[1] = pool.axis(rank);
  const std::vector<int64_t> shape(last.domain.extents.begin(), last.domain.extents.end() - 1);
  const TensorInfo value = program.graph.info(last.results[0]);
  best.results = {add_tensor(program.graph, value.name + "_best", value.dtype, shape),
                  add_tensor(program.graph, value.name + "_part", DType::Int64, shape)};
  std::vector<ExprId> here;
  for (size_t a = 0; a < rank; ++a) here.push_back(pool.axis(a));
  std::vector<ExprId> there = here;
  there.insert(there.begin(), pool.read(best.results[1], DType::Int64, here));
  for (size_t k = 0; k < last.bodies.size(); ++k)
    last.bodies[k] =
        pool.read(partial.results[k], program.graph.info(partial.results[k]).dtype, there);
  last.domain = shape_box(shape);
  last.combiner = {};
  return best;
}

}  // namespace

Program rfactor(Program program, size_t stage, size_t axis, int64_t parts) {
  const Move move = begin_move("rfactor", program, stage);
  const Stage& whole = move.stage_ref();
  const Domain& domain = whole.domain;
  const bool winners = axis < domain.rank() && has_winners_in_parts(program.graph, whole, axis);
  move.require(
      whole.kind == StageKind::Compute && (has_partial_results(whole.combiner.kind) || winners),
      "its combiner has no partial results");
  move.require(axis >= domain.output_rank && axis < domain.rank(), "that is not a reduction axis");
  move.require(parts >= 2 && parts <= domain.extents[axis], "there must be 2 parts to one a point");
  for (TensorId id : whole.results) {
    const DType dtype = program.graph.info(id).dtype;
    move.require(accumulator_of(dtype) == dtype, "partial results of half types would be rounded");
  }
  move.own_kernel("split it before attaching it or others to it");
  const int64_t chunk = ceil_div(domain.extents[axis], parts);
  ExprPool& pool = program.graph.pool;

  Stage partial = whole;
  partial.domain = partial_domain(domain, axis, ceil_div(domain.extents[axis], chunk), chunk);
  const std::vector<ExprId> now = to_exprs(pool, whole_axes(domain, axis, chunk), partial.domain);
  for (ExprId& body : partial.bodies) body = body_at(pool, body, now, {});
  const std::vector<int64_t> shape(
      partial.domain.extents.begin(),
      partial.domain.extents.begin() + static_cast<std::ptrdiff_t>(partial.domain.output_rank));
  for (TensorId& id : partial.results) {
    const TensorInfo result = program.graph.info(id);
    id = add_tensor(program.graph, result.name + "_parts", result.dtype, shape);
  }

  Stage& last = program.graph.stages[stage];
  last.domain = Domain();
  last.domain.extents.assign(shape.begin() + 1, shape.end());
  last.domain.output_rank = shape.size() - 1;
  last.domain.extents.push_back(shape.front());
  std::vector<ExprId> index{pool.axis(last.domain.output_rank)};
  for (size_t a = 0; a < last.domain.output_rank; ++a) index.push_back(pool.axis(a));
  for (size_t k = 0; k < last.bodies.size(); ++k)
    last.bodies[k] =
        pool.read(partial.results[k], program.graph.info(partial.results[k]).dtype, index);
  std::optional<Stage> best;
  if (winners) best = best_part(program, last, partial);
  reset_nest(program, stage);
  if (best) insert_stage(program, stage, *std::move(best));
  insert_stage(program, stage, std::move(partial));
  const Move moved{move.name, program, stage + (winners ? 2 : 1)};
  moved.record({{"axis", axis}, {"parts", parts}});
  return program;
}

}  // namespace adjit::sched
