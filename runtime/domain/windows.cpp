// runtime/domain/windows.cpp -- window detection, direct and after projection (DESIGN 4, steps 3
// and 4).
#include "runtime/domain/windows.hpp"

#include <algorithm>

#include "runtime/domain/inequalities.hpp"

namespace adjit::domain {

namespace {

/// Rows allowed while projecting on one column: the search is a heuristic, so less than the
/// solver's cap.
constexpr size_t kProjectionRows = 200;

/// The equality that 0 <= g * (a . t) + e <= w < g leaves. Both -floor(e / g) and floor((w - e) /
/// g) are its value; the one with the smaller remainder reads better.
Affine window_equality(FibreSystem& system, const Affine& row, int64_t g, int64_t w) {
  const Affine unknowns = leading_part(row, system.columns);
  const Affine known = row - unknowns;
  const Affine other = Affine(w) - known;
  const bool mirrored = division_weight(other, g) < division_weight(known, g);
  const Affine value = mirrored ? -system.floor_of(other, g) : system.floor_of(known, g);
  return exact_quotient(unknowns, g) + value;
}

/// The rows of `system` that use columns, over its columns, parameters and derived parameters.
Rows column_rows(const FibreSystem& system) {
  const size_t width = system.columns + system.parameters.variable_count();
  Rows rows;
  for (const Affine& form : system.inequalities)
    if (system.uses_columns(form)) rows.push_back(to_row(form, width));
  return rows;
}

/// Projects on `column`: rows that use no other column. False when they contradict each other.
bool project(Rows& rows, size_t column, size_t columns) {
  if (!simplify(rows)) return false;
  std::vector<size_t> others = used_columns(rows, columns);
  std::erase(others, column);
  const Elimination result = eliminate_all(rows, std::move(others), kProjectionRows);
  if (result == Elimination::OverBudget) rows.clear();
  return result != Elimination::Contradiction;
}

bool opposite_rows(const Row& a, const Row& b) {
  return std::equal(a.begin(), a.end() - 1, b.begin(),
                    [](int64_t x, int64_t y) { return x == -y; });
}

/// Adds a window on `column` among projected rows to the system.
WindowSearch adopt_window(FibreSystem& system, const Rows& rows, size_t column) {
  for (const Row& a : rows) {
    if (a[column] <= 0) continue;
    for (const Row& b : rows) {
      if (b[column] != -a[column] || !opposite_rows(a, b)) continue;
      const int64_t w = checked_add(a.back(), b.back());
      if (w < 0) return WindowSearch::Empty;
      if (w >= a[column]) continue;
      system.inequalities.push_back(to_affine(a));
      system.inequalities.push_back(to_affine(b));
      return WindowSearch::Found;
    }
  }
  return WindowSearch::None;
}

}  // namespace

WindowSearch find_window(FibreSystem& system) {
  for (size_t a = 0; a < system.inequalities.size(); ++a) {
    const int64_t g = system.column_gcd(system.inequalities[a]);
    if (g == 0) continue;
    for (size_t b = a + 1; b < system.inequalities.size(); ++b) {
      if (!opposite(system.inequalities[a], system.inequalities[b])) continue;
      const int64_t w =
          checked_add(system.inequalities[a].constant(), system.inequalities[b].constant());
      if (w < 0) return WindowSearch::Empty;
      if (w >= g) continue;
      system.equalities.push_back(window_equality(system, system.inequalities[a], g, w));
      return WindowSearch::Found;
    }
  }
  return WindowSearch::None;
}

WindowSearch find_projected_window(FibreSystem& system) {
  const Rows rows = column_rows(system);
  for (size_t column : system.free_columns()) {
    try {
      Row seed(system.columns + 1, 0);
      seed[column] = 1;
      Rows connected = component(rows, seed, system.columns);
      if (used_columns(connected, system.columns).size() < 2) continue;
      if (!project(connected, column, system.columns)) return WindowSearch::Empty;
      const WindowSearch result = adopt_window(system, connected, column);
      if (result != WindowSearch::None) return result;
    } catch (const Overflow&) {
      continue;  // this projection finds nothing; the others may
    }
  }
  return WindowSearch::None;
}

}  // namespace adjit::domain
