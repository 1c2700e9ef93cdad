// runtime/graph/verify/index_cases.cpp -- index expressions and conditions as affine rows over a
// stage's variables.
#include "runtime/graph/verify/index_cases.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace adjit::graph {
namespace {

using Case = IndexCases::Case;
using Conjunctions = IndexCases::Conjunctions;

constexpr size_t kMaxCases = 32;
// Pairs of conjunctions that are looked at one by one when there are too many to keep.
constexpr size_t kMaxPairs = 256;

LinearSystem joined(LinearSystem a, const LinearSystem& b) {
  append(a, b);
  return a;
}

LinearSystem at_least_zero(Affine row) { return {{std::move(row)}, {}}; }

constexpr WideInteger kModulus = WideInteger{1} << 64;
// Rows of values that wrap say as much as an index may ask for, and leave room to compute with.
constexpr int64_t kFar = int64_t{1} << 62;

int64_t bounded_below(WideInteger constant) {
  return static_cast<int64_t>(std::max<WideInteger>(constant, -kFar));
}

Conjunctions either(const Conjunctions& a, const Conjunctions& b) {
  Conjunctions all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all.size() <= kMaxCases ? all : Conjunctions{{}};
}

OpenInterval product_range(const OpenInterval& a, const OpenInterval& b) {
  if (!a.low || !a.high || !b.low || !b.high) return {};
  const int64_t corners[] = {checked_mul(*a.low, *b.low), checked_mul(*a.low, *b.high),
                             checked_mul(*a.high, *b.low), checked_mul(*a.high, *b.high)};
  return {std::ranges::min(corners), std::ranges::max(corners)};
}

// The larger or the smaller of two values.
std::vector<Case> larger_or_smaller(const Affine& a, const Affine& b, bool larger) {
  const Affine difference = a - b;
  const Affine& if_a_is_larger = larger ? a : b;
  const Affine& otherwise = larger ? b : a;
  return {{at_least_zero(difference), if_a_is_larger},
          {at_least_zero(-difference + Affine(-1)), otherwise}};
}

// Nothing where these would be too many; so for the functions below.
std::optional<std::vector<Case>> absolute(const std::vector<Case>& numbers) {
  std::vector<Case> all;
  for (const Case& c : numbers)
    for (const Case& half : larger_or_smaller(c.value, -c.value, true))
      all.push_back({joined(c.rows, half.rows), half.value});
  if (all.size() > kMaxCases) return std::nullopt;
  return all;
}

std::vector<Case> negative(std::vector<Case> all) {
  for (Case& c : all) c.value = -c.value;
  return all;
}

std::optional<std::vector<Case>> sum(const std::vector<Case>& left, const std::vector<Case>& right,
                                     bool add) {
  std::vector<Case> all;
  for (const Case& l : left)
    for (const Case& r : right) {
      all.push_back({joined(l.rows, r.rows), add ? l.value + r.value : l.value - r.value});
      if (all.size() > kMaxCases) return std::nullopt;
    }
  return all;
}

// Nothing where `scale` is no constant.
std::optional<std::vector<Case>> scaled(const std::vector<Case>& scale,
                                        const std::vector<Case>& cases) {
  if (scale.size() > 1 || !scale[0].value.is_constant()) return std::nullopt;
  std::vector<Case> all = cases;
  for (Case& c : all) c.value = c.value * scale[0].value.constant();
  return all;
}

void append_where(std::vector<Case>& all, const Conjunctions& condition,
                  const std::vector<Case>& cases) {
  for (const Case& c : cases)
    for (const LinearSystem& rows : condition) all.push_back({joined(c.rows, rows), c.value});
}

Conjunctions comparison(Op op, const std::vector<Case>& left, const std::vector<Case>& right,
                        bool holds) {
  Conjunctions all;
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
    : pool_(pool), bounds_(pool, domain.extents), variables_(variables_of(domain)) {}

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
  for (const Case& c : congruent(id)) {
    const WideInterval range = wide_range_of(variables_, c.value);
    if (range.fits()) {
      all.push_back(c);
      continue;
    }
    // The value is a variable in all of them: what a condition says of it holds in each, and it is
    // not split again.
    if (!value) value = add_variable(variables_, {});
    all.push_back({joined(c.rows, {{}, {c.value - *value}}), *value});
    if (range.high > INT64_MAX) {
      all.push_back({joined(c.rows, at_least_zero(c.value - Affine(kFar))), *value});
      if (const WideInteger highest = range.high - kModulus; highest <= INT64_MAX)
        append(all.back().rows, at_least_zero(Affine(bounded_below(highest)) - *value));
    }
    if (range.low < INT64_MIN) {
      all.push_back({joined(c.rows, at_least_zero(-c.value - Affine(kFar))), *value});
      if (const WideInteger lowest = range.low + kModulus; lowest >= INT64_MIN)
        append(all.back().rows, at_least_zero(*value + Affine(bounded_below(-lowest))));
    }
  }
  return all.size() <= kMaxCases ? all : opaque(id);
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
  const OpenInterval interval = range ? OpenInterval{range->lo, range->hi} : OpenInterval{};
  return {{{}, add_variable(variables_, interval)}};
}

// Congruent to the expression modulo 2^64.
std::vector<Case> IndexCases::convert(ExprId id) {
  const Node& node = pool_[id];
  const auto operand = [&](size_t k) { return pool_.operand(id, k); };
  const auto or_opaque = [&](std::optional<std::vector<Case>> cases) {
    return cases ? *std::move(cases) : opaque(id);
  };
  switch (node.op) {
    case Op::Constant: return {{{}, Affine(*pool_.int_value(id))}};
    case Op::Axis: return {{{}, Affine::variable(pool_.axis_number(id))}};
    case Op::Select: {
      std::vector<Case> all;
      append_where(all, conditions_[true].at(operand(0).value), congruent(operand(1)));
      append_where(all, conditions_[false].at(operand(0).value), congruent(operand(2)));
      return all.size() <= kMaxCases ? all : opaque(id);
    }
    case Op::Neg: return negative(congruent(operand(0)));
    case Op::Abs: return or_opaque(absolute(exact(operand(0))));
    case Op::Add:
    case Op::Sub:
      return or_opaque(sum(congruent(operand(0)), congruent(operand(1)), node.op == Op::Add));
    case Op::Mul: return product(id);
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Min:
    case Op::Max: return of_numbers(id);
    default: return opaque(id);
  }
}

std::vector<Case> IndexCases::product(ExprId id) {
  const ExprId a = pool_.operand(id, 0), b = pool_.operand(id, 1);
  if (auto all = scaled(congruent(a), congruent(b))) return *std::move(all);
  if (auto all = scaled(congruent(b), congruent(a))) return *std::move(all);
  std::vector<Case> all;
  const std::vector<Case> left = exact(a), right = exact(b);
  for (const Case& l : left)
    for (const Case& r : right) {
      const OpenInterval range =
          product_range(range_of(variables_, l.value), range_of(variables_, r.value));
      all.push_back({joined(l.rows, r.rows), add_variable(variables_, range)});
      if (all.size() > kMaxCases) return opaque(id);
    }
  return all;
}

// A minimum, a maximum or a division: of operands as numbers, not modulo 2^64.
std::vector<Case> IndexCases::of_numbers(ExprId id) {
  const Op op = pool_[id].op;
  const std::vector<Case> left = exact(pool_.operand(id, 0));
  const std::vector<Case> right = exact(pool_.operand(id, 1));
  std::vector<Case> all;
  for (const Case& l : left)
    for (const Case& r : right) {
      const Affine &a = l.value, &b = r.value;
      std::vector<Case> results;
      if (op == Op::Min || op == Op::Max) {
        results = larger_or_smaller(a, b, op == Op::Max);
      } else if (b.is_constant() && b.constant() > 0) {
        const Affine q = floor_of(variables_, a, b.constant());
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
    case Op::Ne: {
      const ExprId a = pool_.operand(id, 0), b = pool_.operand(id, 1);
      if (pool_.dtype(a) != DType::Int64) return {{}};
      const std::vector<Case> left = exact(a), right = exact(b);
      return comparison(node.op, left, right, holds);
    }
    default: return {{}};
  }
}

}  // namespace adjit::graph
