// runtime/domain/fibre_system.cpp -- building the system and changing its columns.
#include "runtime/domain/fibre_system.hpp"

#include <algorithm>
#include <numeric>

namespace adjit::domain {

namespace {

void replace(Affine& form, size_t column, const Affine& replacement) {
  const int64_t c = form.coefficient(column);
  if (c == 0) return;
  form.set_coefficient(column, 0);
  form += replacement * c;
}

}  // namespace

FibreSystem::FibreSystem(const Domain& source, std::span<const Affine> index,
                         std::span<const int64_t> target_shape)
    : columns(source.variable_count()), free(columns, 1), home(columns, 0), ranges(columns) {
  parameters.extents.assign(target_shape.begin(), target_shape.end());
  parameters.output_rank = target_shape.size();
  const auto between = [this](const Affine& form, int64_t low, int64_t high) {
    inequalities.push_back(form - Affine(low));
    inequalities.push_back(Affine(high) - form);
  };
  for (size_t k = 0; k < source.rank(); ++k) {
    axes.push_back(Affine::variable(k));
    extents.push_back(source.extents[k]);
    between(axes.back(), 0, source.extents[k] - 1);
  }
  for (size_t q = 0; q < source.divisions.size(); ++q) {
    const Affine variable = Affine::variable(source.rank() + q);
    const Division& division = source.divisions[q];
    divisions.push_back(variable);
    between(division.numerator - variable * division.divisor, 0, division.divisor - 1);
    const std::optional<Interval> range = box_interval(source, variable);
    if (!range) throw Overflow();
    extents.push_back(range->size());
    between(variable, range->lo,
            range->hi);  // implied, but as a row it may become the readable bound
  }
  inequalities.insert(inequalities.end(), source.inequalities.begin(), source.inequalities.end());
  equalities = source.equalities;
  for (size_t k = 0; k < index.size(); ++k)
    equalities.push_back(index[k] - Affine::variable(columns + k));
}

std::vector<size_t> FibreSystem::free_columns() const {
  std::vector<size_t> result;
  for (size_t k = 0; k < columns; ++k)
    if (free[k] != 0) result.push_back(k);
  return result;
}

int64_t FibreSystem::column_gcd(const Affine& form) const {
  int64_t g = 0;
  for (size_t k = 0; k < std::min(columns, form.size()); ++k)
    if (form.coefficient(k) != 0) g = std::gcd(g, form.coefficient(k));
  return g;
}

template <class Function>
void FibreSystem::for_each_form(Function&& apply) {
  for (Affine& form : equalities) apply(form);
  for (Affine& form : inequalities) apply(form);
  for (Affine& form : axes) apply(form);
  for (Affine& form : divisions) apply(form);
  for (Window& window : windows) apply(window.form);
  for (Quotient& quotient : quotients) apply(quotient.numerator);
}

void FibreSystem::eliminate_column(size_t column, const Affine& form) {
  for_each_form([&](Affine& other) { replace(other, column, form); });
  free[column] = 0;
}

void FibreSystem::change_column(size_t column, const Affine& shift, bool negate) {
  const Affine replacement = Affine::variable(column, negate ? -1 : 1) - shift;
  for_each_form([&](Affine& form) { replace(form, column, replacement); });
}

Interval FibreSystem::parameter_interval(const Affine& form) const {
  const std::optional<Interval> range = box_interval(parameters, to_parameters(form));
  if (!range) throw Overflow();
  return *range;
}

Affine FibreSystem::floor_of(const Affine& form, int64_t divisor) {
  const DividedForm divided = divide(form, divisor);
  const Interval range = parameter_interval(divided.remainder);
  const int64_t lowest = floor_div(range.lo, divisor);
  if (lowest == floor_div(range.hi, divisor)) return divided.quotient + Affine(lowest);
  const size_t variable = parameters.add_division(to_parameters(divided.remainder), divisor);
  return divided.quotient + Affine::variable(columns + variable);
}

Affine FibreSystem::to_parameters(const Affine& form) const {
  invariant(!uses_columns(form), "a form over parameters uses a column");
  Affine result(form.constant());
  for (size_t k = form.size(); k-- > columns;)
    result.set_coefficient(k - columns, form.coefficient(k));
  return result;
}

bool FibreSystem::tidy_inequalities() {
  std::vector<Affine> kept;
  for (Affine& row : inequalities) {
    const int64_t g = gcd_of_coefficients(row);
    if (g == 0 && row.constant() < 0) return false;
    if (g == 0) continue;
    if (g > 1) {
      const int64_t constant = row.constant();
      row.set_constant(0);
      row = exact_quotient(row, g);
      row.set_constant(floor_div(constant, g));
    }
    const auto parallel = std::find_if(kept.begin(), kept.end(), [&](const Affine& other) {
      return std::ranges::equal(other.coefficients(), row.coefficients());
    });
    if (parallel == kept.end()) {
      kept.push_back(std::move(row));
    } else {
      parallel->set_constant(std::min(parallel->constant(), row.constant()));
    }
  }
  inequalities = std::move(kept);
  return true;
}

DividedForm divide(const Affine& form, int64_t divisor) {
  DividedForm result{Affine(floor_div(form.constant(), divisor)),
                     Affine(floor_mod(form.constant(), divisor))};
  for (size_t k = form.size(); k-- > 0;) {
    const int64_t c = form.coefficient(k);
    const int64_t rest = floor_mod(c, divisor);
    const bool round_up = rest > divisor - rest;
    const int64_t quotient = floor_div(c, divisor) + (round_up ? 1 : 0);
    result.quotient.set_coefficient(k, quotient);
    result.remainder.set_coefficient(k, round_up ? rest - divisor : rest);
  }
  return result;
}

int64_t division_weight(const Affine& form, int64_t divisor) {
  const DividedForm divided = divide(form, divisor);
  int64_t weight = 0;
  for (int64_t c : divided.remainder.coefficients())
    weight = checked_add(weight, c > 0 ? c : checked_sub(1, c));  // a positive sign reads better
  for (int64_t c : divided.quotient.coefficients()) weight = checked_add(weight, std::abs(c));
  return weight;
}

Affine leading_part(const Affine& form, size_t limit) {
  Affine result;
  for (size_t k = std::min(limit, form.size()); k-- > 0;)
    result.set_coefficient(k, form.coefficient(k));
  return result;
}

Affine exact_quotient(const Affine& form, int64_t divisor) {
  DividedForm divided = divide(form, divisor);
  invariant(divided.remainder == Affine(), "an exact quotient leaves a remainder");
  return std::move(divided.quotient);
}

bool opposite(const Affine& a, const Affine& b) {
  return std::ranges::equal(a.coefficients(), b.coefficients(),
                            [](int64_t x, int64_t y) { return x == -y; });
}

}  // namespace adjit::domain
