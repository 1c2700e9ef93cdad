// jit/emit/nest.cpp -- the loops of a nest: bounds, ragged versions, guards, attached nests.
#include "jit/emit/nest.hpp"

#include <algorithm>

#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

Value* minimum(llvm::IRBuilder<>& builder, Value* a, Value* b) {
  return builder.CreateSelect(builder.CreateICmpSLT(a, b), a, b);
}
Value* maximum(llvm::IRBuilder<>& builder, Value* a, Value* b) {
  return builder.CreateSelect(builder.CreateICmpSGT(a, b), a, b);
}

}  // namespace

NestEmitter::NestEmitter(KernelContext& context, const Nest& nest)
    : context_(context),
      program_(context.program),
      nest_(nest),
      stage_(context.program.graph.stages[nest.stage]),
      shape_(context.program, nest),
      builder_(context.builder),
      scopes_(context.scopes),
      index_(context.index),
      combiner_(context.program.graph, stage_, context.builder, context.math),
      tile_limit_(shape_.tile_points) {
  std::vector<UnrolledVariable> unrolled;
  for (size_t k : shape_.unrolled_loops)
    unrolled.push_back({nest.loops[k].variable, nest.loops[k].trips});
  std::optional<size_t> lane_variable;
  if (shape_.lane_loop) lane_variable = nest.loops[*shape_.lane_loop].variable;
  std::vector<Interval> ranges = axis_ranges();
  std::vector<AffineConstraint> has_place = sort_rows();
  body_.emplace(program_.graph, stage_, shape_.axes, std::move(ranges), unrolled, lane_variable,
                context.places, builder_, scopes_, index_, context.math);
  body_->set_ahead(nest.ahead);
  masks_.emplace(shape_, builder_, scopes_, index_, *body_);
  stores_.emplace(context, shape_, tile_limit_, std::move(has_place), *body_, *masks_);
  scatter_.emplace(context, shape_, tile_limit_, *body_, combiner_, *masks_);
  const double vectors =
      static_cast<double>(shape_.lanes) /
      static_cast<double>(full_lanes(program_.graph, stage_, program_.vector_bits));
  if (!shape_.unrolled_loops.empty() || vectors > 1)
    copy_work_ = body_->work() * std::max(vectors, 1.0);
  defer_result_rows();
  find_pair_loop();
}

// Of the first point along an axis.
Interval NestEmitter::base_range(size_t axis) const {
  Interval range = index_.range(index_.resolve(nest_.axis_base[axis]));
  for (const auto& [origin, last] : context_.origins)
    if (const Affine shift = nest_.axis_base[axis] - origin; shift.is_constant())
      range.hi = std::min(range.hi, checked_add(last, shift.constant()));
  return range;
}

std::vector<Interval> NestEmitter::axis_ranges() const {
  std::vector<Interval> ranges;
  for (size_t a = 0; a < stage_.domain.rank(); ++a) {
    const Interval base = base_range(a);
    const int64_t last = std::max<int64_t>(nest_.spans[a] - 1, 0);
    ranges.push_back({base.lo, checked_add(base.hi, last)});
  }
  return ranges;
}

// For what is attached to the first loops of a nest over a whole domain: these end where an axis
// does. The number of those that were there before.
size_t NestEmitter::add_origins(size_t depth) {
  const size_t before = context_.origins.size();
  for (size_t a = 0; a < stage_.domain.rank(); ++a)
    if (nest_.axis_base[a] == Affine() && nest_.spans[a] == stage_.domain.extents[a])
      context_.origins.emplace_back(origin_above(nest_, a, depth), nest_.spans[a] - 1);
  return before;
}

// Unrolled copies, ragged versions and the nests attached in them multiply: more code than this is
// a mistake, and would take seconds to compile.
void NestEmitter::count_copy() {
  constexpr size_t kMostOperations = 1 << 18;
  constexpr double kMostCopiedWork = 1 << 17;
  context_.operations += body_->node_count();
  if (context_.operations > kMostOperations)
    throw Error(ErrorCode::Schedule,
                "the kernel is unrolled to more than " + std::to_string(kMostOperations) +
                    " operations at stage '" + program_.graph.info(stage_.results[0]).name +
                    "': unroll less");
  context_.copied_work += copy_work_;
  if (context_.copied_work > kMostCopiedWork)
    throw Error(ErrorCode::Schedule, "copies of the long body of stage '" +
                                         program_.graph.info(stage_.results[0]).name +
                                         "' would take more than " +
                                         std::to_string(static_cast<int64_t>(kMostCopiedWork)) +
                                         " instructions: unroll less, or take fewer lanes");
}

