// runtime/graph/verify/index_cases.cpp -- index expressions and conditions as affine rows over a
// stage's variables.
#include "runtime/graph/verify/index_cases.hpp"

#include <algorithm>

namespace adjit::graph {
namespace {

using Case = IndexCases::Case;
using Conjunctions = IndexCases::Conjunctions;

constexpr size_t kMaxCases = 32;
// Pairs of conjunctions that are looked at one by one when there are too many to keep.
constexpr size_t kMaxPairs = 256;

void append(LinearSystem& to, const LinearSystem& rows) {
  to.inequalities.insert(to.inequalities.end(), rows.inequalities.begin(), rows.inequalities.end());
  to.equalities.insert(to.equalities.end(), rows.equalities.begin(), rows.equalities.end());
}

LinearSystem joined(LinearSystem a, const LinearSystem& b) {
  append(a, b);
  return a;
}

LinearSystem at_least_zero(Affine row) { return {{std::move(row)}, {}}; }

// Holds any sum of a few products of int64.
__extension__ typedef __int128 Wide;
constexpr Wide kLeast = INT64_MIN, kMost = INT64_MAX;
constexpr Wide kModulus = Wide{1} << 64;
// Rows of values that wrap say as much as an index may ask for, and leave room to compute with.
constexpr int64_t kFar = int64_t{1} << 62;

struct WideInterval {
  Wide low, high;
  bool fits() const { return low >= kLeast && high <= kMost; }
};

Wide sum_of(Wide a, Wide b) {
  Wide total = 0;
  if (__builtin_add_overflow(a, b, &total)) throw Overflow();
  return total;
}

int64_t bounded_below(Wide constant) {
  return static_cast<int64_t>(std::max<Wide>(constant, -kFar));
}

// Bounds of a form whose variables are int64, open ends those of int64.
WideInterval wide_range(const Affine& form, const std::vector<OpenInterval>& intervals) {
  WideInterval total{form.constant(), form.constant()};
  for (size_t k = 0; k < form.size(); ++k) {
    const Wide c = form.coefficient(k);
    if (c == 0) continue;
    const Wide at_low = c * intervals[k].low.value_or(INT64_MIN);
    const Wide at_high = c * intervals[k].high.value_or(INT64_MAX);
    total = {sum_of(total.low, std::min(at_low, at_high)),
             sum_of(total.high, std::max(at_low, at_high))};
  }
  return total;
}

Conjunctions either(const Conjunctions& a, const Conjunctions& b) {
  Conjunctions all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all.size() <= kMaxCases ? all : Conjunctions{{}};
}

OpenInterval product(const OpenInterval& a, const OpenInterval& b) {
  if (!a.low || !a.high || !b.low || !b.high) return {};
  const int64_t corners[] = {checked_mul(*a.low, *b.low), checked_mul(*a.low, *b.high),
                             checked_mul(*a.high, *b.low), checked_mul(*a.high, *b.high)};
  return {std::ranges::min(corners), std::ranges::max(corners)};
}

}  // namespace

Conjunctions both_hold(const Conjunctions& a, const Conjunctions& b) {
  const size_t pairs = a.size() * b.size();
  if (pairs > kMaxPairs) return a;
  Conjunctions all;
  for (const LinearSystem& left : a)
    for (const LinearSystem& right : b) {
      LinearSystem both = joined(left, right);
      if (pairs > kMaxCases && is_certainly_empty(both)) continue;
      if (all.size() == kMaxCases) return a;
      all.push_back(std::move(both));
    }
  return all;
}

IndexCases::IndexCases(const ExprPool& pool, const Domain& domain)
    : pool_(pool), bounds_(pool, domain.extents) {
  for (int64_t extent : domain.extents) add_variable({0, extent - 1});
  for (const Division& d : domain.divisions) {
    // Variables are numbered as in the domain, so that its rows hold as they stand.
    const OpenInterval n = range(d.numerator);
    const Affine q = add_variable({floor_div(*n.low, d.divisor), floor_div(*n.high, d.divisor)});
    const Affine rest = d.numerator - q * d.divisor;
    always_.inequalities.push_back(rest);
    always_.inequalities.push_back(Affine(d.divisor - 1) - rest);
    divisions_.emplace_back(d, q);
  }
  append(always_, {domain.inequalities, domain.equalities});
}

Affine IndexCases::add_variable(OpenInterval interval) {
  const Affine variable = Affine::variable(intervals_.size());
  intervals_.push_back(interval);
  if (interval.low) always_.inequalities.push_back(variable - Affine(*interval.low));
  if (interval.high) always_.inequalities.push_back(Affine(*interval.high) - variable);
  return variable;
}

OpenInterval IndexCases::range(const Affine& form) const {
  OpenInterval total{form.constant(), form.constant()};
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0) continue;
    const auto add = [&](std::optional<int64_t>& end, const std::optional<int64_t>& value) {
      if (end && value)
        end = checked_add(*end, checked_mul(c, *value));
      else
        end.reset();
    };
    add(total.low, c > 0 ? intervals_[k].low : intervals_[k].high);
    add(total.high, c > 0 ? intervals_[k].high : intervals_[k].low);
  }
  return total;
}

