// adjit/index_notation.hpp -- C[i, j] = sum_k A[i, k] * B[k, j]: axes, expressions, reductions.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensor.hpp"

namespace adjit::inline cpp {

/// An axis with lo <= value < hi. In expressions it stands for its value.
class Axis {
 public:
  int64_t lo() const { return lo_; }
  int64_t hi() const { return hi_; }
  adjit_axis id() const { return id_; }
  const std::shared_ptr<adjit_trace>& trace() const { return trace_; }

 private:
  friend class Trace;
  Axis(std::shared_ptr<adjit_trace> trace, int64_t lo, int64_t hi, const std::string& name)
      : trace_(std::move(trace)), lo_(lo), hi_(hi) {
    detail::check(adjit_axis_create(trace_.get(), lo, hi, name.c_str(), &id_));
  }

  std::shared_ptr<adjit_trace> trace_;
  int64_t lo_, hi_;
  adjit_axis id_ = ADJIT_NONE;
};

/// A scalar expression of a trace.
class Expr {
 public:
  Expr(const Axis& axis) : trace_(axis.trace()) {  // NOLINT: an axis is its value
    detail::check(adjit_expr_axis(trace_.get(), axis.id(), &id_));
  }
  /// Expression `id` of a trace of the C interface.
  Expr(std::shared_ptr<adjit_trace> trace, adjit_expr id) : trace_(std::move(trace)), id_(id) {}

  DType dtype() const {
    adjit_dtype dtype = ADJIT_BOOL;
    detail::check(adjit_expr_dtype(trace_.get(), id_, &dtype));
    return static_cast<DType>(dtype);
  }
  Expr astype(DType dtype) const {
    adjit_expr made = ADJIT_NONE;
    detail::check(adjit_expr_cast(trace_.get(), id_, static_cast<adjit_dtype>(dtype), &made));
    return {trace_, made};
  }
  const std::shared_ptr<adjit_trace>& trace() const { return trace_; }
  adjit_expr id() const { return id_; }

 private:
  std::shared_ptr<adjit_trace> trace_;
  adjit_expr id_ = ADJIT_NONE;
};

/// An operand of an expression, with the line where it is written: an expression, an axis, a
/// number. Numbers take the dtype of what they meet. A tensor of rank 0 is read by t().
class ExprOperand {
 public:
  ExprOperand(const Expr& expr, Where where = Where::current())  // NOLINT: operands convert
      : expr_(expr), where_(where) {}
  ExprOperand(const Axis& axis, Where where = Where::current())  // NOLINT
      : expr_(axis), where_(where) {}
  template <Number T>
  ExprOperand(T value, Where where = Where::current())  // NOLINT
      : where_(where) {
    if constexpr (std::floating_point<T>) {
      kind_ = Kind::Float;
      float_ = static_cast<double>(value);
    } else {
      kind_ = std::same_as<T, bool> ? Kind::Bool : Kind::Int;
      int_ = detail::int64_of(value);
    }
  }

  std::shared_ptr<adjit_trace> trace() const { return expr_ ? expr_->trace() : nullptr; }
  const Where& where() const { return where_; }
  /// Its number in a trace.
  adjit_expr in(adjit_trace* trace) const {
    if (expr_) return expr_->id();
    adjit_expr made = ADJIT_NONE;
    switch (kind_) {
      case Kind::Int: detail::check(adjit_expr_int(trace, int_, &made)); break;
      case Kind::Float: detail::check(adjit_expr_float(trace, float_, &made)); break;
      case Kind::Bool: detail::check(adjit_expr_bool(trace, int_ != 0, &made)); break;
    }
    return made;
  }