// Sorts the constraints by where they are asked; returns those of points that have a place in
// memory.
std::vector<AffineConstraint> NestEmitter::sort_rows() {
  std::vector<AffineConstraint> has_place;
  const Domain& domain = stage_.domain;
  for (const Affine& row : domain.inequalities) rows_.push_back({row, false});
  for (const Affine& row : domain.equalities) rows_.push_back({row, true});
  // A region that reaches outside its tensor is clipped. Where it is not a buffer of its own, what
  // reaches outside is not stored either.
  const bool whole = program_.scopes[stage_.results[0].value] != Scope::Local;
  for (size_t a = 0; a < domain.rank(); ++a) {
    const Interval base = base_range(a);
    std::vector<AffineConstraint> clip;
    if (base.lo < 0) clip.push_back({Affine::variable(a), false});
    if (base.hi + nest_.spans[a] > domain.extents[a])
      clip.push_back({Affine::variable(a, -1, domain.extents[a] - 1), false});
    rows_.insert(rows_.end(), clip.begin(), clip.end());
    if (whole && a < domain.output_rank)
      has_place.insert(has_place.end(), clip.begin(), clip.end());
  }
  loop_rows_.resize(nest_.loops.size());
  for (const AffineConstraint& row : rows_) {
    const size_t until = shape_.depends_until(row.form);
    if (until > shape_.tile_begin) {
      tile_rows_.push_back(&row);
    } else if (until > shape_.reduction_begin) {
      loop_rows_[until - 1].push_back(&row);
    } else {
      outer_rows_.push_back(&row);
    }
  }
  return has_place;
}

void NestEmitter::emit(Value* task) {
  for (size_t a = 0; a < stage_.domain.output_rank; ++a)
    if (stage_.domain.extents[a] == 0) return;
  if (shape_.is_scatter() && shape_.empty_reduction) return;
  if (shape_.lane_loop) index_.bind_lanes(nest_.loops[*shape_.lane_loop].variable, shape_.lanes);
  if (task) {
    bind_tasks(task);
  } else {
    inside(0, {});
  }
  for (const Loop& loop : nest_.loops) index_.unbind(loop.variable);
}

// Splits the task number into the parallel loops' variables, the innermost fastest. Where several
// loops over an axis do not divide it, some tasks have no points: everything that depends on the
// variables stands behind that question.
void NestEmitter::bind_tasks(Value* task) {
  const size_t depth = parallel_depth(nest_);
  task_trips_.resize(depth);
  Value* rest = task;
  for (size_t k = depth; k-- > 0;) {
    Value* count = builder_.getInt64(static_cast<uint64_t>(nest_.loops[k].trips));
    task_trips_[k] = k == 0 ? rest : builder_.CreateURem(rest, count);
    if (k > 0) rest = builder_.CreateUDiv(rest, count);
  }
  scopes_.push_here();
  for (size_t k = 0; k < depth; ++k) bind_task(k);
  Value* any = builder_.getTrue();
  for (size_t k = 0; k < depth; ++k)
    any = builder_.CreateAnd(index_.at_least_zero(left_after(k) + Affine(-1)), any);
  emit_if(builder_, scopes_, any, {}, [&](Carried none) {
    for (size_t k = 0; k < depth; ++k) bind_task(k);
    return inside(0, std::move(none));
  });
  scopes_.pop();
}

// Binds a parallel loop's variable in the current scope: what depends on it is computed in here.
void NestEmitter::bind_task(size_t k) {
  const Loop& loop = nest_.loops[k];
  index_.bind_scalar(loop.variable, task_trips_[k], {0, loop.trips - 1}, loop.step);
}

// Points of its axis from the current iteration of a bound loop on.
Affine NestEmitter::left_after(size_t k) const {
  return index_.resolve(shape_.available(k)) -
         index_.resolve(Affine::variable(nest_.loops[k].variable));
}

