// runtime/diff/conditions/point_savings.cpp -- points counted, rows proven.
#include "runtime/diff/conditions/point_savings.hpp"

#include <algorithm>

#include "runtime/diff/conditions/guards.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/domain/count.hpp"

namespace adjit::diff {

bool saves_points(const Domain& domain, const Domain& restricted) {
  constexpr double kWorthIt = 0.75;
  constexpr int64_t kBudget = 10'000;
  const std::optional<int64_t> all = count_points(domain, kBudget);
  const std::optional<int64_t> some = count_points(restricted, kBudget);
  return all && some && *all > 0 &&
         static_cast<double>(*some) <= kWorthIt * static_cast<double>(*all);
}

bool always_has_terms(const Domain& domain) {
  std::vector<size_t> bounded;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a) {
    if (domain.extents[a] == 0) return false;
    if (domain.is_bounded(a)) bounded.push_back(a);
  }
  if (bounded.empty()) return domain.is_box();
  if (bounded.size() > 1 || !domain.equalities.empty() || !domain.divisions.empty()) return false;
  const size_t axis = bounded[0];
  // Of the values of the axis one must do: its ends, where a row becomes 0, and the middle of a
  // band around that.
  std::vector<Affine> values{Affine(0), Affine(domain.extents[axis] - 1)};
  for (const Affine& row : domain.inequalities) {
    const int64_t scale = row.coefficient(axis);
    if (scale != 1 && scale != -1) continue;
    Affine rest = row;
    rest.set_coefficient(axis, 0);
    values.push_back(rest * -scale);
    values.push_back((rest - Affine(rest.constant())) * -scale);
  }
  Domain outputs = domain;
  outputs.inequalities.clear();
  const auto does = [&](const Affine& value) {
    std::vector<Affine> axes;
    for (size_t a = 0; a < domain.rank(); ++a) axes.push_back(Affine::variable(a));
    axes[axis] = value;
    return implies(outputs, value) && implies(outputs, Affine(domain.extents[axis] - 1) - value) &&
           std::ranges::all_of(domain.inequalities, [&](const Affine& row) {
             return implies(outputs, substitute(row, axes));
           });
  };
  try {
    return std::ranges::any_of(values, does);
  } catch (const Overflow&) {
    return false;  // not proven
  }
}

bool reads_at_data(const ExprPool& pool, const Stage& stage) {
  return std::ranges::any_of(reachable(pool, stage.bodies), [&](ExprId id) {
    return pool.is(id, Op::Read) && contains_read(pool, pool.read_index(id));
  });
}

namespace {

Decided decided_below(int depth, ExprPool& pool, ExprId condition, const Domain& domain) {
  constexpr int kDeepest = 6;  // of conditions one of which must hold
  if (pool.is(condition, Op::Or) && depth < kDeepest) {
    const Decided a = decided_below(depth + 1, pool, pool.operand(condition, 0), domain);
    const Decided b = decided_below(depth + 1, pool, pool.operand(condition, 1), domain);
    if (a == Decided::True || b == Decided::True) return Decided::True;
    if (a == b) return a;
  }
  Domain restricted = domain;
  const Restriction restriction = restrict_by(pool, condition, restricted);
  if (restriction.empty || provably_empty(restricted)) return Decided::False;
  const bool as_before = restricted.inequalities.size() == domain.inequalities.size() &&
                         restricted.equalities.size() == domain.equalities.size();
  return as_before && !restriction.rest.valid() ? Decided::True : Decided::Open;
}

}  // namespace

Decided decided(ExprPool& pool, ExprId condition, const Domain& domain) {
  return decided_below(0, pool, condition, domain);
}

}  // namespace adjit::diff
