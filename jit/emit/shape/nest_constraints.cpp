// jit/emit/shape/nest_constraints.cpp -- constraints sorted by the loops that decide them, and
// extremes.
#include "jit/emit/shape/nest_constraints.hpp"

#include <utility>

#include "autosched/program/threads.hpp"

namespace adjit::emit {
namespace {

/// Constraints of results alone (a triangle of them) need no mask at every point where all reads
/// are in range anyway: what was added up for nothing is dropped at the end.
bool asks_results_at_the_end(const NestShape& shape, bool reads_anywhere) {
  const Stage& stage = *shape.stage;
  return reads_anywhere && stage.combiner.kind != CombinerKind::None && !shape.is_scatter() &&
         !shape.running;
}

/// An axis of the form, from the tile's first point.
Affine first_in_tile(const NestShape& shape, size_t axis) {
  Affine first = shape.axes[axis];
  for (size_t l = shape.tile_begin; l < shape.nest->loops.size(); ++l) {
    const Loop& loop = shape.nest->loops[l];
    if (loop.axis == axis) first.set_coefficient(loop.variable, 0);
  }
  return first;
}

}  // namespace

NestConstraints::NestConstraints(const Program& program, const NestShape& shape,
                                 std::span<const Interval> first_points, bool reads_anywhere)
    : loops(shape.nest->loops.size()) {
  const Domain& domain = shape.stage->domain;
  const bool results_at_the_end = asks_results_at_the_end(shape, reads_anywhere);
  const auto sort = [&](AffineConstraint constraint, bool may_wait) {
    const size_t until = shape.depends_until(constraint.form);
    Constraints* where = &outer;
    if (until > shape.tile_begin) {
      where = may_wait && !shape.uses_reduction(constraint.form) ? &results : &tile;
    } else if (until > shape.reduction_begin) {
      where = &loops[until - 1];
    }
    where->push_back(std::move(constraint));
  };
  for (const Affine& form : domain.inequalities) sort({form, false}, results_at_the_end);
  for (const Affine& form : domain.equalities) sort({form, true}, results_at_the_end);
  // A region that reaches outside its tensor is clipped. Where it is not a buffer of its own, what
  // reaches outside is not stored either.
  const bool whole = program.scopes[shape.stage->results[0].value] != Scope::Local;
  for (size_t a = 0; a < domain.rank(); ++a) {
    const auto clip = [&](Affine inside) {
      if (whole && a < domain.output_rank) has_place.push_back({inside, false});
      sort({std::move(inside), false}, false);
    };
    if (first_points[a].lo < 0) clip(Affine::variable(a));
    const bool reaches_out = first_points[a].hi + shape.nest->spans[a] > domain.extents[a];
    const bool backwards =
        shape.runs_together && shape.running->axis == a && shape.running->reverse;
    const Affine before_end =
        backwards ? Affine::variable(a) : Affine::variable(a, -1, domain.extents[a] - 1);
    // Points past the end that read something all the same are computed, too.
    if ((shape.whole_tiles[a] || reaches_out) && is_cooperative(*shape.stage, *shape.nest) &&
        points_of_threads(*shape.nest, a) > 1 && reads_buffers_of_tiles(program, *shape.nest, a)) {
      if (shape.whole_tiles[a] || whole) has_place.push_back({before_end, false});
    } else if (shape.whole_tiles[a] || reaches_out) {
      clip(before_end);
    }
  }
}

bool has_extremes(const NestShape& shape, const AffineConstraint& constraint) {
  for (size_t v = shape.stage->domain.rank(); v < constraint.form.size(); ++v)
    if (constraint.form.coefficient(v) != 0) return false;
  return !constraint.equality;
}

bool differs_in_lanes(const NestShape& shape, const AffineConstraint& constraint) {
  return shape.lane_loop &&
         constraint.form.coefficient(shape.nest->loops[*shape.lane_loop].axis) != 0;
}

bool bounds_loop(const NestShape& shape, const AffineConstraint& constraint, size_t loop) {
  if (loop < shape.reduction_begin || !has_extremes(shape, constraint) || shape.running)
    return false;
  for (size_t l = loop; l < shape.tile_begin; ++l)
    if ((constraint.form.coefficient(shape.nest->loops[l].axis) != 0) != (l == loop)) return false;
  return true;
}

Affine extreme_in_tile(const NestShape& shape, const Affine& form, Extreme extreme) {
  Affine value(form.constant());
  for (size_t axis = 0; axis < shape.stage->domain.rank(); ++axis) {
    const int64_t scale = form.coefficient(axis);
    if (scale == 0) continue;
    if ((scale > 0) == (extreme == Extreme::Largest))
      for (size_t l = shape.tile_begin; l < shape.nest->loops.size(); ++l) {
        const Loop& loop = shape.nest->loops[l];
        if (loop.axis == axis) value += Affine(loop.step * (loop.trips - 1)) * scale;
      }
    value += first_in_tile(shape, axis) * scale;
  }
  return value;
}

Affine extreme_in_vector(const NestShape& shape, const Affine& form, int64_t vector,
                         Extreme extreme) {
  const size_t axis = shape.nest->loops[*shape.lane_loop].axis;
  const int64_t scale = form.coefficient(axis);
  Affine others = form;
  others.set_coefficient(axis, 0);
  const bool last = (scale > 0) == (extreme == Extreme::Largest);
  const int64_t lane = vector + (last ? int64_t{shape.lanes} - 1 : 0);
  return extreme_in_tile(shape, others, extreme) +
         (first_in_tile(shape, axis) + Affine(lane)) * scale;
}

}  // namespace adjit::emit
