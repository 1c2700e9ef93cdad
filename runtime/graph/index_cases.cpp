// runtime/graph/index_cases.cpp -- index expressions and conditions as affine rows over a stage's
// variables.
#include "runtime/graph/index_cases.hpp"

#include <algorithm>

namespace adjit {
namespace {

using Case = IndexCases::Case;
using Conjunctions = IndexCases::Conjunctions;

constexpr size_t kMaxCases = 32;

void append(LinearSystem& to, const LinearSystem& rows) {
  to.inequalities.insert(to.inequalities.end(), rows.inequalities.begin(), rows.inequalities.end());
  to.equalities.insert(to.equalities.end(), rows.equalities.begin(), rows.equalities.end());
}

LinearSystem joined(LinearSystem a, const LinearSystem& b) {
  append(a, b);
  return a;
}

LinearSystem at_least_zero(Affine row) { return {{std::move(row)}, {}}; }

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
  if (a.size() * b.size() > kMaxCases) return a;
  Conjunctions all;
  for (const LinearSystem& left : a)
    for (const LinearSystem& right : b) all.push_back(joined(left, right));
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

// Where a form may leave 64 bits over the box, code wraps around, and the form is not its value.
Affine IndexCases::exact(Affine form) const {
  range(form);
  return form;
}

Affine IndexCases::floor_form(const Affine& numerator, int64_t divisor) {
  for (const auto& [division, variable] : divisions_)
    if (division.divisor == divisor && division.numerator == numerator) return variable;
  OpenInterval interval = range(numerator);
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
  if (cases_.contains(root.value) || conditions_[0].contains(root.value)) return;
  for (ExprId id : reachable(pool_, std::span(&root, 1))) {
    const DType dtype = pool_.dtype(id);
    try {
      if (dtype == DType::Int64 && !cases_.contains(id.value))
        cases_.emplace(id.value, convert(id));
    } catch (const Overflow&) {
      cases_.emplace(id.value, opaque(id, {}));
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
  return cases_.at(expr.value);
}

const Conjunctions& IndexCases::conditions(ExprId condition, bool holds) {
  prepare(condition);
  return conditions_[holds].at(condition.value);
}

std::vector<Case> IndexCases::opaque(ExprId, OpenInterval interval) {
  return {{{}, add_variable(interval)}};
}

std::vector<Case> IndexCases::convert(ExprId id) {
  const Node& node = pool_[id];
  switch (node.op) {
    case Op::Constant: return {{{}, Affine(*pool_.int_value(id))}};
    case Op::Axis: return {{{}, Affine::variable(pool_.axis_number(id))}};
    case Op::Cast: {
      const std::optional<ValueRange> range = bounds_.of(id);
      return opaque(id, range ? OpenInterval{range->lo, range->hi} : OpenInterval{});
    }
    case Op::Select: return select(id);
    case Op::Neg: {
      std::vector<Case> all = cases_.at(pool_.operand(id, 0).value);
      for (Case& c : all) c.value = -c.value;
      return all;
    }
    case Op::Abs: {
      std::vector<Case> all;
      for (const Case& c : cases_.at(pool_.operand(id, 0).value))
        for (const Case& half : split(c.value, -c.value, true))
          all.push_back({joined(c.rows, half.rows), half.value});
      return all.size() <= kMaxCases ? all : opaque(id, {});
    }
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Min:
    case Op::Max: return binary(id);
    default: return opaque(id, {});
  }
}

std::vector<Case> IndexCases::split(const Affine& a, const Affine& b, bool larger) const {
  const Affine difference = a - b;
  const Affine& if_a_is_larger = larger ? a : b;
  const Affine& otherwise = larger ? b : a;
  return {{at_least_zero(difference), if_a_is_larger},
          {at_least_zero(-difference + Affine(-1)), otherwise}};
}

std::vector<Case> IndexCases::binary(ExprId id) {
  const Op op = pool_[id].op;
  const std::vector<Case> left = cases_.at(pool_.operand(id, 0).value);
  const std::vector<Case> right = cases_.at(pool_.operand(id, 1).value);
  std::vector<Case> all;
  for (const Case& l : left)
    for (const Case& r : right) {
      const Affine &a = l.value, &b = r.value;
      std::vector<Case> results;
      if (op == Op::Add || op == Op::Sub) {
        results.push_back({{}, exact(op == Op::Add ? a + b : a - b)});
      } else if (op == Op::Min || op == Op::Max) {
        results = split(a, b, op == Op::Max);
      } else if (op == Op::Mul && (a.is_constant() || b.is_constant())) {
        results.push_back({{}, exact(a.is_constant() ? b * a.constant() : a * b.constant())});
      } else if (op == Op::Mul) {
        results = opaque(id, product(range(a), range(b)));
      } else if (b.is_constant() && b.constant() > 0) {
        const Affine q = floor_form(a, b.constant());
        results.push_back({{}, op == Op::FloorDiv ? q : a - q * b.constant()});
      } else {
        results = opaque(id, {});
      }
      for (Case& c : results)
        all.push_back({joined(joined(l.rows, r.rows), c.rows), std::move(c.value)});
      if (all.size() > kMaxCases) return opaque(id, {});
    }
  return all;
}

std::vector<Case> IndexCases::select(ExprId id) {
  const uint32_t condition = pool_.operand(id, 0).value;
  std::vector<Case> all;
  for (const bool holds : {true, false})
    for (const Case& c : cases_.at(pool_.operand(id, holds ? 1 : 2).value))
      for (const LinearSystem& rows : conditions_[holds].at(condition))
        all.push_back({joined(c.rows, rows), c.value});
  return all.size() <= kMaxCases ? all : opaque(id, {});
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
  for (const Case& a : cases_.at(pool_.operand(id, 0).value))
    for (const Case& b : cases_.at(pool_.operand(id, 1).value)) {
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

}  // namespace adjit
