// runtime/domain/inequalities.cpp -- Fourier-Motzkin elimination with integer tightening.
#include "runtime/domain/inequalities.hpp"

#include <algorithm>
#include <numeric>

namespace adjit::domain {

namespace {

int64_t magnitude(int64_t value) { return value < 0 ? checked_sub(0, value) : value; }

/// Divides by the gcd of the coefficients, rounding the constant down; false for a constant below
/// 0.
bool tighten_row(Row& row) {
  int64_t g = 0;
  for (size_t k = 0; k + 1 < row.size() && g != 1; ++k)
    if (row[k] != 0) g = std::gcd(g, magnitude(row[k]));
  if (g == 0) return row.back() >= 0;
  if (g == 1) return true;
  for (size_t k = 0; k + 1 < row.size(); ++k) row[k] /= g;
  row.back() = floor_div(row.back(), g);
  return true;
}

bool is_constant(const Row& row) {
  return std::all_of(row.begin(), row.end() - 1, [](int64_t c) { return c == 0; });
}

bool parallel(const Row& a, const Row& b) { return std::equal(a.begin(), a.end() - 1, b.begin()); }

/// The consequence of a lower and an upper bound of `column`, and whether every integer point of it
/// extends to an integer value of the column (Pugh's dark shadow coincides with the real one).
struct Combined {
  Row row;
  bool exact = true;
};

Combined combine(const Row& lower, const Row& upper, size_t column) {
  const int64_t a = lower[column], b = magnitude(upper[column]);
  const int64_t g = std::gcd(a, b);
  Combined result{Row(lower.size()), true};
  for (size_t k = 0; k < lower.size(); ++k)
    result.row[k] = checked_add(checked_mul(b / g, lower[k]), checked_mul(a / g, upper[k]));
  if (a != 1 && b != 1)
    result.exact =
        is_constant(result.row) && checked_mul(result.row.back(), g) >= checked_mul(a - 1, b - 1);
  return result;
}

}  // namespace

Row to_row(const Affine& form, size_t columns) {
  invariant(form.size() <= columns, "an affine form uses a variable that its rows lack");
  Row row(columns + 1, 0);
  std::copy(form.coefficients().begin(), form.coefficients().end(), row.begin());
  row.back() = form.constant();
  return row;
}

Affine to_affine(const Row& row) {
  Affine form(row.back());
  for (size_t k = row.size() - 1; k-- > 0;)  // the highest variable first: one allocation
    if (row[k] != 0) form.set_coefficient(k, row[k]);
  return form;
}

Row negation(Row row) {
  for (int64_t& c : row) c = checked_sub(0, c);
  row.back() = checked_sub(row.back(), 1);
  return row;
}

Rows context_rows(const Domain& domain) {
  const size_t columns = domain.variable_count();
  Rows rows;
  for (size_t k = 0; k < domain.rank(); ++k) {
    rows.push_back(to_row(Affine::variable(k), columns));
    rows.push_back(to_row(Affine::variable(k, -1, domain.extents[k] - 1), columns));
  }
  for (size_t q = 0; q < domain.divisions.size(); ++q) {
    const Division& division = domain.divisions[q];
    const Affine remainder =
        division.numerator - Affine::variable(domain.rank() + q, division.divisor);
    rows.push_back(to_row(remainder, columns));
    rows.push_back(to_row(Affine(division.divisor - 1) - remainder, columns));
  }
  return rows;
}

Rows domain_rows(const Domain& domain) {
  const size_t columns = domain.variable_count();
  Rows rows = context_rows(domain);
  for (const Affine& row : domain.inequalities) rows.push_back(to_row(row, columns));
  for (const Affine& row : domain.equalities) {
    rows.push_back(to_row(row, columns));
    rows.push_back(to_row(-row, columns));
  }
  return rows;
}

bool simplify(Rows& rows) {
  size_t kept = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (!tighten_row(rows[k])) return false;
    if (is_constant(rows[k])) continue;
    if (k != kept) rows[kept] = std::move(rows[k]);
    ++kept;
  }
  rows.resize(kept);
  // Parallel rows are neighbours after sorting, the tightest (smallest constant) first.
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end(), parallel), rows.end());
  return true;
}

Elimination eliminate(Rows& rows, size_t column, size_t row_cap) {
  std::vector<size_t> lower, upper;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (rows[k][column] > 0) lower.push_back(k);
    if (rows[k][column] < 0) upper.push_back(k);
  }
  const size_t unchanged = rows.size() - lower.size() - upper.size();
  if (unchanged + lower.size() * upper.size() > row_cap) return Elimination::OverBudget;
  Rows combined;
  combined.reserve(unchanged + lower.size() * upper.size());
  bool exact = true;
  for (size_t l : lower) {
    for (size_t u : upper) {
      Combined pair = combine(rows[l], rows[u], column);
      exact = exact && pair.exact;
      combined.push_back(std::move(pair.row));
    }
  }
  for (Row& row : rows)
    if (row[column] == 0) combined.push_back(std::move(row));
  rows = std::move(combined);
  if (!simplify(rows)) return Elimination::Contradiction;
  return exact ? Elimination::Exact : Elimination::Inexact;
}

