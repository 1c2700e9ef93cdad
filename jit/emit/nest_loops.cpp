// jit/emit/nest_loops.cpp -- tasks, serial loops, their bounds and guards, ragged versions.
#include "jit/emit/nest_loops.hpp"

#include <algorithm>

#include "autosched/program/nests.hpp"
#include "autosched/program/threads.hpp"
#include "jit/emit/addresses/address.hpp"
#include "jit/emit/tile/scatter.hpp"

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

NestLoops::NestLoops(NestContext& nest, ThreadLoops& threads, Inside inside,
                     Pipeline::Compute compute)
    : nest_(nest),
      threads_(threads),
      shape_(nest.shape),
      loops_(nest.shape.nest->loops),
      kernel_(nest.kernel),
      inside_(std::move(inside)),
      compute_(std::move(compute)) {}

// Splits the task number into the parallel loops' variables, the innermost fastest. Where several
// loops over an axis do not divide it, some tasks have no points: everything that depends on the
// variables stands behind that question.
void NestLoops::emit_task(Value* task) {
  const size_t depth = parallel_depth(*shape_.nest);
  task_trips_.resize(depth);
  Value* rest = task;
  for (size_t k = depth; k-- > 0;) {
    Value* count = llvm::ConstantInt::get(task->getType(), static_cast<uint64_t>(loops_[k].trips));
    task_trips_[k] = k == 0 ? rest : kernel_.builder.CreateURem(rest, count);
    if (k > 0) rest = kernel_.builder.CreateUDiv(rest, count);
  }
  kernel_.scopes.push_here();
  for (size_t k = 0; k < depth; ++k) bind_task(k);
  Value* any = kernel_.builder.getTrue();
  for (size_t k = 0; k < depth; ++k)
    any = kernel_.builder.CreateAnd(
        kernel_.index.at_least_zero(points_left(kernel_, shape_, k) + Affine(-1)), any);
  emit_if(kernel_.builder, kernel_.scopes, any, {}, [&](Carried none) {
    for (size_t k = 0; k < depth; ++k) bind_task(k);
    return inside_(0, std::move(none));
  });
  kernel_.scopes.pop();
}

// Binds a parallel loop's variable in the current scope: what depends on it is computed in here.
void NestLoops::bind_task(size_t k) {
  const Loop& loop = loops_[k];
  kernel_.index.bind_scalar(loop.variable, task_trips_[k], {0, loop.trips - 1}, loop.step);
}

Carried NestLoops::emit(size_t k, Carried carried) {
  const Loop& loop = loops_[k];
  if (shape_.is_reduction(loop) && shape_.empty_reduction) {
    kernel_.variables.bind_fixed(loop.variable, 0);
    return inside_(k + 1, std::move(carried));
  }
  // Bound by the task already: only the ragged versions are left.
  if (loop.kind == LoopKind::Parallel) return whole_or_ragged(k, std::move(carried));
  // All threads go on to where they exchange what they have: who has no points adds nothing.
  if (loop.kind == LoopKind::Thread && shape_.runs_together)
    return inside_(k + 1, std::move(carried));
  return loop.kind == LoopKind::Thread ? thread(k, std::move(carried))
                                       : serial(k, std::move(carried));
}

// Bound already: a thread has points or not. What the loop decides of accumulators' constraints is
// a condition.
Carried NestLoops::thread(size_t k, Carried carried) {
  Value* any = kernel_.index.at_least_zero(points_left(kernel_, shape_, k) + Affine(-1));
  for (const AffineConstraint& constraint : nest_.constraints.loops[k]) {
    const Affine form = placed(nest_.body.context(), constraint.form);
    any = kernel_.builder.CreateAnd(any, constraint.equality ? kernel_.index.equals_zero(form)
                                                             : kernel_.index.at_least_zero(form));
  }
  const bool always = any == kernel_.builder.getTrue();
  carried = emit_if(kernel_.builder, kernel_.scopes, any, std::move(carried), [&](Carried inner) {
    if (!always) threads_.bind(k);  // what it reads may lie outside for threads without points
    return whole_or_ragged(k, std::move(inner));
  });
  if (!always) threads_.bind(k);
  threads_.bind_inside(k);
  return carried;
}

