// runtime/trace/index_reduction.cpp -- reductions inside expressions of index notation.
#include "runtime/trace/index_reduction.hpp"

#include <utility>

namespace adjit::trace {
namespace {

// The row-major position over the axes; over one axis its own value.
ExprId position(IndexNotation& n, std::span<const uint32_t> axes) {
  if (axes.size() == 1)
    return n.pool.add(n.pool.axis(axes[0]), n.pool.constant_int(n.axes[axes[0]].lo));
  ExprId linear = n.pool.constant_int(0);
  for (uint32_t a : axes)
    linear = n.pool.add(n.pool.mul(linear, n.pool.constant_int(n.axes[a].hi - n.axes[a].lo)),
                        n.pool.axis(a));
  return linear;
}

std::vector<ScalarExpr> add_reduction(IndexNotation& n, Reduction reduction,
                                      std::span<const OperandType> types) {
  std::vector<ScalarExpr> results;
  const uint32_t number = static_cast<uint32_t>(n.reductions.size());
  for (uint32_t component = 0; component < types.size(); ++component) {
    const auto [dtype, weak] = types[component];
    const ExprId expr =
        n.pool.argument(kPlaceholder + n.placeholders.size(), accumulator_of(dtype));
    n.placeholders.push_back({number, component});
    results.push_back(add_value(n, {expr, dtype, weak}));
  }
  n.reductions.push_back(std::move(reduction));
  return results;
}

}  // namespace

ScalarExpr reduce(IndexNotation& n, CombinerKind kind, ScalarExpr body,
                  std::span<const AxisHandle> axes, ScalarExpr where, Ties ties) {
  const std::string name(name_of(kind));
  if (kind == CombinerKind::None || kind == CombinerKind::Custom)
    fail(n.trace, ErrorCode::Invalid, "'" + name + "' is not a reduction over axes");
  if (axes.empty())
    fail(n.trace, ErrorCode::Invalid, "'" + name + "' needs at least one axis: axis=k");
  const NotationValue value = value_of(n, body);
  DType dtype = value.dtype;
  const bool logical = kind == CombinerKind::Any || kind == CombinerKind::All;
  if (logical && dtype != DType::Bool)
    fail(n.trace, ErrorCode::DType,
         "'" + name + "' over " + std::string(name_of(dtype)) +
             "; compare with something: it needs bool");
  // Sums and products of bools and narrow integers do not wrap, as those of tensors.
  const bool adds = kind == CombinerKind::Sum || kind == CombinerKind::Product;
  if (adds && !is_float(dtype)) dtype = DType::Int64;
  Reduction reduction{.combiner = {kind, ties, {}, {}},
                      .bodies = {brought_to(n, value, dtype)},
                      .axes = axis_numbers(n, axes),
                      .where = where.valid() ? condition_of(n, where, "where=") : ExprId{}};
  if (kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin) {
    reduction.bodies.push_back(position(n, reduction.axes));
    const OperandType both[] = {{dtype, value.weak}, {DType::Int64, false}};
    return add_reduction(n, std::move(reduction), both)[1];
  }
  const OperandType one{dtype, value.weak && is_float(dtype)};
  return add_reduction(n, std::move(reduction), {&one, 1})[0];
}

ScalarExpr argument(IndexNotation& n, size_t number, DType dtype) {
  return add_value(n, {n.pool.argument(number, accumulator_of(dtype)), dtype});
}

std::vector<ScalarExpr> reduce_custom(IndexNotation& n, std::span<const ScalarExpr> bodies,
                                      std::span<const ScalarExpr> combine,
                                      std::span<const ScalarExpr> identity,
                                      std::span<const AxisHandle> axes, ScalarExpr where) {
  if (bodies.empty() || combine.size() != bodies.size() || identity.size() != bodies.size())
    fail(n.trace, ErrorCode::Invalid,
         "a reducer over " + std::to_string(bodies.size()) +
             " values needs as many results of "
             "combine and identities; it has " +
             std::to_string(combine.size()) + " and " + std::to_string(identity.size()));
  Reduction reduction{.combiner = {CombinerKind::Custom, Ties::Even, {}, {}},
                      .bodies = {},
                      .axes = axis_numbers(n, axes),
                      .where = where.valid() ? condition_of(n, where, "where=") : ExprId{}};
  std::vector<OperandType> types;
  for (size_t k = 0; k < bodies.size(); ++k) {
    const NotationValue body = value_of(n, bodies[k]), folded = value_of(n, combine[k]),
                        start = value_of(n, identity[k]);
    const DType dtype = created_dtype(type_of(body));
    types.push_back({dtype, false});
    if (!folded.weak && folded.dtype != dtype)
      fail(n.trace, ErrorCode::DType,
           "a reducer over " + std::string(name_of(dtype)) + " combines to " +
               std::string(name_of(folded.dtype)) + "; cast the result of combine with astype");
    if (!n.pool.is(start.expr, Op::Constant))
      fail(n.trace, ErrorCode::Invalid, "the identity of a reducer must be a constant");
    reduction.bodies.push_back(brought_to(n, body, dtype));
    reduction.combiner.combine.push_back(brought_to(n, folded, dtype));
    reduction.combiner.identity.push_back(brought_to(n, start, dtype));
  }
  return add_reduction(n, std::move(reduction), types);
}

}  // namespace adjit::trace
