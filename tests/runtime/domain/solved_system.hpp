// tests/runtime/domain/solved_system.hpp -- fibre systems without equalities, and their solutions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/domain/equations.hpp"
#include "runtime/domain/windows.hpp"
#include "tests/runtime/domain/visit.hpp"

namespace adjit::domain {

/// The system of a read once its equations are solved and no window hides another one; std::nullopt
/// when it has no solution.
inline std::optional<FibreSystem> solved_system(const Domain& source, std::span<const Affine> index,
                                                std::span<const int64_t> target) {
  FibreSystem system(source, index, target);
  for (int round = 0; round < 50; ++round) {
    if (!solve_equations(system) || !system.tidy_inequalities()) return std::nullopt;
    WindowSearch search = find_window(system);
    if (search == WindowSearch::None) search = find_projected_window(system);
    if (search == WindowSearch::Empty) return std::nullopt;
    if (search == WindowSearch::None) break;
  }
  return system;
}

/// Values of the free columns within their ranges; 0 where one is empty.
inline int64_t assignments(const FibreSystem& system) {
  int64_t count = 1;
  for (size_t column : system.free_columns())
    count *= std::max<int64_t>(system.ranges[column].size(), 0);
  return count;
}

/// The source points that a system with a basis gives at j: one for each value of the free columns
/// within their ranges at which all rows hold, sorted.
inline std::vector<Point> source_points(const FibreSystem& system, const Point& j) {
  const std::vector<size_t> free = system.free_columns();
  std::vector<int64_t> extents;
  for (size_t column : free) extents.push_back(system.ranges[column].size());
  const std::vector<int64_t> parameters = system.parameters.variables_at(j);
  std::vector<Point> points;
  for_each_point(extents, [&](const Point& offset) {
    std::vector<int64_t> values(system.columns, 0);
    for (size_t k = 0; k < free.size(); ++k)
      values[free[k]] = system.ranges[free[k]].lo + offset[k];
    values.insert(values.end(), parameters.begin(), parameters.end());
    for (const Quotient& quotient : system.quotients)
      values[quotient.column] = floor_div(evaluate(quotient.numerator, values), quotient.divisor);
    for (const Affine& row : system.inequalities)
      if (evaluate(row, values) < 0) return;
    for (const Affine& row : system.guards)
      if (evaluate(row, values) != 0) return;
    Point point;
    for (const Affine& axis : system.axes) point.push_back(evaluate(axis, values));
    points.push_back(point);
  });
  std::ranges::sort(points);
  return points;
}

}  // namespace adjit::domain
