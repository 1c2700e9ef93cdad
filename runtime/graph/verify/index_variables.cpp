// runtime/graph/verify/index_variables.cpp -- the variables that rows over a stage are written in,
// and the ranges of these.
#include "runtime/graph/verify/index_variables.hpp"

#include <algorithm>

namespace adjit::graph {
namespace {

WideInteger sum_of(WideInteger a, WideInteger b) {
  WideInteger total = 0;
  if (__builtin_add_overflow(a, b, &total)) throw Overflow();
  return total;
}

// 0 <= numerator - quotient * divisor < divisor.
void define_quotient(LinearSystem& rows, const Affine& numerator, const Affine& quotient,
                     int64_t divisor) {
  const Affine rest = numerator - quotient * divisor;
  rows.inequalities.push_back(rest);
  rows.inequalities.push_back(Affine(divisor - 1) - rest);
}

}  // namespace

void append(LinearSystem& to, const LinearSystem& rows) {
  to.inequalities.insert(to.inequalities.end(), rows.inequalities.begin(), rows.inequalities.end());
  to.equalities.insert(to.equalities.end(), rows.equalities.begin(), rows.equalities.end());
}

IndexVariables variables_of(const Domain& domain) {
  IndexVariables all;
  for (int64_t extent : domain.extents) add_variable(all, {0, extent - 1});
  for (const Division& d : domain.divisions) {
    const OpenInterval n = range_of(all, d.numerator);
    const Affine q =
        add_variable(all, {floor_div(*n.low, d.divisor), floor_div(*n.high, d.divisor)});
    define_quotient(all.always, d.numerator, q, d.divisor);
    all.divisions.emplace_back(d, q);
  }
  append(all.always, {domain.inequalities, domain.equalities});
  return all;
}

Affine add_variable(IndexVariables& variables, OpenInterval interval) {
  const Affine variable = Affine::variable(variables.intervals.size());
  variables.intervals.push_back(interval);
  LinearSystem& always = variables.always;
  if (interval.low) always.inequalities.push_back(variable - Affine(*interval.low));
  if (interval.high) always.inequalities.push_back(Affine(*interval.high) - variable);
  return variable;
}

Affine floor_of(IndexVariables& variables, const Affine& numerator, int64_t divisor) {
  for (const auto& [division, variable] : variables.divisions)
    if (division.divisor == divisor && division.numerator == numerator) return variable;
  OpenInterval interval;
  if (wide_range_of(variables, numerator).fits()) interval = range_of(variables, numerator);
  if (interval.low) interval.low = floor_div(*interval.low, divisor);
  if (interval.high) interval.high = floor_div(*interval.high, divisor);
  const Affine q = add_variable(variables, interval);
  define_quotient(variables.always, numerator, q, divisor);
  variables.divisions.push_back({{numerator, divisor}, q});
  return q;
}

OpenInterval range_of(const IndexVariables& variables, const Affine& form) {
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
    const OpenInterval& of = variables.intervals[k];
    add(total.low, c > 0 ? of.low : of.high);
    add(total.high, c > 0 ? of.high : of.low);
  }
  return total;
}

WideInterval wide_range_of(const IndexVariables& variables, const Affine& form) {
  WideInterval total{form.constant(), form.constant()};
  for (size_t k = 0; k < form.size(); ++k) {
    const WideInteger c = form.coefficient(k);
    if (c == 0) continue;
    const WideInteger at_low = c * variables.intervals[k].low.value_or(INT64_MIN);
    const WideInteger at_high = c * variables.intervals[k].high.value_or(INT64_MAX);
    total = {sum_of(total.low, std::min(at_low, at_high)),
             sum_of(total.high, std::max(at_low, at_high))};
  }
  return total;
}

}  // namespace adjit::graph
