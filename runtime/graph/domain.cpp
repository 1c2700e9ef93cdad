// runtime/graph/domain.cpp -- points of an iteration domain.
#include "runtime/graph/domain.hpp"

#include <algorithm>

namespace adjit::graph {

int64_t Domain::box_points() const {
  int64_t points = 1;
  for (int64_t extent : extents) {
    if (extent == 0) return 0;
    points = checked_mul(points, extent);
  }
  return points;
}

ValueRange Domain::box_range(const Affine& form) const {
  std::vector<ValueRange> variables;
  for (int64_t extent : extents) variables.push_back({0, std::max<int64_t>(extent - 1, 0)});
  const auto range_of = [&](const Affine& f) {
    ValueRange r{f.constant(), f.constant()};
    for (size_t k = 0; k < f.size(); ++k) {
      const int64_t c = f.coefficient(k);
      if (c == 0) continue;
      r.lo = checked_add(r.lo, checked_mul(c, c > 0 ? variables[k].lo : variables[k].hi));
      r.hi = checked_add(r.hi, checked_mul(c, c > 0 ? variables[k].hi : variables[k].lo));
    }
    return r;
  };
  for (const Division& d : divisions) {
    const ValueRange n = range_of(d.numerator);
    variables.push_back({floor_div(n.lo, d.divisor), floor_div(n.hi, d.divisor)});
  }
  return range_of(form);
}

size_t Domain::add_division(const Affine& numerator, int64_t divisor) {
  invariant(divisor >= 1, "a division needs a positive divisor");
  const Division wanted{numerator, divisor};
  for (size_t q = 0; q < divisions.size(); ++q)
    if (divisions[q] == wanted) return extents.size() + q;
  divisions.push_back(wanted);
  return extents.size() + divisions.size() - 1;
}

void Domain::mark_axes(const Affine& form, std::vector<bool>& axes) const {
  for (size_t v = 0; v < form.size(); ++v) {
    if (form.coefficient(v) == 0) continue;
    if (v < rank()) {
      axes[v] = true;
    } else {
      mark_axes(divisions[v - rank()].numerator, axes);
    }
  }
}

bool Domain::mentions(const Affine& form, size_t axis) const {
  for (size_t v = 0; v < form.size(); ++v) {
    if (form.coefficient(v) == 0) continue;
    if (v == axis || (v >= rank() && mentions(divisions[v - rank()].numerator, axis))) return true;
  }
  return false;
}

bool Domain::is_bounded(size_t axis) const {
  const auto uses = [&](const Affine& row) { return mentions(row, axis); };
  return std::ranges::any_of(inequalities, uses) || std::ranges::any_of(equalities, uses);
}

std::vector<int64_t> Domain::variables_at(std::span<const int64_t> axes) const {
  std::vector<int64_t> values(axes.begin(), axes.end());
  values.reserve(variable_count());
  for (const Division& d : divisions)
    values.push_back(floor_div(evaluate(d.numerator, values), d.divisor));
  return values;
}

bool Domain::contains(std::span<const int64_t> axes) const {
  if (is_box()) return true;
  const std::vector<int64_t> values = variables_at(axes);
  for (const Affine& row : inequalities)
    if (sign_at(row, values) < 0) return false;
  for (const Affine& row : equalities)
    if (sign_at(row, values) != 0) return false;
  return true;
}

Domain shape_box(std::vector<int64_t> shape) {
  Domain box;
  box.output_rank = shape.size();
  box.extents = std::move(shape);
  return box;
}

}  // namespace adjit::graph
