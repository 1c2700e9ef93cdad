// runtime/trace/index_notation.cpp -- leaves, operations and their types. Stages are made in
// lowering.cpp.
#include "runtime/trace/index_notation.hpp"

#include <algorithm>
#include <utility>

#include "runtime/expr/interval.hpp"
#include "runtime/trace/lowering.hpp"
#include "runtime/trace/rows.hpp"

namespace adjit::trace {

IndexNotation::IndexNotation(Trace& trace) : trace_(&trace) {}

ScalarExpr IndexNotation::add(ExprId expr, DType dtype, bool weak) {
  values_.push_back({expr, dtype, weak});
  return ScalarExpr{static_cast<uint32_t>(values_.size() - 1)};
}

const IndexNotation::Value& IndexNotation::at(ScalarExpr expr) const {
  if (expr.value >= values_.size())
    fail(*trace_, ErrorCode::Invalid, "a scalar expression that this builder did not make");
  return values_[expr.value];
}

AxisHandle IndexNotation::axis(int64_t lo, int64_t hi, std::string name) {
  if (hi < lo)
    fail(*trace_, ErrorCode::Shape,
         "an axis from " + std::to_string(lo) + " to " + std::to_string(hi) +
             " has a negative extent");
  int64_t extent = 0;
  if (__builtin_sub_overflow(hi, lo, &extent))
    fail(*trace_, ErrorCode::Shape,
         "an axis from " + std::to_string(lo) + " to " + std::to_string(hi) +
             " has more points than 64 bits count");
  axes_.push_back({lo, hi, std::move(name)});
  extents_.push_back(extent);
  return AxisHandle{static_cast<uint32_t>(axes_.size() - 1)};
}

int64_t IndexNotation::extent(AxisHandle axis) const {
  const std::vector<uint32_t> number = axis_numbers({&axis, 1});
  return axes_[number[0]].hi - axes_[number[0]].lo;
}

std::vector<uint32_t> IndexNotation::axis_numbers(std::span<const AxisHandle> axes) const {
  std::vector<uint32_t> numbers;
  for (AxisHandle axis : axes) {
    if (axis.value >= axes_.size())
      fail(*trace_, ErrorCode::Invalid, "an axis that this builder did not make");
    if (std::ranges::find(numbers, axis.value) != numbers.end())
      fail(*trace_, ErrorCode::Invalid, "the same axis is given twice");
    numbers.push_back(axis.value);
  }
  return numbers;
}

ScalarExpr IndexNotation::value(AxisHandle axis) {
  const uint32_t number = axis_numbers({&axis, 1})[0];
  return add(pool_.add(pool_.axis(number), pool_.constant_int(axes_[number].lo)), DType::Int64,
             true);
}

ScalarExpr IndexNotation::literal(const WeakScalar& scalar) {
  return add(to_constant(pool_, scalar, scalar.dtype()), scalar.dtype(), true);
}

ScalarExpr IndexNotation::constant(double value, DType dtype) {
  return add(pool_.cast(pool_.constant(value, dtype), accumulator_of(dtype)), dtype);
}

DType IndexNotation::dtype(ScalarExpr expr) const { return created_dtype(type_of(at(expr))); }

ExprId IndexNotation::as(const Value& value, DType dtype) {
  const DType held = accumulator_of(dtype);
  if (!value.weak || !pool_.is(value.expr, Op::Constant)) return pool_.cast(value.expr, held);
  if (pool_.dtype(value.expr) == held) return value.expr;
  WeakScalar scalar = WeakScalar::of(*pool_.value(value.expr));
  if (const std::optional<int64_t> integer = pool_.int_value(value.expr))
    scalar = pool_.dtype(value.expr) == DType::Bool ? WeakScalar::of(*integer != 0)
                                                    : WeakScalar::of(*integer);
  try {
    return to_constant(pool_, scalar, held);
  } catch (const Error& e) {
    fail(*trace_, e.code(), e.what());
  }
}

OperandType IndexNotation::common_type(std::string_view operation,
                                       std::span<const Value> operands) const {
  // What depends on axes has no value to check, and may be an index: beside integers it stays
  // int64.
  const bool integers =
      std::ranges::any_of(operands, [](const Value& v) { return !v.weak && is_integer(v.dtype); });
  std::vector<OperandType> types;
  for (const Value& v : operands) {
    const bool wide = integers && is_integer(v.dtype) && !pool_.is(v.expr, Op::Constant);
    types.push_back({v.dtype, v.weak && !wide});
  }
  try {
    return promoted(types);
  } catch (const Error& e) {
    fail(*trace_, e.code(), "'" + std::string(operation) + "': " + e.what());
  }
}

ScalarExpr IndexNotation::apply(Op op, std::span<const ScalarExpr> operands) {
  const OpInfo& row = info(op);
  if (row.rule == TypeRule::Leaf || op == Op::Cast || op == Op::Select)
    fail(*trace_, ErrorCode::Invalid, "apply does not make '" + std::string(row.name) + "'");
  if (operands.size() != static_cast<size_t>(row.arity))
    fail(*trace_, ErrorCode::Invalid,
         "'" + std::string(row.name) + "' takes " + std::to_string(row.arity) +
             " operands but gets " + std::to_string(operands.size()));
  std::vector<Value> values;
  for (ScalarExpr operand : operands) values.push_back(at(operand));
  OperandType type = common_type(row.name, values);
  const bool real = row.rule == TypeRule::FloatSame || row.rule == TypeRule::FloatTest;
  if (real && type.weak) type = float_of(type);
  std::vector<ExprId> exprs;
  for (const Value& v : values) exprs.push_back(as(v, type.dtype));
  try {
    const ExprId result = pool_.make(op, exprs);
    if (pool_.dtype(result) == DType::Bool)
      return add(result, DType::Bool, type.weak && pool_.is(result, Op::Constant));
    return add(result, type.dtype, type.weak);
  } catch (const Error& e) {
    fail(*trace_, e.code(), e.what());
  }
}

ExprId IndexNotation::as_condition(ScalarExpr condition, std::string_view what) {
  const Value& value = at(condition);
  if (pool_.dtype(value.expr) != DType::Bool)
    fail(*trace_, ErrorCode::DType,
         std::string(what) + " must be bool, not " + std::string(name_of(value.dtype)) +
             "; compare it with something");
  return value.expr;
}

ScalarExpr IndexNotation::select(ScalarExpr condition, ScalarExpr a, ScalarExpr b) {
  const ExprId test = as_condition(condition, "the condition of select");
  const Value branches[] = {at(a), at(b)};
  const OperandType type = common_type("select", branches);
  return add(pool_.select(test, as(branches[0], type.dtype), as(branches[1], type.dtype)),
             type.dtype, type.weak);
}

ScalarExpr IndexNotation::cast(ScalarExpr operand, DType dtype) {
  const ExprId value = at(operand).expr;
  // To a half type and back rounds: a cast is exact about what it is asked for.
  return add(pool_.cast(pool_.cast(value, dtype), accumulator_of(dtype)), dtype);
}

ExprId IndexNotation::checked_index(TensorId tensor, size_t dimension, const Value& index) {
  const TensorInfo& info = trace_->info(tensor);
  const int64_t extent = info.shape[dimension];
  if (!is_integer(index.dtype))
    fail(*trace_, ErrorCode::DType,
         "index " + std::to_string(dimension) + " of '" + info.name + "' is " +
             std::string(name_of(index.dtype)) + "; an index is an integer: cast it with astype");
  const ExprId expr = pool_.cast(index.expr, DType::Int64);
  const std::optional<int64_t> constant = pool_.int_value(expr);
  if (!constant) return expr;
  // One that is out of range may stand under a condition that never holds, or have a mode.
  if (*constant < -extent || *constant >= extent) return expr;
  return pool_.constant_int(*constant < 0 ? *constant + extent : *constant);
}

// Whether an index needs no mode: no value of the axes takes it out of range.
bool IndexNotation::stays_inside(ExprId index, int64_t extent) const {
  const std::optional<ValueRange> range = interval_of(pool_, index, extents_);
  return range && range->lo >= 0 && range->hi < extent;
}

ScalarExpr IndexNotation::read(TensorId tensor, std::span<const ScalarExpr> index, IndexMode mode) {
  const TensorInfo& info = trace_->info(tensor);
  if (index.size() != info.shape.size())
    fail(*trace_, ErrorCode::Shape,
         "'" + info.name + "' of shape " + to_string(info.shape) + " is read with " +
             std::to_string(index.size()) + " indices; it needs " +
             std::to_string(info.shape.size()));
  std::vector<ExprId> exprs;
  std::vector<ExprId> in_range;
  const ExprId zero = pool_.constant_int(0);
  for (size_t d = 0; d < index.size(); ++d) {
    ExprId e = checked_index(tensor, d, at(index[d]));
    const ExprId extent = pool_.constant_int(info.shape[d]);
    if (mode != IndexMode::Error && !stays_inside(e, info.shape[d])) {
      if (info.shape[d] == 0 && mode != IndexMode::Drop)
        fail(*trace_, ErrorCode::Bounds,
             "axis " + std::to_string(d) + " of '" + info.name +
                 "' is empty: no index can be moved into it");
      if (mode == IndexMode::Clip) {
        const ExprId last = pool_.constant_int(info.shape[d] - 1);
        e = pool_.make(Op::Max, {pool_.make(Op::Min, {e, last}), zero});
      } else if (mode == IndexMode::Wrap) {
        e = pool_.make(Op::Mod, {e, extent});
      } else {
        in_range.push_back(pool_.make(Op::Le, {zero, e}));
        in_range.push_back(pool_.make(Op::Lt, {e, extent}));
      }
    }
    exprs.push_back(e);
  }
  const ExprId predicate = in_range.empty() ? ExprId{} : conjunction(pool_, in_range);
  const ExprId element = pool_.read(tensor, info.dtype, exprs, predicate);
  return add(pool_.cast(element, accumulator_of(info.dtype)), info.dtype, trace_->is_weak(tensor));
}

// The row-major position over the axes; over one axis its own value.
ExprId IndexNotation::position(std::span<const uint32_t> axes) {
  if (axes.size() == 1)
    return pool_.add(pool_.axis(axes[0]), pool_.constant_int(axes_[axes[0]].lo));
  ExprId linear = pool_.constant_int(0);
  for (uint32_t a : axes)
    linear =
        pool_.add(pool_.mul(linear, pool_.constant_int(axes_[a].hi - axes_[a].lo)), pool_.axis(a));
  return linear;
}

std::vector<ScalarExpr> IndexNotation::add_reduction(Reduction reduction,
                                                     std::span<const OperandType> types) {
  std::vector<ScalarExpr> results;
  const uint32_t number = static_cast<uint32_t>(reductions_.size());
  for (uint32_t component = 0; component < types.size(); ++component) {
    const auto [dtype, weak] = types[component];
    const ExprId expr = pool_.argument(kPlaceholder + placeholders_.size(), accumulator_of(dtype));
    placeholders_.push_back({number, component});
    results.push_back(add(expr, dtype, weak));
  }
  reductions_.push_back(std::move(reduction));
  return results;
}

ScalarExpr IndexNotation::reduce(CombinerKind kind, ScalarExpr body,
                                 std::span<const AxisHandle> axes, ScalarExpr where, Ties ties) {
  const std::string name(name_of(kind));
  if (kind == CombinerKind::None || kind == CombinerKind::Custom)
    fail(*trace_, ErrorCode::Invalid, "'" + name + "' is not a reduction over axes");
  if (axes.empty())
    fail(*trace_, ErrorCode::Invalid, "'" + name + "' needs at least one axis: axis=k");
  const Value value = at(body);
  DType dtype = value.dtype;
  const bool logical = kind == CombinerKind::Any || kind == CombinerKind::All;
  if (logical && dtype != DType::Bool)
    fail(*trace_, ErrorCode::DType,
         "'" + name + "' over " + std::string(name_of(dtype)) +
             "; compare with something: it needs bool");
  // Sums and products of bools and narrow integers do not wrap, as those of tensors.
  const bool adds = kind == CombinerKind::Sum || kind == CombinerKind::Product;
  if (adds && !is_float(dtype)) dtype = DType::Int64;
  Reduction reduction{.combiner = {kind, ties, {}, {}},
                      .bodies = {as(value, dtype)},
                      .axes = axis_numbers(axes),
                      .where = where.valid() ? as_condition(where, "where=") : ExprId{}};
  if (kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin) {
    reduction.bodies.push_back(position(reduction.axes));
    const OperandType both[] = {{dtype, value.weak}, {DType::Int64, false}};
    return add_reduction(std::move(reduction), both)[1];
  }
  const OperandType one{dtype, value.weak && is_float(dtype)};
  return add_reduction(std::move(reduction), {&one, 1})[0];
}

ScalarExpr IndexNotation::argument(size_t number, DType dtype) {
  return add(pool_.argument(number, accumulator_of(dtype)), dtype);
}

std::vector<ScalarExpr> IndexNotation::reduce_custom(std::span<const ScalarExpr> bodies,
                                                     std::span<const ScalarExpr> combine,
                                                     std::span<const ScalarExpr> identity,
                                                     std::span<const AxisHandle> axes,
                                                     ScalarExpr where) {
  if (bodies.empty() || combine.size() != bodies.size() || identity.size() != bodies.size())
    fail(*trace_, ErrorCode::Invalid,
         "a reducer over " + std::to_string(bodies.size()) +
             " values needs as many results of "
             "combine and identities; it has " +
             std::to_string(combine.size()) + " and " + std::to_string(identity.size()));
  Reduction reduction{.combiner = {CombinerKind::Custom, Ties::Even, {}, {}},
                      .bodies = {},
                      .axes = axis_numbers(axes),
                      .where = where.valid() ? as_condition(where, "where=") : ExprId{}};
  std::vector<OperandType> types;
  for (size_t k = 0; k < bodies.size(); ++k) {
    const Value body = at(bodies[k]), folded = at(combine[k]), start = at(identity[k]);
    const DType dtype = created_dtype(type_of(body));
    types.push_back({dtype, false});
    if (!folded.weak && folded.dtype != dtype)
      fail(*trace_, ErrorCode::DType,
           "a reducer over " + std::string(name_of(dtype)) + " combines to " +
               std::string(name_of(folded.dtype)) + "; cast the result of combine with astype");
    if (!pool_.is(start.expr, Op::Constant))
      fail(*trace_, ErrorCode::Invalid, "the identity of a reducer must be a constant");
    reduction.bodies.push_back(as(body, dtype));
    reduction.combiner.combine.push_back(as(folded, dtype));
    reduction.combiner.identity.push_back(as(start, dtype));
  }
  return add_reduction(std::move(reduction), types);
}

}  // namespace adjit::trace
