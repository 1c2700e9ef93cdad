// runtime/trace/lowering.cpp -- which reductions are lifted, over which axes, under which
// condition.
#include "runtime/trace/lowering.hpp"

#include <algorithm>
#include <utility>

#include "runtime/trace/rows.hpp"

namespace adjit::trace {
namespace {

bool contains(const std::vector<uint32_t>& axes, uint32_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}
bool disjoint(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return std::ranges::none_of(a, [&](uint32_t axis) { return contains(b, axis); });
}
bool subset(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return std::ranges::all_of(a, [&](uint32_t axis) { return contains(b, axis); });
}
void insert_all(std::vector<uint32_t>& into, const std::vector<uint32_t>& axes) {
  for (uint32_t axis : axes)
    if (!contains(into, axis)) into.push_back(axis);
}

}  // namespace

Lowering::Lowering(IndexNotation& notation, std::string name, std::vector<uint32_t> output_axes)
    : n_(notation),
      trace_(*notation.trace_),
      name_(std::move(name)),
      outputs_(std::move(output_axes)),
      conditions_(notation.pool_, [this](ExprId leaf) {
        std::vector<PathConditions::Inner> inner;
        const std::optional<uint32_t> r = reduction_at(leaf);
        if (!r) return inner;
        const Reduction& reduction = n_.reductions_[*r];
        // Conditions from outside that name the reduced axes mean other axes of the same name.
        const auto outside = [this, &reduction](const PathCondition& condition) {
          PathCondition kept;
          for (ExprId factor : condition)
            if (disjoint(free_axes(factor), reduction.axes)) kept.push_back(factor);
          return kept;
        };
        const auto inside = [this, &reduction, outside](const PathCondition& condition) {
          PathCondition factors = reduction.where.valid()
                                      ? normalized_conjuncts(n_.pool_, reduction.where)
                                      : PathCondition{};
          std::ranges::sort(factors);
          return both(outside(condition), factors);
        };
        for (ExprId body : reduction.bodies) inner.push_back({body, inside});
        if (reduction.where.valid()) inner.push_back({reduction.where, outside});
        return inner;
      }) {}

std::optional<uint32_t> Lowering::reduction_at(ExprId expr) const {
  const Node& node = n_.pool_[expr];
  if (node.op != Op::Argument || node.payload < IndexNotation::kPlaceholder) return std::nullopt;
  return n_.placeholders_[node.payload - IndexNotation::kPlaceholder].reduction;
}

// Whether an expression can be written over these axes now: its reductions, if any, are lifted.
bool Lowering::expressible(ExprId expr, const Axes& axes) {
  if (!subset(free_axes(expr), axes)) return false;
  for (ExprId id : reachable(n_.pool_, std::span(&expr, 1))) {
    const std::optional<uint32_t> r = reduction_at(id);
    if (r && !lifted_.contains(*r)) return false;
  }
  return true;
}

const Lowering::Axes& Lowering::free_of_reduction(uint32_t reduction) {
  const auto known = free_.find(reduction);
  if (known != free_.end()) return known->second;
  Axes free;
  const Reduction& r = n_.reductions_[reduction];
  for (ExprId body : r.bodies) insert_all(free, free_axes(body));
  if (r.where.valid()) insert_all(free, free_axes(r.where));
  std::erase_if(free, [&](uint32_t axis) { return contains(r.axes, axis); });
  return free_.emplace(reduction, std::move(free)).first->second;
}

Lowering::Axes Lowering::free_axes(ExprId expr) {
  Axes axes;
  const ExprId roots[] = {expr};
  for (ExprId id : reachable(n_.pool_, roots)) {
    if (n_.pool_.is(id, Op::Axis))
      insert_all(axes, {static_cast<uint32_t>(n_.pool_.axis_number(id))});
    else if (const std::optional<uint32_t> r = reduction_at(id))
      insert_all(axes, free_of_reduction(*r));
  }
  return axes;
}

// Output axes in their order, then others by number.
Lowering::Axes Lowering::in_order(Axes axes) const {
  const auto rank = [&](uint32_t axis) {
    const auto at = std::ranges::find(outputs_, axis);
    return std::pair(at - outputs_.begin(), axis);
  };
  std::ranges::sort(axes, {}, rank);
  return axes;
}

// What the user calls an axis, and its range: several may have no name.
std::string Lowering::shown(uint32_t axis) const {
  const auto& [lo, hi, name] = n_.axes_[axis];
  const std::string range = std::to_string(lo) + ":" + std::to_string(hi);
  return name.empty() ? "over " + range : "'" + name + "' (over " + range + ")";
}

void Lowering::add_roots(std::span<const ExprId> roots, const PathCondition& condition) {
  for (ExprId root : roots) {
    for (uint32_t axis : free_axes(root))
      if (!contains(outputs_, axis)) {
        fail(trace_, ErrorCode::Invalid,
             "the axis " + shown(axis) +
                 " is neither an output axis nor reduced where it is used; reduce over it "
                 "with axis=");
      }
    conditions_.add_root(root, condition);
  }
}

// Reductions that stand inside an expression, in ascending order.
void Lowering::lift_all() {
  conditions_.run();
  for (ExprId node : conditions_.nodes())
    if (const std::optional<uint32_t> r = reduction_at(node)) {
      const auto [at, fresh] = need_.try_emplace(*r, conditions_.of(node));
      if (!fresh) at->second = either(n_.pool_, at->second, conditions_.of(node));
    }
  std::vector<uint32_t> order;
  for (const auto& [reduction, condition] : need_) order.push_back(reduction);
  std::ranges::sort(order);
  for (uint32_t reduction : order) lift(reduction);
}

Lowering::Unit Lowering::unit_of(uint32_t reduction, Axes outer) const {
  const Reduction& r = n_.reductions_[reduction];
  return {std::move(outer), r.axes, r.combiner, r.bodies, {}, {}, r.where};
}

// The stage runs over the axes that the reduction uses. Conditions over those axes restrict it;
// conditions that also name other axes take part only when reads would leave their tensors without
// them, for they make the stage larger.
void Lowering::lift(uint32_t reduction) {
  const Axes& inner = n_.reductions_[reduction].axes;
  Axes used = free_of_reduction(reduction);
  Axes wider = used;
  PathCondition own, shared;
  for (ExprId factor : need_.at(reduction)) {
    const Axes axes = free_axes(factor);
    if (!disjoint(axes, inner)) continue;
    if (subset(axes, used)) {
      own.push_back(factor);
    } else if (!disjoint(axes, used)) {
      shared.push_back(factor);
      insert_all(wider, axes);
    }
  }
  Lifted lifted{{}, in_order(used)};
  Unit unit = unit_of(reduction, lifted.axes);
  unit.condition = own;
  std::optional<Lowered> stage = lower(unit);
  try {
    verify_alone(*stage);
  } catch (const Error& e) {
    if (shared.empty() || e.code() != ErrorCode::Bounds) throw;
    lifted.axes = in_order(wider);
    unit = unit_of(reduction, lifted.axes);
    unit.condition = both(own, shared);
    stage = lower(unit);
    verify_alone(*stage);
  }
  const std::string name = name_ + "_" + std::string(name_of(stage->combiner.kind));
  lifted.results = add_compute(trace_, name, std::move(stage->domain), std::move(stage->combiner),
                               std::move(stage->bodies));
  lifted_.emplace(reduction, std::move(lifted));
}

TensorId Lowering::compute_reduction(uint32_t reduction, uint32_t component, DType dtype) {
  Lowered stage = lower(unit_of(reduction, outputs_));
  verify_alone(stage);
  const std::vector<TensorId> results = add_compute(
      trace_, name_, std::move(stage.domain), std::move(stage.combiner), std::move(stage.bodies));
  TensorId result = results[component];
  if (dtype_of(trace_, result) == dtype) return result;
  // A half-typed reduction accumulates in float32 and is rounded once, here.
  Domain domain;
  domain.extents = shape_of(trace_, result);
  domain.output_rank = domain.rank();
  std::vector<ExprId> index;
  for (size_t k = 0; k < domain.rank(); ++k) index.push_back(trace_.pool().axis(k));
  const ExprId body = trace_.pool().cast(read(trace_, result, index), dtype);
  return add_compute(trace_, name_, std::move(domain), {}, {body})[0];
}

std::vector<TensorId> Lowering::compute_plain(std::span<const ScalarExpr> bodies) {
  Unit unit{outputs_, {}, {}, {}, {}, {}, {}};
  for (ScalarExpr body : bodies) unit.bodies.push_back(n_.as(n_.at(body), n_.dtype(body)));
  Lowered stage = lower(std::move(unit));
  for (size_t k = 0; k < bodies.size(); ++k)
    stage.bodies[k] = trace_.pool().cast(stage.bodies[k], n_.dtype(bodies[k]));
  verify_alone(stage);
  return add_compute(trace_, name_, std::move(stage.domain), {}, std::move(stage.bodies));
}

std::vector<TensorId> Lowering::compute(std::span<const ScalarExpr> bodies) {
  // A result that is a reduction as a whole is not lifted: only what is inside it is swept.
  std::vector<ExprId> roots;
  std::vector<std::optional<uint32_t>> whole;
  for (ScalarExpr body : bodies) {
    const IndexNotation::Value value = n_.at(body);
    whole.push_back(reduction_at(value.expr));
    if (!whole.back()) roots.push_back(n_.as(value, n_.dtype(body)));
  }
  for (const std::optional<uint32_t>& r : whole)
    if (r) add_inner_roots(*r);
  add_roots(roots, {});
  lift_all();
  if (std::ranges::none_of(whole, [](const auto& r) { return r.has_value(); }))
    return compute_plain(bodies);
  std::vector<TensorId> results;
  for (size_t k = 0; k < bodies.size(); ++k) {
    const IndexNotation::Value value = n_.at(bodies[k]);
    if (!whole[k]) {
      results.push_back(compute_plain(bodies.subspan(k, 1))[0]);
      continue;
    }
    const uint64_t number = n_.pool_[value.expr].payload - IndexNotation::kPlaceholder;
    results.push_back(
        compute_reduction(*whole[k], n_.placeholders_[number].component, n_.dtype(bodies[k])));
  }
  return results;
}

void Lowering::add_inner_roots(uint32_t reduction) {
  const Reduction& r = n_.reductions_[reduction];
  const Axes outputs = outputs_;
  insert_all(outputs_, r.axes);  // inside it, its axes are known
  PathCondition where = r.where.valid() ? normalized_conjuncts(n_.pool_, r.where) : PathCondition{};
  std::ranges::sort(where);
  add_roots(r.bodies, where);
  if (r.where.valid()) add_roots({&r.where, 1}, {});
  outputs_ = outputs;
}

TensorId Lowering::scatter(const ScatterArguments& arguments) {
  Unit unit{{}, outputs_, {arguments.kind, Ties::Even, {}, {}}, {}, {}, {}, arguments.where};
  unit.bodies = {n_.as(n_.at(arguments.value), arguments.dtype)};
  for (size_t d = 0; d < arguments.target.size(); ++d) {
    const IndexNotation::Value coordinate = n_.at(arguments.target[d]);
    if (!is_integer(coordinate.dtype))
      fail(trace_, ErrorCode::DType,
           "coordinate " + std::to_string(d) + " of the target is " +
               std::string(name_of(coordinate.dtype)) +
               "; it must be an integer: cast it with astype");
    unit.target.push_back(n_.pool_.cast(n_.as(coordinate, coordinate.dtype), DType::Int64));
  }
  PathCondition where =
      arguments.where.valid() ? normalized_conjuncts(n_.pool_, arguments.where) : PathCondition{};
  std::ranges::sort(where);
  add_roots(unit.bodies, where);
  add_roots(unit.target, where);
  if (arguments.where.valid()) add_roots({&arguments.where, 1}, {});
  lift_all();
  Lowered stage = lower(std::move(unit));
  const ExprId body = trace_.pool().cast(stage.bodies[0], arguments.dtype);
  return add_scatter(trace_, name_, arguments.shape, std::move(stage.domain), arguments.kind, body,
                     std::move(stage.target), arguments.initial, arguments.out_of_range);
}

TensorId IndexNotation::compute(std::string_view name, std::span<const AxisHandle> axes,
                                ScalarExpr body) {
  return compute(name, axes, std::span<const ScalarExpr>(&body, 1))[0];
}

std::vector<TensorId> IndexNotation::compute(std::string_view name,
                                             std::span<const AxisHandle> axes,
                                             std::span<const ScalarExpr> bodies) {
  return Lowering(*this, std::string(name), axis_numbers(axes)).compute(bodies);
}

TensorId IndexNotation::scatter(std::string_view name, std::vector<int64_t> shape,
                                std::span<const AxisHandle> axes,
                                std::span<const ScalarExpr> target, ScalarExpr value,
                                CombinerKind kind, TensorId initial, OutOfRange out_of_range,
                                ScalarExpr where) {
  if (target.size() != shape.size())
    fail(*trace_, ErrorCode::Shape,
         "a scatter into shape " + to_string(shape) + " needs " + std::to_string(shape.size()) +
             " coordinates but gets " + std::to_string(target.size()));
  // Beside integers what depends on axes stays int64.
  const bool adapts = is_float(at(value).dtype) || pool_.is(at(value).expr, Op::Constant);
  OperandType type{at(value).dtype, at(value).weak && adapts};
  if (initial.valid()) {
    const OperandType both[] = {type, {dtype_of(*trace_, initial), trace_->is_weak(initial)}};
    try {
      type = promoted(both);
    } catch (const Error& e) {
      fail(*trace_, e.code(), e.what());
    }
  }
  const DType dtype = created_dtype(type);
  if (initial.valid() &&
      (shape_of(*trace_, initial) != shape || dtype_of(*trace_, initial) != dtype))
    fail(*trace_, ErrorCode::Shape,
         "a scatter of " + std::string(name_of(dtype)) + " into shape " + to_string(shape) +
             " starts from '" + trace_->info(initial).name + "', which is " +
             std::string(name_of(dtype_of(*trace_, initial))) +
             to_string(shape_of(*trace_, initial)));
  const ExprId condition = where.valid() ? as_condition(where, "where=") : ExprId{};
  return Lowering(*this, std::string(name), axis_numbers(axes))
      .scatter({std::move(shape),
                {target.begin(), target.end()},
                value,
                dtype,
                kind,
                initial,
                out_of_range,
                condition});
}

}  // namespace adjit::trace
