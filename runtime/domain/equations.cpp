// runtime/domain/equations.cpp -- unit pivots, divisibility guards and Hermite column steps (DESIGN
// 4, step 2).
#include "runtime/domain/equations.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace adjit::domain {

namespace {

enum class Outcome { Pending, Done, NoSolution };

/// row: a condition on parameters alone.
Outcome add_guard(FibreSystem& system, Affine row) {
  const int64_t g = gcd_of_coefficients(row);
  if (g == 0) return row.constant() == 0 ? Outcome::Done : Outcome::NoSolution;
  if (row.constant() % g != 0) return Outcome::NoSolution;
  row = exact_quotient(row, g);
  const auto leading = std::ranges::find_if(row.coefficients(), [](int64_t c) { return c != 0; });
  if (*leading < 0) row *= -1;
  const Interval range = system.parameter_interval(row);
  if (range.lo > 0 || range.hi < 0) return Outcome::NoSolution;
  if (range.lo == 0 && range.hi == 0) return Outcome::Done;
  if (std::find(system.guards.begin(), system.guards.end(), row) == system.guards.end())
    system.guards.push_back(std::move(row));
  return Outcome::Done;
}

/// g * unknowns + known == 0 where g divides the unknowns' coefficients: guards that g divides
/// `known`, and replaces it by its quotient.
Outcome divide_by_gcd(FibreSystem& system, Affine& row, int64_t g) {
  const Affine unknowns = leading_part(row, system.columns);
  const Affine known = row - unknowns;
  // g divides `known` where it divides -known: the sign with the smaller remainder reads better.
  const bool negate = division_weight(-known, g) < division_weight(known, g);
  const DividedForm divided = divide(negate ? -known : known, g);
  // Where g divides r + c, with 0 < c < g, the quotient is floor(r / g) + 1: equations that differ
  // by constants share one division.
  Affine varying = divided.remainder;
  varying.set_constant(0);
  const Affine quotient =
      system.floor_of(varying, g) + Affine(divided.remainder.constant() > 0 ? 1 : 0);
  if (add_guard(system, divided.remainder - quotient * g) == Outcome::NoSolution)
    return Outcome::NoSolution;
  const Affine known_quotient = divided.quotient + quotient;
  row = exact_quotient(unknowns, g) + (negate ? -known_quotient : known_quotient);
  return Outcome::Pending;
}

Outcome normalise(FibreSystem& system, Affine& row) {
  int64_t g = system.column_gcd(row);
  if (g == 0) return add_guard(system, row);
  const int64_t common = std::gcd(gcd_of_coefficients(row), row.constant());
  row = exact_quotient(row, common);
  g /= common;
  return g == 1 ? Outcome::Pending : divide_by_gcd(system, row, g);
}

/// Substitutes a column that has coefficient +-1 in some equality. Shortest equality first, then
/// the column of largest extent, so that small loops survive.
bool eliminate_unit_pivot(FibreSystem& system) {
  std::optional<std::tuple<size_t, int64_t, size_t, size_t>> best;  // terms, -extent, row, column
  for (size_t r = 0; r < system.equalities.size(); ++r) {
    const Affine& row = system.equalities[r];
    const size_t limit = std::min(system.columns, row.size());
    size_t terms = 0;
    for (size_t k = 0; k < limit; ++k) terms += row.coefficient(k) != 0;
    for (size_t k = 0; k < limit; ++k) {
      if (row.coefficient(k) != 1 && row.coefficient(k) != -1) continue;
      const std::tuple candidate{terms, -system.extents[k], r, k};
      if (!best || candidate < *best) best = candidate;
    }
  }
  if (!best) return false;
  const auto [terms, extent, r, column] = *best;
  Affine form = system.equalities[r];
  const int64_t c = form.coefficient(column);
  system.equalities.erase(system.equalities.begin() + static_cast<std::ptrdiff_t>(r));
  form.set_coefficient(column, 0);
  system.eliminate_column(column, form * -c);
  return true;
}

int64_t largest_coefficient(const FibreSystem& system, const Affine& row) {
  int64_t largest = 0;
  for (size_t k = 0; k < std::min(system.columns, row.size()); ++k)
    largest = std::max(largest, std::abs(row.coefficient(k)));
  return largest;
}

/// One rounding Euclid step in the equality with the smallest coefficients: the smallest of them
/// reduces the others to at most half of it.
void reduce_coefficients(FibreSystem& system) {
  const auto row = std::min_element(
      system.equalities.begin(), system.equalities.end(), [&](const Affine& a, const Affine& b) {
        return largest_coefficient(system, a) < largest_coefficient(system, b);
      });
  const size_t limit = std::min(system.columns, row->size());
  std::optional<size_t> pivot;
  for (size_t k = 0; k < limit; ++k) {
    if (row->coefficient(k) == 0) continue;
    if (!pivot || std::abs(row->coefficient(k)) < std::abs(row->coefficient(*pivot))) pivot = k;
  }
  const int64_t c = row->coefficient(*pivot);
  // c * (pivot + sum_k rounded(c_k / c) * column k) + remainders: the bracket is the new pivot
  // column.
  Affine shift;
  int64_t extent = system.extents[*pivot];
  for (size_t k = 0; k < limit; ++k) {
    if (k == *pivot) continue;
    const int64_t doubled = checked_mul(2, row->coefficient(k));
    const int64_t rounded =
        floor_div(checked_add(doubled, std::abs(c)), checked_mul(2, std::abs(c))) *
        (c > 0 ? 1 : -1);
    shift.set_coefficient(k, rounded);
    extent = checked_add(extent, checked_mul(std::abs(rounded), system.extents[k]));
  }
  system.extents[*pivot] = extent;
  system.change_column(*pivot, shift);
}

}  // namespace

bool solve_equations(FibreSystem& system) {
  while (!system.equalities.empty()) {
    for (size_t r = 0; r < system.equalities.size();) {
      Affine row = system.equalities[r];
      const Outcome outcome = normalise(system, row);
      if (outcome == Outcome::NoSolution) return false;
      if (outcome == Outcome::Done) {
        system.equalities.erase(system.equalities.begin() + static_cast<std::ptrdiff_t>(r));
      } else {
        system.equalities[r++] = std::move(row);
      }
    }
    if (system.equalities.empty()) break;
    if (!eliminate_unit_pivot(system)) reduce_coefficients(system);
  }
  return true;
}

}  // namespace adjit::domain