size_t cheapest_column(const Rows& rows, std::span<const size_t> columns) {
  size_t best = columns.front();
  int64_t best_cost = INT64_MAX;
  for (size_t column : columns) {
    int64_t lower = 0, upper = 0, wide_lower = 0, wide_upper = 0;
    for (const Row& row : rows) {
      lower += row[column] > 0;
      upper += row[column] < 0;
      wide_lower += row[column] > 1;
      wide_upper += row[column] < -1;
    }
    const int64_t cost = 100 * wide_lower * wide_upper + lower * upper - lower - upper;
    if (cost < best_cost) {
      best_cost = cost;
      best = column;
    }
  }
  return best;
}

Elimination eliminate_all(Rows& rows, std::vector<size_t> columns, size_t row_cap) {
  Elimination result = Elimination::Exact;
  while (!columns.empty()) {
    const size_t column = cheapest_column(rows, columns);
    const Elimination step = eliminate(rows, column, row_cap);
    if (step == Elimination::Contradiction || step == Elimination::OverBudget) return step;
    if (step == Elimination::Inexact) result = step;
    std::erase(columns, column);
  }
  return result;
}

Rows component(const Rows& rows, const Row& seed, size_t connecting_columns) {
  std::vector<char> reached(connecting_columns, 0), taken(rows.size(), 0);
  for (size_t k = 0; k < connecting_columns; ++k) reached[k] = seed[k] != 0;
  const auto touches = [&](const Row& row) {
    for (size_t k = 0; k < connecting_columns; ++k)
      if (row[k] != 0 && reached[k] != 0) return true;
    return false;
  };
  Rows result;
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t r = 0; r < rows.size(); ++r) {
      if (taken[r] != 0 || !touches(rows[r])) continue;
      taken[r] = 1;
      grown = true;
      result.push_back(rows[r]);
      for (size_t k = 0; k < connecting_columns; ++k)
        if (rows[r][k] != 0) reached[k] = 1;
    }
  }
  return result;
}

std::vector<size_t> used_columns(const Rows& rows, size_t limit) {
  std::vector<size_t> columns;
  for (size_t k = 0; k < limit; ++k)
    if (std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row[k] != 0; }))
      columns.push_back(k);
  return columns;
}

bool contradictory(Rows rows, size_t row_cap) {
  if (rows.empty()) return false;
  try {
    const size_t variables = rows.front().size() - 1;
    if (!simplify(rows)) return true;
    return eliminate_all(rows, used_columns(rows, variables), row_cap) ==
           Elimination::Contradiction;
  } catch (const Overflow&) {
    return false;
  }
}

bool implied(const Rows& rows, const Row& row, size_t row_cap) {
  try {
    for (const Row& other : rows)
      if (parallel(other, row) && other.back() <= row.back()) return true;
    Rows denied = component(rows, row, row.size() - 1);
    denied.push_back(negation(row));
    return contradictory(std::move(denied), row_cap);
  } catch (const Overflow&) {
    return false;
  }
}

Interval narrowed_interval(Rows rows, const Affine& form, Interval range) {
  if (rows.empty()) return range;
  // A column z with z == form, unless the form is a column already; then everything but z goes.
  size_t columns = rows.front().size() - 1;
  size_t z = columns;
  if (!form.is_constant() && form == Affine::variable(form.size() - 1)) {
    z = form.size() - 1;
  } else {
    for (Row& row : rows) row.insert(row.end() - 1, 0);
    const Affine definition = form - Affine::variable(z);
    ++columns;
    rows.push_back(to_row(definition, columns));
    rows.push_back(to_row(-definition, columns));
  }
  Rows projected = component(rows, to_row(Affine::variable(z), columns), columns);
  if (!simplify(projected)) return {};
  std::vector<size_t> others = used_columns(projected, columns);
  std::erase(others, z);
  const Elimination result = eliminate_all(projected, std::move(others));
  if (result == Elimination::Contradiction) return {};
  if (result == Elimination::OverBudget) return range;
  for (const Row& row : projected) {  // tightened: the coefficient is 1 or -1
    if (row[z] > 0) range.lo = std::max(range.lo, -row.back());
    if (row[z] < 0) range.hi = std::min(range.hi, row.back());
  }
  return range;
}

}  // namespace adjit::domain
