// runtime/domain/candidates.cpp -- opposite rows in the direction of axes, and their order.
#include "runtime/domain/candidates.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "runtime/domain/inequalities.hpp"

namespace adjit::domain {

namespace {

/// Whether `axis` == m * form + constant for some m != 0; the sign of m, 0 when not.
int parallel_sign(const Affine& axis, const Affine& form) {
  const int64_t a = gcd_of_coefficients(axis), b = gcd_of_coefficients(form);
  if (a == 0 || axis.size() != form.size()) return 0;
  const auto same = [&](int64_t sign) {
    for (size_t k = 0; k < form.size(); ++k)
      if (axis.coefficient(k) / a != sign * (form.coefficient(k) / b)) return false;
    return true;
  };
  return same(1) ? 1 : same(-1) ? -1 : 0;
}

/// Everything that is known: the system's rows, j's box, the derived parameters. Columns, then
/// parameters.
Rows known_rows(const FibreSystem& system) {
  const size_t width = system.columns + system.parameters.variable_count();
  Rows rows;
  for (const Affine& form : system.inequalities) rows.push_back(to_row(form, width));
  for (Row row : context_rows(system.parameters)) {
    row.insert(row.begin(), system.columns, 0);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The opposite rows as a window: that of the source axis they bound, cut to the values it takes,
/// if any.
Window make_window(const FibreSystem& system, const Rows& known, const Affine& lower,
                   const Affine& upper) {
  Window window{lower, checked_add(lower.constant(), upper.constant()), std::nullopt};
  for (size_t k = 0; k < system.axes.size(); ++k) {
    const int sign = parallel_sign(system.axes[k], lower);
    if (sign == 0) continue;
    window.axis = k;
    if (sign < 0) window.form = upper;
    if (!(system.axes[k] - window.form).is_constant()) break;  // a multiple of it
    const int64_t first = checked_sub(system.axes[k].constant(), window.form.constant());
    const Interval range =
        narrowed_interval(known, system.axes[k], {first, checked_add(first, window.width)});
    if (range.empty()) break;  // the piece is empty: found when it is made
    window = {system.axes[k] - Affine(range.lo), range.hi - range.lo, k};
    break;
  }
  return window;
}

bool bounds_division(const FibreSystem& system, const Affine& form) {
  return std::any_of(system.divisions.begin(), system.divisions.end(),
                     [&](const Affine& division) { return parallel_sign(division, form) != 0; });
}

}  // namespace

int64_t gcd_over(const Affine& form, std::span<const size_t> columns) {
  int64_t g = 0;
  for (size_t k : columns) g = std::gcd(g, form.coefficient(k));
  return g;
}

void collect_windows(FibreSystem& system, const BasisChoice& choice) {
  system.windows.clear();
  const Rows known = known_rows(system);
  for (size_t a = 0; a < system.inequalities.size(); ++a) {
    const Affine& lower = system.inequalities[a];
    if (!system.uses_columns(lower)) continue;
    for (size_t b = a + 1; b < system.inequalities.size(); ++b) {
      if (!opposite(lower, system.inequalities[b])) continue;
      Window window = make_window(system, known, lower, system.inequalities[b]);
      if (window.axis || choice.division_windows || !bounds_division(system, lower))
        system.windows.push_back(std::move(window));
    }
  }
}

/// The window to settle next, by fewest values left (or by preference), then axes before other
/// windows, then later axes (reduction axes come last) before earlier ones.
std::optional<size_t> next_window(const FibreSystem& system, std::span<const size_t> columns,
                                  std::span<const size_t> quotient_columns,
                                  const BasisChoice& choice) {
  std::optional<size_t> best;
  std::tuple<size_t, int64_t, bool, int64_t> best_key{};
  for (size_t w = 0; w < system.windows.size(); ++w) {
    const Window& window = system.windows[w];
    const int64_t g = gcd_over(window.form, columns);
    if (g == 0 || gcd_over(window.form, quotient_columns) != 0) continue;
    const int64_t values = window.width / g + 1;
    const std::vector<size_t>& preference = choice.survivors;
    size_t rank = preference.size();
    if (window.axis && values > 1)
      rank = static_cast<size_t>(std::find(preference.begin(), preference.end(), *window.axis) -
                                 preference.begin());
    if (values == 1) rank = 0;
    const int64_t later = window.axis ? -static_cast<int64_t>(*window.axis) : 0;
    const std::tuple key{rank, values, !window.axis.has_value(), later};
    if (best && key >= best_key) continue;
    best = w;
    best_key = key;
  }
  return best;
}

}  // namespace adjit::domain
