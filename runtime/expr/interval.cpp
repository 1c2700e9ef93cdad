// runtime/expr/interval.cpp -- interval arithmetic on index expressions.
#include "runtime/expr/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/expr/integer.hpp"
#include "runtime/expr/scalar.hpp"

namespace adjit::expr {
namespace {

constexpr ValueRange kAnything{INT64_MIN, INT64_MAX};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Comparisons on the way to a branch of nested selects that are remembered.
constexpr size_t kMostAssumptions = 8;

bool is_open(ValueRange r) { return r.lo == kAnything.lo || r.hi == kAnything.hi; }

ValueRange product(ValueRange a, ValueRange b) {
  const int64_t corners[] = {checked_mul(a.lo, b.lo), checked_mul(a.lo, b.hi),
                             checked_mul(a.hi, b.lo), checked_mul(a.hi, b.hi)};
  return {std::ranges::min(corners), std::ranges::max(corners)};
}

// Raises Overflow where an end cannot be represented.
ValueRange binary(Op op, ValueRange a, ValueRange b) {
  switch (op) {
    case Op::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Op::Mod:
      if (b.lo != b.hi || b.lo < 1) return kAnything;
      if (!is_open(a) && floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo))
        return {floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo)};
      return {0, b.lo - 1};
    default: break;
  }
  if (is_open(a) || is_open(b)) return kAnything;
  switch (op) {
    case Op::Add: return {checked_add(a.lo, b.lo), checked_add(a.hi, b.hi)};
    case Op::Sub: return {checked_sub(a.lo, b.hi), checked_sub(a.hi, b.lo)};
    case Op::Mul: return product(a, b);
    case Op::FloorDiv:
      if (b.lo != b.hi || b.lo < 1) return kAnything;
      return {floor_div(a.lo, b.lo), floor_div(a.hi, b.lo)};
    default: return kAnything;
  }
}

ValueRange range_of(DType dtype) {
  switch (dtype) {
    case DType::Bool: return {0, 1};
    case DType::UInt8: return {0, UINT8_MAX};
    case DType::Int8: return {INT8_MIN, INT8_MAX};
    case DType::Int16: return {INT16_MIN, INT16_MAX};
    case DType::Int32: return {INT32_MIN, INT32_MAX};
    default: return kAnything;
  }
}

// Integers wrap: what might leave its dtype might be anything of it.
ValueRange wrapped(ValueRange range, DType dtype) {
  const ValueRange all = range_of(dtype);
  return range.lo >= all.lo && range.hi <= all.hi ? range : all;
}

// A float's end of a range as an integer of a dtype, as a cast makes it: truncated, saturated.
int64_t saturated(double value, DType dtype) {
  const ValueRange all = range_of(dtype);
  if (value >= static_cast<double>(all.hi)) return all.hi;
  if (value <= static_cast<double>(all.lo)) return all.lo;
  return static_cast<int64_t>(value);
}

// Rounding is monotonic, so the ends of a range may be rounded like all between them.
// (By the cast of scalars: GCC 12 at -O2 left the rounding out where it stood here as two
// static_casts.)
double rounded(double value, DType dtype) {
  const Scalar exact[] = {Scalar::of_float(value)};
  return apply(Op::Cast, DType::Float64, dtype, exact).f;
}

bool rounds_here(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

}  // namespace

std::optional<ValueRange> Intervals::of(ExprId expr) {
  if (is_float(pool_->dtype(expr))) return std::nullopt;
  if (!known_.contains(expr.value))
    for (ExprId id : reachable(*pool_, std::span(&expr, 1)))
      if (!known_.contains(id.value)) visit(id);
  const ValueRange range = known_.at(expr.value).whole;
  return is_open(range) ? std::nullopt : std::optional(range);
}

void Intervals::visit(ExprId id) {
  const DType dtype = pool_->dtype(id);
  Range range;
  if (is_float(dtype)) {
    range.real = real(id);
  } else {
    try {
      range.whole = wrapped(whole(id), dtype);
    } catch (const Overflow&) {
      range.whole = range_of(dtype);
    }
  }
  known_.emplace(id.value, range);
}

ValueRange Intervals::whole(ExprId id) const {
  const Node& node = (*pool_)[id];
  if (const std::optional<int64_t> value = pool_->int_value(id)) return {*value, *value};
  if (node.op == Op::Axis) {
    const size_t k = pool_->axis_number(id);
    return k < extents_.size() ? ValueRange{0, std::max<int64_t>(extents_[k] - 1, 0)} : kAnything;
  }
  if (node.op == Op::Cast) return of_cast(id);
  if (node.dtype == DType::Bool || node.op == Op::Read) return range_of(node.dtype);
  const auto operand = [&](size_t k) { return known_.at(pool_->operand(id, k).value).whole; };
  if (node.op == Op::Neg && !is_open(operand(0)))
    return {checked_mul(operand(0).hi, -1), checked_mul(operand(0).lo, -1)};
  if (node.op == Op::Select)
    return {std::min(operand(1).lo, operand(2).lo), std::max(operand(1).hi, operand(2).hi)};
  if (node.operand_count == 2) return binary(node.op, operand(0), operand(1));
  return range_of(node.dtype);
}