// What is inside a loop that is bound: for whole tiles, and for the ragged one.
Carried NestLoops::whole_or_ragged(size_t k, Carried carried) {
  const Loop& loop = loops_[k];
  const int64_t span = shape_.nest->spans[loop.axis];
  if (!shape_.covers_tile(k) || span % loop.step == 0) return inside_(k + 1, std::move(carried));
  const Affine left = points_left(kernel_, shape_, k);
  Value* whole = kernel_.index.at_least_zero(left + Affine(-loop.step));
  Value* ragged = kernel_.index.at_least_zero(Affine(loop.step - 1) - left);
  const auto bind = [&] { loop.kind == LoopKind::Thread ? threads_.bind(k) : bind_task(k); };
  const auto version = [&](Carried inner) {
    bind();  // what whole tiles read may lie outside for the ragged one
    return inside_(k + 1, std::move(inner));
  };
  carried = emit_if(kernel_.builder, kernel_.scopes, whole, std::move(carried), version);
  bind();
  threads_.bind_inside(k);
  nest_.limits[loop.axis] = span % loop.step;
  carried = emit_if(kernel_.builder, kernel_.scopes, ragged, std::move(carried), version);
  bind();
  threads_.bind_inside(k);
  nest_.limits[loop.axis] = loop.step;
  return carried;
}

// What the block's threads share is written anew in each iteration of a loop that they run
// together: not before all have read what the one before left.
void NestLoops::wait_for_last_iteration(size_t k) {
  if (!nest_.by_block || k >= shape_.thread_begin) return;
  const bool writes_shared =
      (k < shape_.reduction_begin && is_cooperative(*shape_.stage, *shape_.nest)) ||
      std::ranges::any_of(shape_.nest->attached,
                          [&](const Nest::Attached& attached) { return attached.depth > k; });
  if (writes_shared) kernel_.block->barrier();
}

// Points that the loop and those inside it have.
Value* NestLoops::points_of(size_t k) {
  const Affine left = kernel_.variables.resolve(shape_.available(k));
  const Interval range = kernel_.variables.range(left);
  const int64_t most = loops_[k].step * loops_[k].trips;
  if (range.lo >= std::min(most, range.hi))
    return kernel_.builder.getInt64(static_cast<uint64_t>(std::min(most, range.hi)));
  Value* left_value = kernel_.index.scalar(left);
  return kernel_.scopes.at(kernel_.variables.depth(left), [&] {
    return minimum(kernel_.builder, left_value,
                   kernel_.builder.getInt64(static_cast<uint64_t>(most)));
  });
}

Carried NestLoops::serial(size_t k, Carried carried) {
  const Loop& loop = loops_[k];
  Value* points = points_of(k);
  if (shape_.covers_tile(k) && shape_.nest->spans[loop.axis] % loop.step != 0)
    return whole_and_ragged(k, points, std::move(carried));

  const Bounds found = bounds(k, points);
  const auto* constant_hi = llvm::dyn_cast<llvm::ConstantInt>(found.hi);
  if (!found.narrowed && constant_hi && constant_hi->getSExtValue() <= loop.step &&
      Pipeline(nest_, k, compute_).empty()) {
    kernel_.variables.bind_fixed(loop.variable, 0);
    carried = guarded(k, std::move(carried));
    threads_.bind_inside(k);
    nest_.body.forget();
    return carried;
  }
  Value* hi = trips_before(k, found.hi);
  Value* lo = trips_before(k, found.lo);
  if (shape_.is_scatter() && shape_.segment_loop && shape_.segment_loop->loop == k) {
    segment(k, lo, hi);
  } else {
    carried = iterations(k, lo, hi, !found.narrowed, std::move(carried));
  }
  threads_.bind_inside(k);
  return carried;
}

// The trips [lo, hi) over a scatter's segment. Where it has points, the element that they write is
// loaded and stored once.
void NestLoops::segment(size_t k, Value* lo, Value* hi) {
  const std::optional<KeptElements> kept = kept_elements(nest_);
  if (!kept) {
    iterations(k, lo, hi, false, {});
    return;
  }
  Value* any = kernel_.builder.CreateICmpSLT(lo, hi);
  emit_if(kernel_.builder, kernel_.scopes, any, {}, [&](Carried none) {
    store_kept(nest_, *kept, iterations(k, lo, hi, true, load_kept(nest_, *kept)));
    return none;
  });
}

