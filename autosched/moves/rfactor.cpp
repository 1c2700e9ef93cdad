// autosched/moves/rfactor.cpp -- partial results over parts of a reduction, and their combination
// (rfactor).
//
//   C[i] = sum over r < 1000 of f(i, r), in 4 parts:
//   P[p, i] = sum over r < 250 of f(i, 250 p + r);   C[i] = sum over p < 4 of P[p, i].
// The tree is fixed by the number of parts, never by threads.
#include <algorithm>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
Program rfactor(Program program, size_t stage, size_t axis, int64_t parts) {
  const Move move = begin_move("rfactor", program, stage);
  const Stage& whole = move.stage_ref();
  const Domain& domain = whole.domain;
  move.require(whole.kind == StageKind::Compute && has_partial_results(whole.combiner.kind),
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
  reset_nest(program, stage);
  insert_stage(program, stage, std::move(partial));
  const Move moved{move.name, program, stage + 1};
  moved.record({{"axis", axis}, {"parts", parts}});
  return program;
}

}  // namespace adjit::sched
