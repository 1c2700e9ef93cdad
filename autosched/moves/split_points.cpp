// autosched/moves/split_points.cpp -- each point of a short output axis becomes a stage, whose sum
// has the terms that this point has.
//
//   R[p, q] = sum over r < 2 of dY[q - r] * w[2 r + p] where 2 r + p < 3, p < 2:
//   R0[q] = sum over r < 2 of dY[q - r] * w[2 r];   R1[q] = dY[q] * w[1];
//   R[p, q] = R0[q] where p is 0, else R1[q].
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/domain/bounds.hpp"

namespace adjit::sched {
namespace {

// A domain over other axes, and what stands there for those that the stage had.
struct PointDomain {
  Domain domain;
  std::vector<ExprId> now;
};

// Without the axis, at one of its points.
PointDomain at_point(ExprPool& pool, const Domain& domain, size_t axis, int64_t point) {
  PointDomain made;
  for (size_t a = 0; a < domain.rank(); ++a)
    made.now.push_back(a == axis ? pool.constant_int(point) : pool.axis(a < axis ? a : a - 1));
  Domain box;
  box.extents = domain.extents;
  box.extents.erase(box.extents.begin() + static_cast<std::ptrdiff_t>(axis));
  box.output_rank = domain.output_rank - 1;
  made.domain = with_rows_of(pool, domain, std::move(box), made.now);
  return made;
}

// The same over reduction axes from their first term on to their last one; nullopt: it has none.
std::optional<PointDomain> with_its_terms(ExprPool& pool, PointDomain whole) {
  Domain box;
  box.extents = whole.domain.extents;
  box.output_rank = whole.domain.output_rank;
  std::vector<ExprId> shifted;
  for (size_t a = 0; a < whole.domain.rank(); ++a) {
    shifted.push_back(pool.axis(a));
    if (a < box.output_rank) continue;
    const auto ends = domain::interval(whole.domain, Affine::variable(a));
    if (!ends) continue;
    if (ends->empty()) return std::nullopt;
    box.extents[a] = ends->size();
    shifted[a] = pool.add(shifted[a], pool.constant_int(ends->lo));
  }
  if (domain::provably_empty(whole.domain)) return std::nullopt;
  PointDomain made;
  made.domain = domain::tighten(with_rows_of(pool, whole.domain, std::move(box), shifted));
  for (ExprId expr : whole.now) made.now.push_back(body_at(pool, expr, shifted, {}));
  return made;
}

}  // namespace

Program split_points(Program program, size_t stage, size_t axis) {
  const Move move = begin_move("split_points", program, stage);
  const Stage whole = move.stage_ref();
  move.require(whole.kind == StageKind::Compute && !running_of(program.graph, whole) &&
                   whole.combiner.kind == CombinerKind::Sum,
               "only sums have points without terms");
  move.require(whole.results.size() == 1, "it has several results");
  move.require(axis < whole.domain.output_rank && whole.domain.output_rank > 1,
               "that is not one of several output axes");
  const int64_t points = whole.domain.extents[axis];
  move.require(points >= 1 && points <= kLargestResidue, "the axis must have 1 to 4 points");
  move.own_kernel("split it before attaching it or others to it");
  ExprPool& pool = program.graph.pool;
  const TensorInfo info = program.graph.info(whole.results[0]);
  std::vector<ExprId> index;
  for (size_t a = 0; a < whole.domain.output_rank; ++a)
    if (a != axis) index.push_back(pool.axis(a));

  std::vector<Stage> made;
  ExprId joined;
  for (int64_t point = points; point-- > 0;) {
    ExprId value = pool.constant(0, info.dtype);
    const ExprId here = pool.make(Op::Eq, {pool.axis(axis), pool.constant_int(point)});
    if (auto domain = with_its_terms(pool, at_point(pool, whole.domain, axis, point))) {
      Stage one = whole;
      const std::vector<int64_t>& extents = domain->domain.extents;
      const auto outputs = static_cast<std::ptrdiff_t>(domain->domain.output_rank);
      one.results = {add_tensor(program.graph, info.name + "_" + std::to_string(point), info.dtype,
                                {extents.begin(), extents.begin() + outputs})};
      one.bodies = {body_at(pool, whole.bodies[0], domain->now, {})};
      one.domain = std::move(domain->domain);
      value = pool.read(one.results[0], info.dtype, index, here);
      made.push_back(std::move(one));
    }
    joined = joined.valid() ? pool.select(here, value, joined) : value;
  }

  Stage& last = program.graph.stages[stage];  // was the whole one until here
  last.domain = shape_box(info.shape);
  last.combiner = {};
  last.bodies = {joined};
  reset_nest(program, stage);
  const size_t before = made.size();
  for (Stage& one : made) insert_stage(program, stage, std::move(one));
  const Move moved{move.name, program, stage + before};
  moved.record({{"axis", axis}});
  return program;
}

}  // namespace adjit::sched