ValueRange Intervals::of_cast(ExprId id) const {
  const ExprId from = pool_->operand(id, 0);
  const Range& operand = known_.at(from.value);
  if (!is_float(pool_->dtype(from))) return operand.whole;
  if (pool_->dtype(id) == DType::Bool) return {0, 1};
  const FloatRange& real = operand.real;
  if (real.lo > real.hi) return {0, 0};  // nothing but NaN
  ValueRange range{saturated(real.lo, pool_->dtype(id)), saturated(real.hi, pool_->dtype(id))};
  if (real.nan) range = {std::min<int64_t>(range.lo, 0), std::max<int64_t>(range.hi, 0)};
  return range;
}

Intervals::FloatRange Intervals::real(ExprId id) const {
  constexpr FloatRange kUnknown{-kInfinity, kInfinity, true};
  const Node& node = (*pool_)[id];
  if (!rounds_here(node.dtype)) return kUnknown;
  if (const std::optional<double> value = pool_->value(id))
    return std::isnan(*value) ? FloatRange{kInfinity, -kInfinity, true}
                              : FloatRange{*value, *value, false};
  const auto operand = [&](size_t k) { return known_.at(pool_->operand(id, k).value).real; };
  const auto mapped = [&](double (*f)(double)) {
    const FloatRange a = operand(0);
    return FloatRange{f(a.lo), f(a.hi), a.nan};
  };
  switch (node.op) {
    case Op::Floor: return mapped([](double x) { return std::floor(x); });
    case Op::Ceil: return mapped([](double x) { return std::ceil(x); });
    case Op::Trunc: return mapped([](double x) { return std::trunc(x); });
    case Op::Round: return mapped([](double x) { return std::nearbyint(x); });
    case Op::Neg: return {-operand(0).hi, -operand(0).lo, operand(0).nan};
    case Op::Min:
    case Op::Max: {
      const FloatRange a = operand(0), b = operand(1);
      const bool nan = a.nan || b.nan;
      return node.op == Op::Min ? FloatRange{std::min(a.lo, b.lo), std::min(a.hi, b.hi), nan}
                                : FloatRange{std::max(a.lo, b.lo), std::max(a.hi, b.hi), nan};
    }
    case Op::Cast: {
      const ExprId from = pool_->operand(id, 0);
      const Range& range = known_.at(from.value);
      const auto end = [&](double value) { return rounded(value, node.dtype); };
      if (is_float(pool_->dtype(from)))
        return {end(range.real.lo), end(range.real.hi), range.real.nan};
      return {end(static_cast<double>(range.whole.lo)), end(static_cast<double>(range.whole.hi)),
              false};
    }
    case Op::Select: {
      std::vector<Assumption> assumed;
      return select(id, assumed);
    }
    default: return kUnknown;
  }
}

// Both branches, each under what the comparison says there.
Intervals::FloatRange Intervals::select(ExprId id, std::vector<Assumption>& assumed) const {
  FloatRange all{kInfinity, -kInfinity, false};
  for (const bool holds : {true, false}) {
    const std::optional<Assumption> now = assumption(pool_->operand(id, 0), holds);
    if (now) assumed.push_back(*now);
    const FloatRange part = branch(pool_->operand(id, holds ? 1 : 2), assumed);
    if (now) assumed.pop_back();
    all = {std::min(all.lo, part.lo), std::max(all.hi, part.hi), all.nan || part.nan};
  }
  return all;
}

Intervals::FloatRange Intervals::branch(ExprId id, std::vector<Assumption>& assumed) const {
  if (pool_->is(id, Op::Select) && assumed.size() < kMostAssumptions) return select(id, assumed);
  if (pool_->is(id, Op::Cast) && is_float(pool_->dtype(pool_->operand(id, 0))) &&
      rounds_here(pool_->dtype(id))) {
    const FloatRange from = branch(pool_->operand(id, 0), assumed);
    return {rounded(from.lo, pool_->dtype(id)), rounded(from.hi, pool_->dtype(id)), from.nan};
  }
  FloatRange range = known_.at(id.value).real;
  for (const Assumption& a : assumed)
    if (a.subject == id)
      range = {std::max(range.lo, a.range.lo), std::min(range.hi, a.range.hi),
               range.nan && a.range.nan};
  return range;
}

// What a comparison of an expression with a number, or its failure, says of the expression. A
// comparison with NaN fails.
std::optional<Intervals::Assumption> Intervals::assumption(ExprId condition, bool holds) const {
  if (pool_->is(condition, Op::Not)) return assumption(pool_->operand(condition, 0), !holds);
  if (!pool_->is(condition, Op::Lt) && !pool_->is(condition, Op::Le)) return std::nullopt;
  const ExprId left = pool_->operand(condition, 0), right = pool_->operand(condition, 1);
  if (!is_float(pool_->dtype(left))) return std::nullopt;
  const std::optional<double> low = pool_->value(left), high = pool_->value(right);
  if (high && !std::isnan(*high))  // left < high
    return Assumption{
        left, holds ? FloatRange{-kInfinity, *high, false} : FloatRange{*high, kInfinity, true}};
  if (low && !std::isnan(*low))  // low < right
    return Assumption{
        right, holds ? FloatRange{*low, kInfinity, false} : FloatRange{-kInfinity, *low, true}};
  return std::nullopt;
}

std::optional<ValueRange> interval_of(const ExprPool& pool, ExprId expr,
                                      std::span<const int64_t> extents) {
  return Intervals(pool, extents).of(expr);
}

}  // namespace adjit::expr
