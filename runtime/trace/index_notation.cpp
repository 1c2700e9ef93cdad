// runtime/trace/index_notation.cpp -- leaves, operations and their types.
#include "runtime/trace/index_notation.hpp"

#include <algorithm>
#include <utility>

#include "runtime/expr/interval.hpp"
#include "runtime/trace/rows.hpp"

namespace adjit::trace {
namespace {

OperandType common_type(const IndexNotation& n, std::string_view operation,
                        std::span<const NotationValue> operands) {
  // What depends on axes has no value to check, and may be an index: beside integers it stays
  // int64.
  const bool integers = std::ranges::any_of(
      operands, [](const NotationValue& v) { return !v.weak && is_integer(v.dtype); });
  std::vector<OperandType> types;
  for (const NotationValue& v : operands) {
    const bool wide = integers && is_integer(v.dtype) && !n.pool.is(v.expr, Op::Constant);
    types.push_back({v.dtype, v.weak && !wide});
  }
  try {
    return promoted(types);
  } catch (const Error& e) {
    fail(n.trace, e.code(), "'" + std::string(operation) + "': " + e.what());
  }
}

ExprId checked_index(IndexNotation& n, TensorId tensor, size_t dimension,
                     const NotationValue& index) {
  const TensorInfo& info = n.trace.info(tensor);
  const int64_t extent = info.shape[dimension];
  if (!is_integer(index.dtype))
    fail(n.trace, ErrorCode::DType,
         "index " + std::to_string(dimension) + " of '" + info.name + "' is " +
             std::string(name_of(index.dtype)) + "; an index is an integer: cast it with astype");
  const ExprId expr = n.pool.cast(index.expr, DType::Int64);
  const std::optional<int64_t> constant = n.pool.int_value(expr);
  if (!constant) return expr;
  // One that is out of range may stand under a condition that never holds, or have a mode.
  if (*constant < -extent || *constant >= extent) return expr;
  return n.pool.constant_int(*constant < 0 ? *constant + extent : *constant);
}

// Whether an index needs no mode: no value of the axes takes it out of range.
bool stays_inside(const IndexNotation& n, ExprId index, int64_t extent) {
  const std::optional<ValueRange> range = interval_of(n.pool, index, n.extents);
  return range && range->lo >= 0 && range->hi < extent;
}

}  // namespace

ScalarExpr add_value(IndexNotation& n, const NotationValue& value) {
  n.values.push_back(value);
  return ScalarExpr{static_cast<uint32_t>(n.values.size() - 1)};
}

const NotationValue& value_of(const IndexNotation& n, ScalarExpr expr) {
  if (expr.value >= n.values.size())
    fail(n.trace, ErrorCode::Invalid, "a scalar expression that this notation did not make");
  return n.values[expr.value];
}

ExprId brought_to(IndexNotation& n, const NotationValue& value, DType dtype) {
  const DType held = accumulator_of(dtype);
  if (!value.weak || !n.pool.is(value.expr, Op::Constant)) return n.pool.cast(value.expr, held);
  if (n.pool.dtype(value.expr) == held) return value.expr;
  WeakScalar scalar = WeakScalar::of(*n.pool.value(value.expr));
  if (const std::optional<int64_t> integer = n.pool.int_value(value.expr))
    scalar = n.pool.dtype(value.expr) == DType::Bool ? WeakScalar::of(*integer != 0)
                                                     : WeakScalar::of(*integer);
  try {
    return to_constant(n.pool, scalar, held);
  } catch (const Error& e) {
    fail(n.trace, e.code(), e.what());
  }
}

ExprId condition_of(const IndexNotation& n, ScalarExpr condition, std::string_view what) {
  const NotationValue& value = value_of(n, condition);
  if (n.pool.dtype(value.expr) != DType::Bool)
    fail(n.trace, ErrorCode::DType,
         std::string(what) + " must be bool, not " + std::string(name_of(value.dtype)) +
             "; compare it with something");
  return value.expr;
}

std::vector<uint32_t> axis_numbers(const IndexNotation& n, std::span<const AxisHandle> axes) {
  std::vector<uint32_t> numbers;
  for (AxisHandle axis : axes) {
    if (axis.value >= n.axes.size())
      fail(n.trace, ErrorCode::Invalid, "an axis that this notation did not make");
    if (std::ranges::find(numbers, axis.value) != numbers.end())
      fail(n.trace, ErrorCode::Invalid, "the same axis is given twice");
    numbers.push_back(axis.value);
  }
  return numbers;
}

std::optional<Placeholder> placeholder_of(const IndexNotation& n, ExprId node) {
  const Node& leaf = n.pool[node];
  if (leaf.op != Op::Argument || leaf.payload < kPlaceholder) return std::nullopt;
  return n.placeholders[leaf.payload - kPlaceholder];
}

AxisHandle add_axis(IndexNotation& n, int64_t lo, int64_t hi, std::string name) {
  if (hi < lo)
    fail(n.trace, ErrorCode::Shape,
         "an axis from " + std::to_string(lo) + " to " + std::to_string(hi) +
             " has a negative extent");
  int64_t extent = 0;
  if (__builtin_sub_overflow(hi, lo, &extent))
    fail(n.trace, ErrorCode::Shape,
         "an axis from " + std::to_string(lo) + " to " + std::to_string(hi) +
             " has more points than 64 bits count");
  n.axes.push_back({lo, hi, std::move(name)});
  n.extents.push_back(extent);
  return AxisHandle{static_cast<uint32_t>(n.axes.size() - 1)};
}

int64_t extent_of(const IndexNotation& n, AxisHandle axis) {
  const std::vector<uint32_t> number = axis_numbers(n, {&axis, 1});
  return n.axes[number[0]].hi - n.axes[number[0]].lo;
}

ScalarExpr axis_value(IndexNotation& n, AxisHandle axis) {
  const uint32_t number = axis_numbers(n, {&axis, 1})[0];
  return add_value(n, {n.pool.add(n.pool.axis(number), n.pool.constant_int(n.axes[number].lo)),
                       DType::Int64, true});
}

ScalarExpr literal(IndexNotation& n, const WeakScalar& scalar) {
  return add_value(n, {to_constant(n.pool, scalar, scalar.dtype()), scalar.dtype(), true});
}

ScalarExpr constant(IndexNotation& n, double value, DType dtype) {
  return add_value(n, {n.pool.cast(n.pool.constant(value, dtype), accumulator_of(dtype)), dtype});
}

DType dtype_of(const IndexNotation& n, ScalarExpr expr) {
  return created_dtype(type_of(value_of(n, expr)));
}

ScalarExpr apply(IndexNotation& n, Op op, std::span<const ScalarExpr> operands) {
  const OpInfo& row = info(op);
  if (row.rule == TypeRule::Leaf || op == Op::Cast || op == Op::Select)
    fail(n.trace, ErrorCode::Invalid, "apply does not make '" + std::string(row.name) + "'");
  if (operands.size() != static_cast<size_t>(row.arity))
    fail(n.trace, ErrorCode::Invalid,
         "'" + std::string(row.name) + "' takes " + std::to_string(row.arity) +
             " operands but gets " + std::to_string(operands.size()));
  std::vector<NotationValue> values;
  for (ScalarExpr operand : operands) values.push_back(value_of(n, operand));
  OperandType type = common_type(n, row.name, values);
  const bool real = row.rule == TypeRule::FloatSame || row.rule == TypeRule::FloatTest;
  if (real && type.weak) type = float_of(type);
  std::vector<ExprId> exprs;
  for (const NotationValue& v : values) exprs.push_back(brought_to(n, v, type.dtype));
  try {
    const ExprId result = n.pool.make(op, exprs);
    if (n.pool.dtype(result) == DType::Bool)
      return add_value(n, {result, DType::Bool, type.weak && n.pool.is(result, Op::Constant)});
    return add_value(n, {result, type.dtype, type.weak});
  } catch (const Error& e) {
    fail(n.trace, e.code(), e.what());
  }
}

ScalarExpr select(IndexNotation& n, ScalarExpr condition, ScalarExpr a, ScalarExpr b) {
  const ExprId test = condition_of(n, condition, "the condition of select");
  const NotationValue branches[] = {value_of(n, a), value_of(n, b)};
  const OperandType type = common_type(n, "select", branches);
  return add_value(n, {n.pool.select(test, brought_to(n, branches[0], type.dtype),
                                     brought_to(n, branches[1], type.dtype)),
                       type.dtype, type.weak});
}

ScalarExpr cast(IndexNotation& n, ScalarExpr operand, DType dtype) {
  const ExprId value = value_of(n, operand).expr;
  // To a half type and back rounds: a cast is exact about what it is asked for.
  return add_value(n, {n.pool.cast(n.pool.cast(value, dtype), accumulator_of(dtype)), dtype});
}

ScalarExpr read(IndexNotation& n, TensorId tensor, std::span<const ScalarExpr> index,
                IndexMode mode) {
  const TensorInfo& info = n.trace.info(tensor);
  if (index.size() != info.shape.size())
    fail(n.trace, ErrorCode::Shape,
         "'" + info.name + "' of shape " + to_string(info.shape) + " is read with " +
             std::to_string(index.size()) + " indices; it needs " +
             std::to_string(info.shape.size()));
  std::vector<ExprId> exprs;
  std::vector<ExprId> in_range;
  const ExprId zero = n.pool.constant_int(0);
  for (size_t d = 0; d < index.size(); ++d) {
    ExprId e = checked_index(n, tensor, d, value_of(n, index[d]));
    const ExprId extent = n.pool.constant_int(info.shape[d]);
    if (mode != IndexMode::Error && !stays_inside(n, e, info.shape[d])) {
      if (info.shape[d] == 0 && mode != IndexMode::Drop)
        fail(n.trace, ErrorCode::Bounds,
             "axis " + std::to_string(d) + " of '" + info.name +
                 "' is empty: no index can be moved into it");
      if (mode == IndexMode::Clip) {
        const ExprId last = n.pool.constant_int(info.shape[d] - 1);
        e = n.pool.make(Op::Max, {n.pool.make(Op::Min, {e, last}), zero});
      } else if (mode == IndexMode::Wrap) {
        e = n.pool.make(Op::Mod, {e, extent});
      } else {
        in_range.push_back(n.pool.make(Op::Le, {zero, e}));
        in_range.push_back(n.pool.make(Op::Lt, {e, extent}));
      }
    }
    exprs.push_back(e);
  }
  const ExprId predicate = in_range.empty() ? ExprId{} : conjunction(n.pool, in_range);
  const ExprId element = n.pool.read(tensor, info.dtype, exprs, predicate);
  return add_value(
      n, {n.pool.cast(element, accumulator_of(info.dtype)), info.dtype, n.trace.is_weak(tensor)});
}

}  // namespace adjit::trace