// Everything inside loops [0, loop).
Carried NestEmitter::inside(size_t loop, Carried carried) {
  size_t produced = 0;
  for (const Nest::Attached& a : nest_.attached) {
    if (a.depth != loop) continue;
    const size_t around = add_origins(loop);
    NestEmitter(context_, a.nest).emit();
    context_.origins.resize(around);
    scopes_.push_here();  // its results may be read from here on, also by the next one
    ++produced;
    for (TensorId result : program_.graph.stages[a.nest.stage].results)
      context_.places[result].depth = scopes_.depth();
  }
  if (produced > 0 && shape_.lane_loop)
    index_.bind_lanes(nest_.loops[*shape_.lane_loop].variable, shape_.lanes);
  if (loop == shape_.reduction_begin && carried.empty()) {
    emit_points();
  } else if (loop == shape_.tile_begin) {
    carried = accumulate(std::move(carried));
  } else {
    carried = emit_loop_at(loop, std::move(carried));
  }
  for (; produced > 0; --produced) scopes_.pop();
  return carried;
}

Carried NestEmitter::emit_loop_at(size_t k, Carried carried) {
  const Loop& loop = nest_.loops[k];
  if (shape_.is_reduction(loop) && shape_.empty_reduction) {
    index_.bind_fixed(loop.variable, 0);
    return inside(k + 1, std::move(carried));
  }
  if (loop.kind != LoopKind::Parallel) return emit_serial(k, std::move(carried));
  // Bound by the task already: only the ragged versions are left.
  const int64_t span = nest_.spans[loop.axis];
  if (!shape_.covers_tile(k) || span % loop.step == 0) return inside(k + 1, std::move(carried));
  const Affine left = left_after(k);
  Value* whole = index_.at_least_zero(left + Affine(-loop.step));
  Value* ragged = index_.at_least_zero(Affine(loop.step - 1) - left);
  const auto version = [&](Carried none) {
    bind_task(k);  // what whole tiles read may lie outside for the ragged one
    return inside(k + 1, std::move(none));
  };
  emit_if(builder_, scopes_, whole, {}, version);
  tile_limit_[loop.axis] = span % loop.step;
  emit_if(builder_, scopes_, ragged, {}, version);
  tile_limit_[loop.axis] = loop.step;
  return carried;
}

Carried NestEmitter::emit_serial(size_t k, Carried carried) {
  const Loop& loop = nest_.loops[k];
  const Affine left = index_.resolve(shape_.available(k));
  const Interval range = index_.range(left);
  const int64_t most = loop.step * loop.trips;
  Value* points = builder_.getInt64(static_cast<uint64_t>(std::min(most, range.hi)));
  if (range.lo < std::min(most, range.hi)) {
    Value* left_value = index_.scalar(left);
    points = scopes_.at(index_.depth(left), [&] {
      return minimum(builder_, left_value, builder_.getInt64(static_cast<uint64_t>(most)));
    });
  }
  if (shape_.covers_tile(k) && nest_.spans[loop.axis] % loop.step != 0)
    return emit_versions(k, points, std::move(carried));

  bool bounded = false;
  auto [lo, hi] = narrowed(k, points, &bounded);
  auto* constant_hi = llvm::dyn_cast<llvm::ConstantInt>(hi);
  if (!bounded && constant_hi && constant_hi->getSExtValue() <= loop.step) {
    index_.bind_fixed(loop.variable, 0);
    carried = guarded(k, std::move(carried));
    body_->forget();
    return carried;
  }
  return emit_loop(builder_, scopes_, trips_before(k, lo), trips_before(k, hi), !bounded,
                   std::move(carried), [&](Value* trip, Carried inner) {
                     index_.bind_scalar(loop.variable, trip, {0, loop.trips - 1}, loop.step);
                     return guarded(k, std::move(inner));
                   });
}

// Trips of a loop whose first points lie before some number of points.
Value* NestEmitter::trips_before(size_t k, Value* points) {
  const int64_t step = nest_.loops[k].step;
  if (step == 1) return points;
  Value* last = builder_.CreateAdd(points, builder_.getInt64(static_cast<uint64_t>(step - 1)));
  return builder_.CreateUDiv(last, builder_.getInt64(static_cast<uint64_t>(step)));
}

