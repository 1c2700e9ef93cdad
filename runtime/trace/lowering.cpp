// runtime/trace/lowering.cpp -- which reductions are lifted, over which axes, under which
// condition.
#include "runtime/trace/lowering.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "runtime/trace/lowering_unit.hpp"
#include "runtime/trace/rows.hpp"

namespace adjit::trace {
namespace {

// Output axes in their order, then others by number.
Axes in_order(const Lowering& l, Axes axes) {
  const auto rank = [&](uint32_t axis) {
    const auto at = std::ranges::find(l.outputs, axis);
    return std::pair(at - l.outputs.begin(), axis);
  };
  std::ranges::sort(axes, {}, rank);
  return axes;
}

// What the user calls an axis, and its range: several may have no name.
std::string shown(const IndexNotation& n, uint32_t axis) {
  const auto& [lo, hi, name] = n.axes[axis];
  const std::string range = std::to_string(lo) + ":" + std::to_string(hi);
  return name.empty() ? "over " + range : "'" + name + "' (over " + range + ")";
}

void add_roots(Lowering& l, std::span<const ExprId> roots, const PathCondition& condition) {
  for (ExprId root : roots) {
    for (uint32_t axis : l.free.of(root))
      if (!contains(l.outputs, axis)) {
        fail(l.n.trace, ErrorCode::Invalid,
             "the axis " + shown(l.n, axis) +
                 " is neither an output axis nor reduced where it is used; reduce over it "
                 "with axis=");
      }
    l.conditions.add_root(root, condition);
  }
}

void add_inner_roots(Lowering& l, uint32_t reduction) {
  const Reduction& r = l.n.reductions[reduction];
  const Axes outputs = l.outputs;
  insert_all(l.outputs, r.axes);  // inside it, its axes are known
  PathCondition where = r.where.valid() ? normalized_conjuncts(l.n.pool, r.where) : PathCondition{};
  std::ranges::sort(where);
  add_roots(l, r.bodies, where);
  if (r.where.valid()) add_roots(l, {&r.where, 1}, {});
  l.outputs = outputs;
}

LoweringUnit unit_of(const Lowering& l, uint32_t reduction, Axes outer) {
  const Reduction& r = l.n.reductions[reduction];
  return {std::move(outer), r.axes, r.combiner, r.bodies, {}, {}, r.where};
}

// The stage runs over the axes that the reduction uses. Conditions over those axes restrict it;
// conditions that also name other axes take part only when reads would leave their tensors without
// them, for they make the stage larger.
void lift(Lowering& l, uint32_t reduction, const PathCondition& needed) {
  const Axes& inner = l.n.reductions[reduction].axes;
  Axes used = l.free.of_reduction(reduction);
  Axes wider = used;
  PathCondition own, shared;
  for (ExprId factor : needed) {
    const Axes axes = l.free.of(factor);
    if (!disjoint(axes, inner)) continue;
    if (subset(axes, used)) {
      own.push_back(factor);
    } else if (!disjoint(axes, used)) {
      shared.push_back(factor);
      insert_all(wider, axes);
    }
  }
  LiftedReduction lifted{{}, in_order(l, used)};
  LoweringUnit unit = unit_of(l, reduction, lifted.axes);
  unit.condition = own;
  std::optional<LoweredUnit> stage = lower(l, unit);
  try {
    verify_alone(l, *stage);
  } catch (const Error& e) {
    if (shared.empty() || e.code() != ErrorCode::Bounds) throw;
    lifted.axes = in_order(l, wider);
    unit = unit_of(l, reduction, lifted.axes);
    unit.condition = both(own, shared);
    stage = lower(l, unit);
    verify_alone(l, *stage);
  }
  const std::string name = l.name + "_" + std::string(name_of(stage->combiner.kind));
  lifted.results = add_compute(l.n.trace, name, std::move(stage->domain),
                               std::move(stage->combiner), std::move(stage->bodies));
  l.lifted.emplace(reduction, std::move(lifted));
}

// Reductions that stand inside an expression, in ascending order.
void lift_all(Lowering& l) {
  l.conditions.run();
  std::map<uint32_t, PathCondition> needed;
  for (ExprId node : l.conditions.nodes())
    if (const std::optional<Placeholder> r = placeholder_of(l.n, node)) {
      const auto [at, fresh] = needed.try_emplace(r->reduction, l.conditions.of(node));
      if (!fresh) at->second = either(l.n.pool, at->second, l.conditions.of(node));
    }
  for (const auto& [reduction, condition] : needed) lift(l, reduction, condition);
}

TensorId compute_reduction(Lowering& l, const Placeholder& reduced, DType dtype) {
  LoweredUnit stage = lower(l, unit_of(l, reduced.reduction, l.outputs));
  verify_alone(l, stage);
  const std::vector<TensorId> results =
      add_compute(l.n.trace, l.name, std::move(stage.domain), std::move(stage.combiner),
                  std::move(stage.bodies));
  TensorId result = results[reduced.component];
  if (dtype_of(l.n.trace, result) == dtype) return result;
  // A half-typed reduction accumulates in float32 and is rounded once, here.
  Domain domain;
  domain.extents = shape_of(l.n.trace, result);
  domain.output_rank = domain.rank();
  std::vector<ExprId> index;
  for (size_t k = 0; k < domain.rank(); ++k) index.push_back(l.n.trace.pool().axis(k));
  const ExprId body = l.n.trace.pool().cast(read(l.n.trace, result, index), dtype);
  return add_compute(l.n.trace, l.name, std::move(domain), {}, {body})[0];
}

std::vector<TensorId> compute_plain(Lowering& l, std::span<const ScalarExpr> bodies) {
  LoweringUnit unit;
  unit.outer = l.outputs;
  for (ScalarExpr body : bodies)
    unit.bodies.push_back(brought_to(l.n, value_of(l.n, body), dtype_of(l.n, body)));
  LoweredUnit stage = lower(l, std::move(unit));
  for (size_t k = 0; k < bodies.size(); ++k)
    stage.bodies[k] = l.n.trace.pool().cast(stage.bodies[k], dtype_of(l.n, bodies[k]));
  verify_alone(l, stage);
  return add_compute(l.n.trace, l.name, std::move(stage.domain), {}, std::move(stage.bodies));
}

std::vector<TensorId> compute(Lowering& l, std::span<const ScalarExpr> bodies) {
  // A result that is a reduction as a whole is not lifted: only what is inside it is swept.
  std::vector<ExprId> roots;
  std::vector<std::optional<Placeholder>> whole;
  for (ScalarExpr body : bodies) {
    const NotationValue value = value_of(l.n, body);
    whole.push_back(placeholder_of(l.n, value.expr));
    if (!whole.back()) roots.push_back(brought_to(l.n, value, dtype_of(l.n, body)));
  }
  for (const std::optional<Placeholder>& r : whole)
    if (r) add_inner_roots(l, r->reduction);
  add_roots(l, roots, {});
  lift_all(l);
  if (std::ranges::none_of(whole, [](const auto& r) { return r.has_value(); }))
    return compute_plain(l, bodies);
  std::vector<TensorId> results;
  for (size_t k = 0; k < bodies.size(); ++k) {
    if (!whole[k]) {
      results.push_back(compute_plain(l, bodies.subspan(k, 1))[0]);
      continue;
    }
    results.push_back(compute_reduction(l, *whole[k], dtype_of(l.n, bodies[k])));
  }
  return results;
}

struct ScatterArguments {
  std::vector<int64_t> shape;
  std::vector<ScalarExpr> target;
  ScalarExpr value;
  DType dtype = DType::Bool;  // that the value is brought to
  CombinerKind kind;
  TensorId initial;
  OutOfRange out_of_range;
  ExprId where;
};

TensorId scatter(Lowering& l, const ScatterArguments& arguments) {
  LoweringUnit unit;
  unit.inner = l.outputs;
  unit.combiner.kind = arguments.kind;
  unit.where = arguments.where;
  unit.bodies = {brought_to(l.n, value_of(l.n, arguments.value), arguments.dtype)};
  for (size_t d = 0; d < arguments.target.size(); ++d) {
    const NotationValue coordinate = value_of(l.n, arguments.target[d]);
    if (!is_integer(coordinate.dtype))
      fail(l.n.trace, ErrorCode::DType,
           "coordinate " + std::to_string(d) + " of the target is " +
               std::string(name_of(coordinate.dtype)) +
               "; it must be an integer: cast it with astype");
    unit.target.push_back(
        l.n.pool.cast(brought_to(l.n, coordinate, coordinate.dtype), DType::Int64));
  }
  PathCondition where =
      arguments.where.valid() ? normalized_conjuncts(l.n.pool, arguments.where) : PathCondition{};
  std::ranges::sort(where);
  add_roots(l, unit.bodies, where);
  add_roots(l, unit.target, where);
  if (arguments.where.valid()) add_roots(l, {&arguments.where, 1}, {});
  lift_all(l);
  LoweredUnit stage = lower(l, std::move(unit));
  const ExprId body = l.n.trace.pool().cast(stage.bodies[0], arguments.dtype);
  return add_scatter(l.n.trace, l.name, arguments.shape, std::move(stage.domain), arguments.kind,
                     body, std::move(stage.target), arguments.initial, arguments.out_of_range);
}

}  // namespace

TensorId compute(IndexNotation& n, std::string_view name, std::span<const AxisHandle> axes,
                 ScalarExpr body) {
  return compute(n, name, axes, std::span<const ScalarExpr>(&body, 1))[0];
}

std::vector<TensorId> compute(IndexNotation& n, std::string_view name,
                              std::span<const AxisHandle> axes,
                              std::span<const ScalarExpr> bodies) {
  Lowering lowering(n, std::string(name), axis_numbers(n, axes));
  return compute(lowering, bodies);
}

TensorId scatter(IndexNotation& n, std::string_view name, std::vector<int64_t> shape,
                 std::span<const AxisHandle> axes, std::span<const ScalarExpr> target,
                 ScalarExpr value, CombinerKind kind, TensorId initial, OutOfRange out_of_range,
                 ScalarExpr where) {
  if (target.size() != shape.size())
    fail(n.trace, ErrorCode::Shape,
         "a scatter into shape " + to_string(shape) + " needs " + std::to_string(shape.size()) +
             " coordinates but gets " + std::to_string(target.size()));
  // Beside integers what depends on axes stays int64.
  const bool adapts =
      is_float(value_of(n, value).dtype) || n.pool.is(value_of(n, value).expr, Op::Constant);
  OperandType type{value_of(n, value).dtype, value_of(n, value).weak && adapts};
  if (initial.valid()) {
    const OperandType both[] = {type, {dtype_of(n.trace, initial), n.trace.is_weak(initial)}};
    try {
      type = promoted(both);
    } catch (const Error& e) {
      fail(n.trace, e.code(), e.what());
    }
  }
  const DType dtype = created_dtype(type);
  if (initial.valid() &&
      (shape_of(n.trace, initial) != shape || dtype_of(n.trace, initial) != dtype))
    fail(n.trace, ErrorCode::Shape,
         "a scatter of " + std::string(name_of(dtype)) + " into shape " + to_string(shape) +
             " starts from '" + n.trace.info(initial).name + "', which is " +
             std::string(name_of(dtype_of(n.trace, initial))) +
             to_string(shape_of(n.trace, initial)));
  const ExprId condition = where.valid() ? condition_of(n, where, "where=") : ExprId{};
  Lowering lowering(n, std::string(name), axis_numbers(n, axes));
  return scatter(lowering, {std::move(shape),
                            {target.begin(), target.end()},
                            value,
                            dtype,
                            kind,
                            initial,
                            out_of_range,
                            condition});
}

}  // namespace adjit::trace
