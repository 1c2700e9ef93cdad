// runtime/domain/basis.cpp -- windows become free axes or quotients, fewest values first.
#include "runtime/domain/basis.hpp"

#include <algorithm>

#include "runtime/domain/candidates.hpp"
#include "runtime/domain/inequalities.hpp"

namespace adjit::domain {

namespace {

/// Changes `columns` until only one of them is used by form(), with a positive coefficient; returns
/// it.
template <class Form>
size_t isolate(FibreSystem& system, const Form& form, std::span<const size_t> columns) {
  for (;;) {
    const Affine current = form();
    std::optional<size_t> pivot;
    for (size_t k : columns) {
      const int64_t c = std::abs(current.coefficient(k));
      if (c != 0 && (!pivot || c < std::abs(current.coefficient(*pivot)))) pivot = k;
    }
    invariant(pivot.has_value(), "a form to isolate uses none of the columns");
    const int64_t c = current.coefficient(*pivot);
    if (c < 0) {
      system.change_column(*pivot, Affine(), /*negate=*/true);
      continue;
    }
    Affine shift;
    for (size_t k : columns)
      if (k != *pivot) shift.set_coefficient(k, floor_div(current.coefficient(k), c));
    if (shift == Affine()) return *pivot;
    system.change_column(*pivot, shift);
  }
}

/// Values of a form over parameters and columns whose ranges are known.
Interval form_range(const FibreSystem& system, const Affine& form) {
  const Affine unknowns = leading_part(form, system.columns);
  Interval range = system.parameter_interval(form - unknowns);
  for (size_t k = 0; k < unknowns.size(); ++k) {
    const int64_t c = unknowns.coefficient(k);
    if (c == 0) continue;
    const Interval& column = system.ranges[k];
    range.lo = checked_add(range.lo, checked_mul(c, c > 0 ? column.lo : column.hi));
    range.hi = checked_add(range.hi, checked_mul(c, c > 0 ? column.hi : column.lo));
  }
  return range;
}

/// 0 <= g * column + rest <= w < g: the column has one value for each value of the others.
void settle_quotient(FibreSystem& system, const Window& window, size_t column) {
  const int64_t g = window.form.coefficient(column);
  const Affine rest = window.form - Affine::variable(column, g);
  const Affine other = Affine(window.width) - rest;
  // g * column = form - rest gives column = -floor(rest / g); from above, column = floor((w - rest)
  // / g).
  const bool from_above = division_weight(other, g) <= division_weight(rest, g);
  const DividedForm divided = divide(from_above ? other : rest, g);
  if (from_above) {
    system.change_column(column, -divided.quotient);
  } else {
    system.change_column(column, divided.quotient, /*negate=*/true);
  }
  const Interval range = form_range(system, divided.remainder);
  system.ranges[column] = {floor_div(range.lo, g), floor_div(range.hi, g)};
  system.free[column] = 0;
  system.quotients.push_back({column, divided.remainder, g});
}

/// 0 <= g * column + rest <= w with w >= g: shifts the column so that it starts near 0 whatever the
/// parameters.
void settle_free(FibreSystem& system, const Window& window, size_t column) {
  const int64_t g = window.form.coefficient(column);
  const Affine rest = window.form - Affine::variable(column, g);
  const DividedForm divided = divide(rest, g);
  const Affine unknowns = leading_part(divided.remainder, system.columns);
  const Affine known = divided.remainder - unknowns;
  const Affine quotient = system.floor_of(known, g);
  system.change_column(column, divided.quotient + quotient);
  // Now form = g * column + unknowns + (known - g * quotient), the last within [0, g).
  Interval remainder{0, g - 1};
  if (quotient.is_constant()) remainder = system.parameter_interval(known - quotient * g);
  const Interval others = form_range(system, unknowns);
  system.ranges[column] = {
      ceil_div(checked_sub(checked_sub(0, others.hi), remainder.hi), g),
      floor_div(checked_sub(checked_sub(window.width, others.lo), remainder.lo), g)};
}

void settle(FibreSystem& system, const Window& window, size_t column) {
  if (window.width < window.form.coefficient(column)) {
    settle_quotient(system, window, column);
  } else {
    settle_free(system, window, column);
  }
}

/// The source axis that names a new free column: the window's own, else the first one that moves
/// with it.
size_t home_of(const FibreSystem& system, const Window& window, size_t column) {
  if (window.axis) return *window.axis;
  for (size_t k = 0; k < system.axes.size(); ++k)
    if (system.axes[k].coefficient(column) != 0) return k;
  return system.axes.size();
}

void settle_window(FibreSystem& system, size_t w, std::span<const size_t> columns,
                   std::vector<size_t>& left) {
  size_t column = isolate(system, [&] { return system.windows[w].form; }, columns);
  const size_t home = home_of(system, system.windows[w], column);
  if (home < system.axes.size() && system.axes[home].coefficient(column) < 0) {
    // Only a window that is no axis: mirrored, its column runs along its home axis.
    Window& window = system.windows[w];
    window.form = Affine(window.width) - window.form;
    system.change_column(column, Affine(), /*negate=*/true);
  }
  system.home[column] = home;
  const Window window = system.windows[w];
  settle(system, window, column);
  std::erase(left, column);
}

/// Splits the free columns: those that the source's axes use, and those that only its divisions
/// use.
struct ColumnKinds {
  std::vector<size_t> axis, quotient;
};
ColumnKinds split_columns(FibreSystem& system) {
  ColumnKinds kinds{{}, system.free_columns()};
  for (size_t k = 0; k < system.axes.size(); ++k) {
    if (gcd_over(system.axes[k], kinds.quotient) == 0) continue;
    const size_t column = isolate(system, [&] { return system.axes[k]; }, kinds.quotient);
    kinds.axis.push_back(column);
    std::erase(kinds.quotient, column);
  }
  return kinds;
}

/// Drops a column that no axis uses from the inequalities, if that is exact.
bool project_out(FibreSystem& system, size_t column) {
  const size_t width = system.columns + system.parameters.variable_count();
  Rows rows;
  for (const Affine& form : system.inequalities) rows.push_back(to_row(form, width));
  try {
    if (eliminate(rows, column) != Elimination::Exact) return false;
  } catch (const Overflow&) {
    return false;
  }
  system.inequalities.clear();
  for (const Row& row : rows) system.inequalities.push_back(to_affine(row));
  return true;
}

/// The columns that only the source's divisions use: each division's window leaves one value.
void settle_divisions(FibreSystem& system, const Domain& source, std::vector<size_t> columns) {
  const size_t first = system.quotients.size();
  for (size_t q = 0; q < source.divisions.size() && !columns.empty(); ++q) {
    const auto remainder = [&] {
      std::vector<Affine> variables = system.axes;
      variables.insert(variables.end(), system.divisions.begin(), system.divisions.end());
      return substitute(source.divisions[q].numerator, variables) -
             system.divisions[q] * source.divisions[q].divisor;
    };
    if (gcd_over(remainder(), columns) == 0) continue;
    const size_t column = isolate(system, remainder, columns);
    settle(system, {remainder(), source.divisions[q].divisor - 1, std::nullopt}, column);
    std::erase(columns, column);
  }
  // Last first: a quotient may only go when no later one uses it.
  for (size_t k = system.quotients.size(); k-- > first;) {
    const size_t column = system.quotients[k].column;
    const bool used = std::any_of(
        system.quotients.begin() + static_cast<std::ptrdiff_t>(k) + 1, system.quotients.end(),
        [&](const Quotient& later) { return later.numerator.coefficient(column) != 0; });
    if (!used && project_out(system, column))
      system.quotients.erase(system.quotients.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

}  // namespace

void choose_basis(FibreSystem& system, const Domain& source, const BasisChoice& choice) {
  ColumnKinds kinds =
      choice.division_windows ? ColumnKinds{system.free_columns(), {}} : split_columns(system);
  collect_windows(system, choice);
  while (!kinds.axis.empty()) {
    const std::optional<size_t> window = next_window(system, kinds.axis, kinds.quotient, choice);
    invariant(window.has_value(), "an axis of a fibre has no window");
    const std::vector<size_t> columns = kinds.axis;
    settle_window(system, *window, columns, kinds.axis);
  }
  settle_divisions(system, source, std::move(kinds.quotient));
}

}  // namespace adjit::domain
