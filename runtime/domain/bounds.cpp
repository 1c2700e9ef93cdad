// runtime/domain/bounds.cpp -- intervals and proofs over a domain.
#include "runtime/domain/bounds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/domain/inequalities.hpp"

namespace adjit::domain {

Interval interval(const Affine& form, std::span<const Interval> variables) {
  Interval result{form.constant(), form.constant()};
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0) continue;
    const Interval& v = variables[k];
    result.lo = checked_add(result.lo, checked_mul(c, c > 0 ? v.lo : v.hi));
    result.hi = checked_add(result.hi, checked_mul(c, c > 0 ? v.hi : v.lo));
  }
  return result;
}

namespace {

bool has_empty_axis(const Domain& domain) {
  return std::any_of(domain.extents.begin(), domain.extents.end(),
                     [](int64_t extent) { return extent <= 0; });
}

std::vector<Interval> variable_intervals(const Domain& domain) {
  std::vector<Interval> variables;
  for (int64_t extent : domain.extents) variables.push_back({0, extent - 1});
  for (const Division& division : domain.divisions) {
    const Interval numerator = interval(division.numerator, variables);
    variables.push_back(
        {floor_div(numerator.lo, division.divisor), floor_div(numerator.hi, division.divisor)});
  }
  return variables;
}

/// How hard a row is to read: its variables, then the size of their coefficients.
std::pair<size_t, int64_t> complexity(const Affine& row) {
  size_t variables = 0;
  int64_t size = 0;
  for (int64_t c : row.coefficients()) {
    variables += c != 0;
    size = std::max(size, std::abs(c));
  }
  return {variables, size};
}

/// Drops the rows of `domain` that follow from the rest; `rows` is one of its lists. One at a time,
/// so that of two rows that imply each other one stays, and the hardest to read first, so that the
/// simple one does.
template <class Follows>
void drop_implied(Domain& domain, std::vector<Affine>& rows, const Follows& follows) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return complexity(rows[a]) > complexity(rows[b]); });
  std::vector<char> dropped(rows.size(), 0);
  for (size_t k : order) {
    const Affine row = std::exchange(rows[k], Affine());  // 0 >= 0 and 0 == 0 say nothing
    if (follows(domain, row)) {
      dropped[k] = 1;
    } else {
      rows[k] = row;
    }
  }
  size_t k = 0;
  std::erase_if(rows, [&](const Affine&) { return dropped[k++] != 0; });
}

}  // namespace

std::optional<Interval> box_interval(const Domain& domain, const Affine& form) {
  if (has_empty_axis(domain)) return Interval{};
  try {
    return interval(form, variable_intervals(domain));
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

std::optional<Interval> interval(const Domain& domain, const Affine& form) {
  const std::optional<Interval> box = box_interval(domain, form);
  if (!box || box->empty()) return box;
  if (domain.is_box() && domain.divisions.empty()) return box;
  try {
    return narrowed_interval(domain_rows(domain), form, *box);
  } catch (const Overflow&) {
    return box;
  }
}

bool implies(const Domain& domain, const Affine& row) {
  const std::optional<Interval> box = box_interval(domain, row);
  if (box && (box->empty() || box->lo >= 0)) return true;
  try {
    return implied(domain_rows(domain), to_row(row, domain.variable_count()));
  } catch (const Overflow&) {
    return false;
  }
}

bool implies_zero(const Domain& domain, const Affine& row) {
  try {
    return implies(domain, row) && implies(domain, -row);
  } catch (const Overflow&) {
    return false;
  }
}

bool provably_empty(const Domain& domain) {
  if (has_empty_axis(domain)) return true;
  if (domain.is_box()) return false;
  try {
    return contradictory(domain_rows(domain));
  } catch (const Overflow&) {
    return false;
  }
}

Domain tighten(Domain domain) {
  drop_implied(domain, domain.equalities, implies_zero);
  drop_implied(domain, domain.inequalities, implies);
  return domain;
}

}  // namespace adjit::domain
