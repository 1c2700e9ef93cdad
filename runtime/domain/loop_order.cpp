// runtime/domain/loop_order.cpp -- which rows an axis takes part in, and the order of reduction
// axes.
#include <algorithm>
#include <numeric>

#include "runtime/domain/inequalities.hpp"
#include "runtime/domain/loops.hpp"

namespace adjit::domain {

namespace {

/// Permutations tried: past 4 coupled axes the natural order stays.
constexpr size_t kPermutedAxes = 3;
/// Rows up to which orders are compared by their actual bounds.
constexpr size_t kFewRows = 6;

/// Inexact eliminations of loop_bounds, without its redundancy proofs: cheap enough to compare
/// orders.
int64_t inexact_eliminations(const Domain& domain, std::span<const size_t> order) {
  Rows rows = domain_rows(domain);
  if (!simplify(rows)) return 0;
  std::vector<char> eliminated(domain.divisions.size(), 0);
  int64_t inexact = 0;
  for (size_t k = order.size(); k-- > 0;) {
    std::vector<size_t> divisions;
    for (size_t q = 0; q < domain.divisions.size(); ++q) {
      const size_t variable = domain.rank() + q;
      if (eliminated[q] != 0 || !uses_axis(domain, Affine::variable(variable), order[k])) continue;
      eliminated[q] = 1;
      divisions.push_back(variable);
    }
    for (const std::vector<size_t>& columns : {divisions, {order[k]}}) {
      const Elimination result = eliminate_all(rows, columns);
      if (result == Elimination::Contradiction) return inexact;
      if (result == Elimination::OverBudget) return INT64_MAX;
      inexact += result == Elimination::Inexact;
    }
  }
  return inexact;
}

}  // namespace

bool uses_axis(const Domain& domain, const Affine& form, size_t axis) {
  std::vector<char> uses(domain.variable_count(), 0);
  uses[axis] = 1;
  const auto touched = [&](const Affine& f) {
    for (size_t k = 0; k < f.size(); ++k)
      if (f.coefficient(k) != 0 && uses[k] != 0) return true;
    return false;
  };
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    uses[domain.rank() + q] = touched(domain.divisions[q].numerator);
  return touched(form);
}

AxisRows rows_using(const Domain& domain, size_t axis) {
  AxisRows rows;
  for (const Affine& row : domain.inequalities)
    if (uses_axis(domain, row, axis)) rows.inequalities.push_back(row);
  for (const Affine& row : domain.equalities)
    if (uses_axis(domain, row, axis)) rows.equalities.push_back(row);
  return rows;
}

std::vector<size_t> loop_order(const Domain& domain) {
  std::vector<size_t> order(domain.rank());
  std::iota(order.begin(), order.end(), size_t{0});
  // Only axes with rows can waste an iteration; the others keep their place.
  std::vector<size_t> places;
  for (size_t axis = domain.output_rank; axis < domain.rank(); ++axis) {
    const AxisRows rows = rows_using(domain, axis);
    if (!rows.inequalities.empty() || !rows.equalities.empty()) places.push_back(axis);
  }
  if (places.size() < 2 || places.size() > kPermutedAxes) return order;
  const auto inexact = [&](std::span<const size_t> candidate) {
    const std::span<const size_t> reductions = candidate.subspan(domain.output_rank);
    return domain.inequalities.size() <= kFewRows ? loop_bounds(domain, reductions).inexact
                                                  : inexact_eliminations(domain, reductions);
  };
  std::vector<size_t> best = order, axes = places;
  int64_t fewest = inexact(order);
  while (fewest > 0 && std::next_permutation(axes.begin(), axes.end())) {
    std::vector<size_t> candidate = order;
    for (size_t k = 0; k < places.size(); ++k) candidate[places[k]] = axes[k];
    const int64_t count = inexact(candidate);
    if (count >= fewest) continue;
    fewest = count;
    best = std::move(candidate);
  }
  return best;
}

}  // namespace adjit::domain