const std::vector<Case>& IndexCases::exact(ExprId id) {
  if (const auto known = exact_.find(id.value); known != exact_.end()) return known->second;
  std::vector<Case> found;
  try {
    found = split_where_it_wraps(id);
  } catch (const Overflow&) {
    found = opaque(id);
  }
  return exact_.emplace(id.value, std::move(found)).first->second;
}

std::vector<Case> IndexCases::split_where_it_wraps(ExprId id) {
  std::vector<Case> all;
  std::optional<Affine> value;
  for (const Case& c : congruent_.at(id.value)) {
    const WideInterval range = wide_range(c.value, intervals_);
    if (range.fits()) {
      all.push_back(c);
      continue;
    }
    // The value is a variable in all of them: what a condition says of it holds in each, and it is
    // not split again.
    if (!value) value = add_variable({});
    all.push_back({joined(c.rows, {{}, {c.value - *value}}), *value});
    if (range.high > kMost) {
      all.push_back({joined(c.rows, at_least_zero(c.value - Affine(kFar))), *value});
      if (const Wide highest = range.high - kModulus; highest <= kMost)
        append(all.back().rows, at_least_zero(Affine(bounded_below(highest)) - *value));
    }
    if (range.low < kLeast) {
      all.push_back({joined(c.rows, at_least_zero(-c.value - Affine(kFar))), *value});
      if (const Wide lowest = range.low + kModulus; lowest >= kLeast)
        append(all.back().rows, at_least_zero(*value + Affine(bounded_below(-lowest))));
    }
  }
  return all.size() <= kMaxCases ? all : opaque(id);
}

Affine IndexCases::floor_form(const Affine& numerator, int64_t divisor) {
  for (const auto& [division, variable] : divisions_)
    if (division.divisor == divisor && division.numerator == numerator) return variable;
  OpenInterval interval;
  if (wide_range(numerator, intervals_).fits()) interval = range(numerator);
  if (interval.low) interval.low = floor_div(*interval.low, divisor);
  if (interval.high) interval.high = floor_div(*interval.high, divisor);
  const Affine q = add_variable(interval);
  const Affine rest = numerator - q * divisor;
  always_.inequalities.push_back(rest);
  always_.inequalities.push_back(Affine(divisor - 1) - rest);
  divisions_.push_back({{numerator, divisor}, q});
  return q;
}

// Everything below the root first: no recursion however deep the expression is.
void IndexCases::prepare(ExprId root) {
  if (congruent_.contains(root.value) || conditions_[0].contains(root.value)) return;
  for (ExprId id : reachable(pool_, std::span(&root, 1))) {
    const DType dtype = pool_.dtype(id);
    try {
      if (dtype == DType::Int64 && !congruent_.contains(id.value))
        congruent_.emplace(id.value, convert(id));
    } catch (const Overflow&) {
      congruent_.emplace(id.value, opaque(id));
    }
    if (dtype != DType::Bool || conditions_[0].contains(id.value)) continue;
    for (const bool holds : {false, true}) {
      try {
        conditions_[holds].emplace(id.value, convert_condition(id, holds));
      } catch (const Overflow&) {
        conditions_[holds].emplace(id.value, Conjunctions{{}});
      }
    }
  }
}

const std::vector<Case>& IndexCases::cases(ExprId expr) {
  prepare(expr);
  return exact(expr);
}

const Conjunctions& IndexCases::conditions(ExprId condition, bool holds) {
  prepare(condition);
  return conditions_[holds].at(condition.value);
}

// A variable with the range of the expression.
std::vector<Case> IndexCases::opaque(ExprId id) {
  const std::optional<ValueRange> range = bounds_.of(id);
  return {{{}, add_variable(range ? OpenInterval{range->lo, range->hi} : OpenInterval{})}};
}

// Congruent to the expression modulo 2^64.
std::vector<Case> IndexCases::convert(ExprId id) {
  const Node& node = pool_[id];
  switch (node.op) {
    case Op::Constant: return {{{}, Affine(*pool_.int_value(id))}};
    case Op::Axis: return {{{}, Affine::variable(pool_.axis_number(id))}};
    case Op::Select: return select(id);
    case Op::Neg: {
      std::vector<Case> all = congruent_.at(pool_.operand(id, 0).value);
      for (Case& c : all) c.value = -c.value;
      return all;
    }
    case Op::Abs: return absolute(id);
    case Op::Add:
    case Op::Sub: return sum(id);
    case Op::Mul: return product_of(id);
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Min:
    case Op::Max: return binary(id);
    default: return opaque(id);
  }
}

std::vector<Case> IndexCases::absolute(ExprId id) {
  std::vector<Case> all;
  for (const Case& c : exact(pool_.operand(id, 0)))
    for (const Case& half : split(c.value, -c.value, true))
      all.push_back({joined(c.rows, half.rows), half.value});
  return all.size() <= kMaxCases ? all : opaque(id);
}

