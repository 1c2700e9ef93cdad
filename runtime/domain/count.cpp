// runtime/domain/count.cpp -- counting by independent components.
#include "runtime/domain/count.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/domain/nest_walk.hpp"

namespace adjit::domain {

namespace {

/// Which variables hang together through rows and divisions: a representative per variable.
std::vector<size_t> connected(const Domain& domain) {
  std::vector<size_t> parent(domain.variable_count());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto find = [&](size_t k) {
    while (parent[k] != k) k = parent[k] = parent[parent[k]];
    return k;
  };
  const auto join = [&](const Affine& form, std::optional<size_t> with) {
    for (size_t k = 0; k < form.size(); ++k) {
      if (form.coefficient(k) == 0) continue;
      if (with) parent[find(*with)] = find(k);
      with = k;
    }
  };
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    join(domain.divisions[q].numerator, domain.rank() + q);
  for (const Affine& row : domain.inequalities) join(row, std::nullopt);
  for (const Affine& row : domain.equalities) join(row, std::nullopt);
  for (size_t k = 0; k < parent.size(); ++k) parent[k] = find(k);
  return parent;
}

/// The part of the domain over the variables of one component.
Domain restrict_to(const Domain& domain, std::span<const size_t> representative, size_t component) {
  Domain part;
  std::vector<Affine> numbers(domain.variable_count());
  size_t next = 0;
  for (size_t k = 0; k < domain.rank(); ++k) {
    if (representative[k] != component) continue;
    numbers[k] = Affine::variable(next++);
    part.extents.push_back(domain.extents[k]);
  }
  for (size_t q = 0; q < domain.divisions.size(); ++q) {
    const size_t variable = domain.rank() + q;
    if (representative[variable] != component) continue;
    part.divisions.push_back(
        {substitute(domain.divisions[q].numerator, numbers), domain.divisions[q].divisor});
    numbers[variable] = Affine::variable(next++);
  }
  const auto belongs = [&](const Affine& row) {
    return !row.is_constant() && representative[row.size() - 1] == component;
  };
  for (const Affine& row : domain.inequalities)
    if (belongs(row)) part.inequalities.push_back(substitute(row, numbers));
  for (const Affine& row : domain.equalities)
    if (belongs(row)) part.equalities.push_back(substitute(row, numbers));
  return part;
}

/// Large axes inside; innermost the largest one that needs no guard, so that it counts in closed
/// form.
std::vector<size_t> counting_order(const Domain& domain) {
  std::vector<size_t> order(domain.rank());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return domain.extents[a] < domain.extents[b]; });
  for (size_t k = order.size(); k-- > 0;) {
    const size_t axis = order[k];
    const auto divided = [&](const Division& division) {
      return uses_axis(domain, division.numerator, axis);
    };
    if (std::ranges::any_of(domain.divisions, divided)) continue;
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(k),
                order.begin() + static_cast<std::ptrdiff_t>(k) + 1, order.end());
    break;
  }
  return order;
}

std::optional<int64_t> count_component(const Domain& part, int64_t& budget) {
  if (part.is_box()) return part.box_points();
  const LoopNestBounds nest = loop_bounds(part, counting_order(part));
  const std::vector<int64_t> axes(part.rank(), 0);
  const NestCount count = walk_nest(part, nest, axes, budget);
  return count.complete ? std::optional(count.points) : std::nullopt;
}

/// Rows without variables: true, or nothing is left.
bool constants_hold(const Domain& domain) {
  return std::ranges::none_of(
             domain.inequalities,
             [](const Affine& row) { return row.is_constant() && row.constant() < 0; }) &&
         std::ranges::none_of(domain.equalities, [](const Affine& row) {
           return row.is_constant() && row.constant() != 0;
         });
}

}  // namespace

std::optional<int64_t> count_points(const Domain& domain, int64_t budget) {
  if (std::ranges::any_of(domain.extents, [](int64_t extent) { return extent <= 0; })) return 0;
  if (!constants_hold(domain)) return 0;
  try {
    const std::vector<size_t> representative = connected(domain);
    int64_t points = 1;
    for (size_t k = 0; k < representative.size(); ++k) {
      if (representative[k] != k) continue;
      const std::optional<int64_t> part =
          count_component(restrict_to(domain, representative, k), budget);
      if (!part) return std::nullopt;
      points = checked_mul(points, *part);
    }
    return points;
  } catch (const Error&) {  // overflow, here or in box_points
    return std::nullopt;
  }
}

}  // namespace adjit::domain