// Whole tiles in a loop, then the ragged rest once.
Carried NestEmitter::emit_versions(size_t k, Value* points, Carried carried) {
  const Loop& loop = nest_.loops[k];
  const int64_t ragged = nest_.spans[loop.axis] % loop.step;
  Value* step = builder_.getInt64(static_cast<uint64_t>(loop.step));
  Value* rest = builder_.CreateURem(points, step);
  Value* whole = builder_.CreateUDiv(points, step);
  auto* constant_whole = llvm::dyn_cast<llvm::ConstantInt>(whole);
  const Interval trips{0, loop.trips - 1};
  bool bounded = false;
  const auto [lo, hi] = narrowed(k, points, &bounded);
  Value* end = bounded ? minimum(builder_, whole, trips_before(k, hi)) : whole;
  if (!constant_whole || constant_whole->getSExtValue() > 0)
    carried = emit_loop(builder_, scopes_, trips_before(k, lo), end,
                        constant_whole != nullptr && !bounded, std::move(carried),
                        [&](Value* trip, Carried inner) {
                          index_.bind_scalar(loop.variable, trip, trips, loop.step);
                          return guarded(k, std::move(inner));
                        });
  tile_limit_[loop.axis] = ragged;
  Value* left = builder_.CreateICmpNE(rest, builder_.getInt64(0));
  if (bounded)
    left = builder_.CreateAnd(left, builder_.CreateICmpSGT(hi, builder_.CreateMul(whole, step)));
  carried = emit_if(builder_, scopes_, left, std::move(carried), [&](Carried inner) {
    if (constant_whole) {
      index_.bind_fixed(loop.variable, constant_whole->getSExtValue() * loop.step);
    } else {
      index_.bind_scalar(loop.variable, whole, trips, loop.step);
    }
    return guarded(k, std::move(inner));
  });
  tile_limit_[loop.axis] = std::min(loop.step, nest_.spans[loop.axis]);
  body_->forget();
  return carried;
}

// The body of a loop under the rows that are known in it but do not bound it.
Carried NestEmitter::guarded(size_t k, Carried carried) {
  Emitted all;
  for (const AffineConstraint* row : loop_rows_[k]) {
    if (nest_.loops[k].step == 1 && !shape_.divides_by(row->form, k))
      continue;  // a bound of the loop
    const Affine form = body_->place(row->form);
    Value* holds = row->equality ? index_.equals_zero(form) : index_.at_least_zero(form);
    all = masks_->both(all, {holds, index_.depth(form)});
  }
  if (!all.value) return inside(k + 1, std::move(carried));
  return emit_if(builder_, scopes_, all.value, std::move(carried),
                 [&](Carried inner) { return inside(k + 1, std::move(inner)); });
}

// Bounds of a loop, in points, from the rows that are linear in its variable: c v + rest >= 0.
std::pair<Value*, Value*> NestEmitter::narrowed(size_t k, Value* hi, bool* bounded) {
  const Loop& loop = nest_.loops[k];
  Value* lo = builder_.getInt64(0);
  // lower: v >= ceil(-rest / scale) = -floor(rest / scale); upper: v <= floor(rest / -scale).
  const auto bound = [&](const Affine& rest, int64_t scale, bool lower) {
    *bounded = true;
    const Affine quotient = index_.floor_div(rest, scale > 0 ? scale : -scale);
    if (lower) {
      lo = maximum(builder_, lo, index_.scalar(quotient * -1));
    } else {
      hi = minimum(builder_, hi, index_.scalar(quotient + Affine(1)));
    }
  };
  for (const AffineConstraint* row : loop_rows_[k]) {
    if (loop.step != 1 || shape_.divides_by(row->form, k)) continue;
    const int64_t scale = row->form.coefficient(loop.axis);
    index_.bind_fixed(loop.variable, 0);
    const Affine rest = body_->place(row->form);
    for (const bool lower : {true, false}) {
      if (!row->equality && lower != (scale > 0)) continue;
      bound(row->equality && lower != (scale > 0) ? rest * -1 : rest, scale, lower);
    }
  }
  for (const AffineConstraint* row : tile_rows_) {
    if (!bounds_tiles(*row, k)) continue;
    const int64_t scale = row->form.coefficient(loop.axis);
    index_.bind_fixed(loop.variable, 0);
    bound(extreme_in_tile(*row, true), scale, scale > 0);
  }
  if (*bounded && loop.step > 1) hi = maximum(builder_, hi, builder_.getInt64(0));
  return {lo, hi};
}

}  // namespace adjit::emit