// The trips [lo, hi) of a loop, counted in 32 bits where numbers are narrow.
Carried NestLoops::iterations(size_t k, Value* lo, Value* hi, bool at_least_once, Carried carried) {
  if (kernel_.index.narrow() && loops_[k].trips < INT32_MAX) {
    const auto* first = llvm::dyn_cast<llvm::ConstantInt>(lo);
    if (!first || !first->isZero()) lo = minimum(kernel_.builder, lo, hi);
    lo = kernel_.builder.CreateTrunc(lo, kernel_.builder.getInt32Ty());
    hi = kernel_.builder.CreateTrunc(hi, kernel_.builder.getInt32Ty());
  }
  // Loops of a copy of so few trips are written out, so that its loads start one behind the other
  // (a guess).
  constexpr int64_t kFewTrips = 16;
  const auto* begin = llvm::dyn_cast<llvm::ConstantInt>(lo);
  const auto* end = llvm::dyn_cast<llvm::ConstantInt>(hi);
  if (shape_.nest->buffers > 1 && begin && end &&
      end->getSExtValue() - begin->getSExtValue() <= kFewTrips) {
    for (int64_t trip = begin->getSExtValue(); trip < end->getSExtValue(); ++trip) {
      kernel_.variables.bind_fixed(loops_[k].variable, trip * loops_[k].step);
      carried = guarded(k, std::move(carried));
      threads_.bind_inside(k);
      nest_.body.forget();
    }
    return carried;
  }
  Pipeline pipeline(nest_, k, compute_);
  pipeline.begin(lo, hi);
  return emit_loop(kernel_.builder, kernel_.scopes, lo, hi, at_least_once, std::move(carried),
                   [&](Value* trip, Carried inner) {
                     const Loop& loop = loops_[k];
                     if (!pipeline.empty()) pipeline.advance(trip, hi);
                     kernel_.index.bind_scalar(loop.variable, trip, {0, loop.trips - 1}, loop.step);
                     if (pipeline.empty()) wait_for_last_iteration(k);
                     inner = guarded(k, std::move(inner));
                     pipeline.finish();
                     return inner;
                   });
}

// Trips of a loop whose first points lie before some number of points.
Value* NestLoops::trips_before(size_t k, Value* points) {
  const int64_t step = loops_[k].step;
  if (step == 1) return points;
  Value* last =
      kernel_.builder.CreateAdd(points, kernel_.builder.getInt64(static_cast<uint64_t>(step - 1)));
  return kernel_.builder.CreateUDiv(last, kernel_.builder.getInt64(static_cast<uint64_t>(step)));
}

// Whole tiles in a loop, then the ragged rest once.
Carried NestLoops::whole_and_ragged(size_t k, Value* points, Carried carried) {
  const Loop& loop = loops_[k];
  const int64_t span = shape_.nest->spans[loop.axis];
  Value* step = kernel_.builder.getInt64(static_cast<uint64_t>(loop.step));
  Value* rest = kernel_.builder.CreateURem(points, step);
  Value* whole = kernel_.builder.CreateUDiv(points, step);
  const auto* constant_whole = llvm::dyn_cast<llvm::ConstantInt>(whole);
  const auto [lo, hi, narrowed] = bounds(k, points);
  Value* end = narrowed ? minimum(kernel_.builder, whole, trips_before(k, hi)) : whole;
  if (!constant_whole || constant_whole->getSExtValue() > 0)
    carried = iterations(k, trips_before(k, lo), end, constant_whole != nullptr && !narrowed,
                         std::move(carried));
  threads_.bind_inside(k);
  nest_.limits[loop.axis] = span % loop.step;
  Value* left = kernel_.builder.CreateICmpNE(rest, kernel_.builder.getInt64(0));
  if (narrowed)
    left = kernel_.builder.CreateAnd(
        left, kernel_.builder.CreateICmpSGT(hi, kernel_.builder.CreateMul(whole, step)));
  carried = emit_if(kernel_.builder, kernel_.scopes, left, std::move(carried), [&](Carried inner) {
    if (constant_whole) {
      kernel_.variables.bind_fixed(loop.variable, constant_whole->getSExtValue() * loop.step);
    } else {
      kernel_.index.bind_scalar(loop.variable, whole, {0, loop.trips - 1}, loop.step);
    }
    wait_for_last_iteration(k);
    return guarded(k, std::move(inner));
  });
  threads_.bind_inside(k);
  nest_.limits[loop.axis] = std::min(loop.step, span);
  nest_.body.forget();
  return carried;
}