 private:
  enum class Kind { Int, Float, Bool };
  std::optional<Expr> expr_;
  Kind kind_ = Kind::Int;
  int64_t int_ = 0;
  double float_ = 0;
  Where where_;
};

/// Axes that a reduction, a compute or a scatter runs over: one, or a list.
class Axes {
 public:
  Axes(const Axis& axis) : list_{axis} {}  // NOLINT: one is a list
  Axes(std::initializer_list<Axis> axes) : list_(axes) {}
  Axes(std::vector<Axis> axes) : list_(std::move(axes)) {}  // NOLINT
  const std::vector<Axis>& list() const { return list_; }
  std::vector<adjit_axis> ids() const {
    std::vector<adjit_axis> ids;
    for (const Axis& axis : list_) ids.push_back(axis.id());
    return ids;
  }

 private:
  std::vector<Axis> list_;
};

namespace detail {

inline std::vector<adjit_expr> ids(adjit_trace* trace, const std::vector<ExprOperand>& operands) {
  std::vector<adjit_expr> list;
  for (const ExprOperand& operand : operands) list.push_back(operand.in(trace));
  return list;
}

/// The trace that axes and expressions belong to.
inline std::shared_ptr<adjit_trace> trace_of(const Axes& axes, std::vector<ExprOperand> operands,
                                             const char* operation) {
  operands.insert(operands.end(), axes.list().begin(), axes.list().end());
  return common_trace(operands, operation);
}

}  // namespace detail

/// An operation by its name in text notation or in English: "+", "floordiv", "select", "exp".
inline Expr apply_expr(const char* operation, const std::vector<ExprOperand>& operands) {
  const std::shared_ptr<adjit_trace> trace = detail::common_trace(operands, operation);
  detail::mark(trace.get(), operands[0].where(), operation);
  const std::vector<adjit_expr> ids = detail::ids(trace.get(), operands);
  adjit_expr made = ADJIT_NONE;
  detail::check(adjit_expr_apply(trace.get(), operation, detail::count(ids), ids.data(), &made));
  return {trace, made};
}

inline Expr Tensor::at(const std::vector<ExprOperand>& index, IndexMode mode, Where where) const {
  for (const ExprOperand& part : index)
    if (part.trace() && part.trace() != trace_)
      throw InvalidError("a tensor is read at an index that belongs to another trace");
  detail::mark(trace_.get(), where, "read");
  const std::vector<adjit_expr> ids = detail::ids(trace_.get(), index);
  adjit_expr made = ADJIT_NONE;
  detail::check(adjit_expr_read(trace_.get(), id_, detail::count(ids), ids.data(),
                                detail::name_of(mode), &made));
  return {trace_, made};
}

template <std::convertible_to<ExprOperand>... Index>
Expr Tensor::operator()(const Index&... index) const {
  return at({ExprOperand(index)...}, IndexMode::Error);
}

// Arithmetic of expressions. `/` divides floats; floordiv(a, b) and `%` floor. Conditions combine
// with `&&`, `||` and `!` (nothing is skipped: both sides are part of the expression).
#define ADJIT_BINARY(sign, name)                                          \
  inline Expr operator sign(const ExprOperand& a, const ExprOperand& b) { \
    return apply_expr(name, {a, b});                                      \
  }
ADJIT_BINARY(+, "add")
ADJIT_BINARY(-, "sub")
ADJIT_BINARY(*, "mul")
ADJIT_BINARY(/, "div")
ADJIT_BINARY(%, "mod")
ADJIT_BINARY(==, "eq")
ADJIT_BINARY(!=, "ne")
ADJIT_BINARY(<, "lt")
ADJIT_BINARY(<=, "le")
ADJIT_BINARY(>, "gt")
ADJIT_BINARY(>=, "ge")
ADJIT_BINARY(&&, "and")
ADJIT_BINARY(||, "or")
ADJIT_BINARY(&, "bitand")
ADJIT_BINARY(|, "bitor")
ADJIT_BINARY(^, "bitxor")
ADJIT_BINARY(<<, "lshift")
ADJIT_BINARY(>>, "rshift")
#undef ADJIT_BINARY
inline Expr operator-(const ExprOperand& a) { return apply_expr("neg", {a}); }
inline Expr operator!(const ExprOperand& a) { return apply_expr("not", {a}); }
inline Expr operator~(const ExprOperand& a) { return apply_expr("invert", {a}); }

inline Expr floordiv(const ExprOperand& a, const ExprOperand& b) {
  return apply_expr("floordiv", {a, b});
}
/// a where the condition holds, else b. A read in the branch not taken may be out of range.
inline Expr select(const ExprOperand& condition, const ExprOperand& a, const ExprOperand& b) {
  return apply_expr("select", {condition, a, b});
}

/// Which of several equal elements a maximum's gradient goes to.
enum class Ties { Even, First };

/// "sum", "prod", "max", "min", "argmax", "argmin", "any", "all" of a body over axes, at the points
/// where `where` holds.
inline Expr reduce(const char* reducer, const ExprOperand& body, const Axes& axes,
                   const std::optional<Expr>& condition = {}, Ties ties = Ties::Even) {
  std::vector<ExprOperand> parts{body};
  if (condition) parts.emplace_back(*condition);
  const std::shared_ptr<adjit_trace> trace = detail::trace_of(axes, parts, reducer);
  detail::mark(trace.get(), body.where(), reducer);
  const std::vector<adjit_axis> over = axes.ids();
  adjit_expr made = ADJIT_NONE;
  detail::check(adjit_expr_reduce(trace.get(), reducer, body.in(trace.get()), detail::count(over),
                                  over.data(), condition ? condition->id() : ADJIT_NONE,
                                  ties == Ties::Even ? "even" : "first", &made));
  return {trace, made};
}

#define ADJIT_REDUCER(name)                                     \
  inline Expr name(const ExprOperand& body, const Axes& axes,   \
                   const std::optional<Expr>& condition = {}) { \
    return reduce(#name, body, axes, condition);                \
  }
ADJIT_REDUCER(sum)
ADJIT_REDUCER(prod)
ADJIT_REDUCER(argmax)
ADJIT_REDUCER(argmin)
ADJIT_REDUCER(any)
ADJIT_REDUCER(all)
#undef ADJIT_REDUCER
inline Expr max(const ExprOperand& body, const Axes& axes, const std::optional<Expr>& where = {},
                Ties ties = Ties::Even) {
  return reduce("max", body, axes, where, ties);
}
inline Expr min(const ExprOperand& body, const Axes& axes, const std::optional<Expr>& where = {},
                Ties ties = Ties::Even) {
  return reduce("min", body, axes, where, ties);
}

/// A custom associative reducer on n-tuples: `combine(left, right)` takes two lists of n
/// expressions and gives one; identity holds n literals.
template <class Combine>
std::vector<Expr> reduce(const std::vector<Expr>& bodies, Combine&& combine,
                         const std::vector<ExprOperand>& identity, const Axes& axes,
                         const std::optional<Expr>& condition = {}) {
  const std::shared_ptr<adjit_trace> trace =
      detail::trace_of(axes, {bodies.begin(), bodies.end()}, "reducer");
  const auto n = detail::count(bodies);
  if (identity.size() != bodies.size())
    throw InvalidError("a reducer of " + std::to_string(n) + " values has an identity of " +
                       std::to_string(identity.size()));
  std::vector<std::vector<Expr>> sides(2);
  for (int32_t k = 0; k < 2 * n; ++k) {
    adjit_expr made = ADJIT_NONE;
    const DType dtype = bodies[static_cast<size_t>(k % n)].dtype();
    detail::check(adjit_expr_argument(trace.get(), k, static_cast<adjit_dtype>(dtype), &made));
    sides[static_cast<size_t>(k / n)].emplace_back(trace, made);
  }
  const std::vector<Expr> combined = combine(sides[0], sides[1]);
  if (combined.size() != bodies.size())
    throw InvalidError("a reducer of " + std::to_string(n) + " values combines to " +
                       std::to_string(combined.size()));
  const auto numbers = [&](const auto& list) {
    return detail::ids(trace.get(), {list.begin(), list.end()});
  };
  const std::vector<adjit_axis> over = axes.ids();
  std::vector<adjit_expr> results(bodies.size(), ADJIT_NONE);
  detail::check(adjit_expr_reduce_custom(
      trace.get(), n, numbers(bodies).data(), numbers(combined).data(), numbers(identity).data(),
      detail::count(over), over.data(), condition ? condition->id() : ADJIT_NONE, results.data()));
  std::vector<Expr> made;
  for (adjit_expr id : results) made.emplace_back(trace, id);
  return made;
}

/// results[k][axes...] = bodies[k]; reductions may stand anywhere in them.
inline std::vector<Tensor> compute(const Axes& axes, const std::vector<ExprOperand>& bodies,
                                   Where where = Where::current()) {
  const std::shared_ptr<adjit_trace> trace = detail::trace_of(axes, bodies, "compute");
  detail::mark(trace.get(), where, "compute");
  const std::vector<adjit_axis> over = axes.ids();
  const std::vector<adjit_expr> values = detail::ids(trace.get(), bodies);
  std::vector<adjit_tensor> results(bodies.size(), ADJIT_NONE);
  detail::check(adjit_trace_compute(trace.get(), "t", detail::count(over), over.data(),
                                    detail::count(values), values.data(), results.data()));
  return detail::tensors(trace, results);
}
inline Tensor compute(const Axes& axes, const ExprOperand& body, Where where = Where::current()) {
  return compute(axes, std::vector<ExprOperand>{body}, where)[0];
}

struct ScatterOptions {
  const char* combine = "add";         ///< "add", "mul", "max", "min", "set"
  std::optional<Tensor> initial = {};  ///< what it starts from; none: the combiner's identity
  IndexMode mode = IndexMode::Error;
  std::optional<Expr> condition = {};  ///< the points that write
};

/// result[target...] (+)= value over all points of the axes.
inline Tensor scatter(const Shape& shape, const Axes& axes, const std::vector<ExprOperand>& target,
                      const ExprOperand& value, const ScatterOptions& options = {},
                      Where where = Where::current()) {
  if (target.size() != shape.size())
    throw ShapeError("a scatter into shape " + text_of(shape) + " has a target of " +
                     std::to_string(target.size()) + " indices");
  std::vector<ExprOperand> parts = target;
  parts.push_back(value);
  const std::shared_ptr<adjit_trace> trace = detail::trace_of(axes, parts, "scatter");
  detail::mark(trace.get(), where, "scatter");
  const std::vector<adjit_axis> over = axes.ids();
  const std::vector<adjit_expr> indices = detail::ids(trace.get(), target);
  adjit_tensor made = ADJIT_NONE;
  detail::check(adjit_trace_scatter(
      trace.get(), "t", detail::count(shape), shape.data(), detail::count(over), over.data(),
      indices.data(), value.in(trace.get()), options.combine,
      options.initial ? options.initial->id() : ADJIT_NONE, detail::name_of(options.mode),
      options.condition ? options.condition->id() : ADJIT_NONE, &made));
  return {trace, made};
}

inline Axis Trace::axis(int64_t lo, int64_t hi, const std::string& name) const {
  return {handle_, lo, hi, name};
}
inline Axis Trace::axis(int64_t extent, const std::string& name) const {
  return {handle_, 0, extent, name};
}

template <size_t kRank, class Body>
Tensor Trace::compute(const int64_t (&extents)[kRank], Body&& body, Where where) const {
  std::vector<Axis> axes;
  for (int64_t extent : extents) axes.push_back(axis(extent));
  const ExprOperand value = [&]<size_t... kAxis>(std::index_sequence<kAxis...>) -> ExprOperand {
    return body(axes[kAxis]...);
  }(std::make_index_sequence<kRank>());
  return cpp::compute(axes, value, where);
}

}  // namespace adjit::inline cpp