std::vector<Case> IndexCases::sum(ExprId id) {
  const bool add = pool_.is(id, Op::Add);
  std::vector<Case> all;
  for (const Case& l : congruent_.at(pool_.operand(id, 0).value))
    for (const Case& r : congruent_.at(pool_.operand(id, 1).value)) {
      all.push_back({joined(l.rows, r.rows), add ? l.value + r.value : l.value - r.value});
      if (all.size() > kMaxCases) return opaque(id);
    }
  return all;
}

std::vector<Case> IndexCases::product_of(ExprId id) {
  const ExprId a = pool_.operand(id, 0), b = pool_.operand(id, 1);
  for (const auto& [number, factor] : {std::pair(a, b), std::pair(b, a)}) {
    const std::vector<Case>& scale = congruent_.at(number.value);
    if (scale.size() > 1 || !scale[0].value.is_constant()) continue;
    std::vector<Case> all = congruent_.at(factor.value);
    for (Case& c : all) c.value = c.value * scale[0].value.constant();
    return all;
  }
  std::vector<Case> all;
  const std::vector<Case> left = exact(a), right = exact(b);
  for (const Case& l : left)
    for (const Case& r : right) {
      const Affine value = add_variable(product(range(l.value), range(r.value)));
      all.push_back({joined(l.rows, r.rows), value});
      if (all.size() > kMaxCases) return opaque(id);
    }
  return all;
}

std::vector<Case> IndexCases::split(const Affine& a, const Affine& b, bool larger) const {
  const Affine difference = a - b;
  const Affine& if_a_is_larger = larger ? a : b;
  const Affine& otherwise = larger ? b : a;
  return {{at_least_zero(difference), if_a_is_larger},
          {at_least_zero(-difference + Affine(-1)), otherwise}};
}

// Of operands as numbers.
std::vector<Case> IndexCases::binary(ExprId id) {
  const Op op = pool_[id].op;
  const std::vector<Case> left = exact(pool_.operand(id, 0));
  const std::vector<Case> right = exact(pool_.operand(id, 1));
  std::vector<Case> all;
  for (const Case& l : left)
    for (const Case& r : right) {
      const Affine &a = l.value, &b = r.value;
      std::vector<Case> results;
      if (op == Op::Min || op == Op::Max) {
        results = split(a, b, op == Op::Max);
      } else if (b.is_constant() && b.constant() > 0) {
        const Affine q = floor_form(a, b.constant());
        results.push_back({{}, op == Op::FloorDiv ? q : a - q * b.constant()});
      } else {
        results = opaque(id);
      }
      for (Case& c : results)
        all.push_back({joined(joined(l.rows, r.rows), c.rows), std::move(c.value)});
      if (all.size() > kMaxCases) return opaque(id);
    }
  return all;
}

std::vector<Case> IndexCases::select(ExprId id) {
  const uint32_t condition = pool_.operand(id, 0).value;
  std::vector<Case> all;
  for (const bool holds : {true, false})
    for (const Case& c : congruent_.at(pool_.operand(id, holds ? 1 : 2).value))
      for (const LinearSystem& rows : conditions_[holds].at(condition))
        all.push_back({joined(c.rows, rows), c.value});
  return all.size() <= kMaxCases ? all : opaque(id);
}

Conjunctions IndexCases::convert_condition(ExprId id, bool holds) {
  const Node& node = pool_[id];
  const auto operand = [&](size_t k, bool value) -> const Conjunctions& {
    return conditions_[value].at(pool_.operand(id, k).value);
  };
  switch (node.op) {
    case Op::Constant:
      if ((node.payload != 0) == holds) return {{}};
      return {at_least_zero(Affine(-1))};  // never
    case Op::Not: return operand(0, !holds);
    case Op::And:
    case Op::Or:
      if ((node.op == Op::And) == holds) return both_hold(operand(0, holds), operand(1, holds));
      return either(operand(0, holds), operand(1, holds));
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
      if (pool_.dtype(pool_.operand(id, 0)) == DType::Int64) return comparison(id, holds);
      return {{}};
    default: return {{}};
  }
}

Conjunctions IndexCases::comparison(ExprId id, bool holds) {
  const Op op = pool_[id].op;
  Conjunctions all;
  const std::vector<Case> left = exact(pool_.operand(id, 0));
  const std::vector<Case> right = exact(pool_.operand(id, 1));
  for (const Case& a : left)
    for (const Case& b : right) {
      const LinearSystem rows = joined(a.rows, b.rows);
      const Affine less = b.value - a.value;  // a < b: less >= 1
      const auto add = [&](const LinearSystem& extra) { all.push_back(joined(rows, extra)); };
      if (op == Op::Lt) add(at_least_zero(holds ? less + Affine(-1) : -less));
      if (op == Op::Le) add(at_least_zero(holds ? less : -less + Affine(-1)));
      if (op != Op::Eq && op != Op::Ne) continue;
      if ((op == Op::Eq) == holds) {
        add({{}, {less}});
      } else {
        add(at_least_zero(less + Affine(-1)));
        add(at_least_zero(-less + Affine(-1)));
      }
    }
  return all.size() <= kMaxCases ? all : Conjunctions{{}};
}

}  // namespace adjit::graph