// The body of a loop under the constraints that it decides, but for those that bound it.
Carried NestLoops::guarded(size_t k, Carried carried) {
  Emitted all;
  for (const AffineConstraint& constraint : nest_.constraints.loops[k]) {
    if (loops_[k].step == 1 && !shape_.divides_by(constraint.form, k)) continue;  // a bound
    const Affine form = placed(nest_.body.context(), constraint.form);
    Value* holds =
        constraint.equality ? kernel_.index.equals_zero(form) : kernel_.index.at_least_zero(form);
    all = nest_.masks.conjunction(all, {holds, kernel_.variables.depth(form)});
  }
  if (!all.value) return inside_(k + 1, std::move(carried));
  return emit_if(kernel_.builder, kernel_.scopes, all.value, std::move(carried),
                 [&](Carried inner) { return inside_(k + 1, std::move(inner)); });
}

// Bounds of a loop of so many points, from the constraints that are linear in its variable:
// c v + rest >= 0.
NestLoops::Bounds NestLoops::bounds(size_t k, Value* points) {
  const Loop& loop = loops_[k];
  Bounds found{kernel_.builder.getInt64(0), points, false};
  if (shape_.segment_loop && shape_.segment_loop->loop == k) {
    found.narrowed = true;
    const auto point = [&](ExprId expr) { return nest_.body(expr, Point{}).value; };
    found.lo = maximum(kernel_.builder, found.lo, point(shape_.segment_loop->begin));
    found.hi = minimum(kernel_.builder, found.hi, point(shape_.segment_loop->end));
  }
  // lower: v >= ceil(-rest / scale) = -floor(rest / scale); upper: v <= floor(rest / -scale).
  const auto bound = [&](const Affine& rest, int64_t scale, bool lower) {
    found.narrowed = true;
    const Affine quotient = kernel_.index.floor_div(rest, scale > 0 ? scale : -scale);
    if (lower) {
      found.lo = maximum(kernel_.builder, found.lo, kernel_.index.scalar(quotient * -1));
    } else {
      found.hi = minimum(kernel_.builder, found.hi, kernel_.index.scalar(quotient + Affine(1)));
    }
  };
  for (const auto& [form, equality] : nest_.constraints.loops[k]) {
    if (loop.step != 1 || shape_.divides_by(form, k)) continue;
    const int64_t scale = form.coefficient(loop.axis);
    kernel_.variables.bind_fixed(loop.variable, 0);
    const Affine rest = placed(nest_.body.context(), form);
    for (const bool lower : {true, false}) {
      if (!equality && lower != (scale > 0)) continue;
      bound(equality && lower != (scale > 0) ? rest * -1 : rest, scale, lower);
    }
  }
  for (const AffineConstraint& constraint : nest_.constraints.tile) {
    if (!bounds_loop(shape_, constraint, k)) continue;
    const int64_t scale = constraint.form.coefficient(loop.axis);
    kernel_.variables.bind_fixed(loop.variable, 0);
    bound(kernel_.variables.resolve(extreme_in_tile(shape_, constraint.form, Extreme::Largest)),
          scale, scale > 0);
  }
  // A bound far below 0 means no trips: neither a division without a sign nor 32 bits may see it.
  if (found.narrowed && (loop.step > 1 || kernel_.index.narrow()))
    found.hi = maximum(kernel_.builder, found.hi, kernel_.builder.getInt64(0));
  return found;
}

}  // namespace adjit::emit
