// tests/runtime/domain/visit.cpp -- brute force and the interpreter of loop bounds.
#include "visit.hpp"

#include <algorithm>
#include <sstream>

namespace adjit::domain {

namespace {

std::vector<int64_t> values_of(const Domain& domain, const Point& axes) {
  return domain.variables_at(axes);
}

bool holds(std::span<const Affine> ge, std::span<const Affine> eq,
           const std::vector<int64_t>& values) {
  for (const Affine& row : ge)
    if (evaluate(row, values) < 0) return false;
  for (const Affine& row : eq)
    if (evaluate(row, values) != 0) return false;
  return true;
}

struct Runner {
  const Domain& domain;
  const LoopNestBounds& nest;
  const std::function<void(const Point&)>& visit;
  Point axes;
  NestRun run;

  int64_t loop(size_t depth) {
    if (depth == nest.loops.size()) {
      visit(axes);
      ++run.points;
      return 1;
    }
    const LoopBounds& loop_bounds = nest.loops[depth];
    axes[loop_bounds.axis] = 0;
    const std::vector<int64_t> outside = values_of(domain, axes);
    int64_t low = INT64_MIN, high = INT64_MAX, points = 0;
    for (const Bound& b : loop_bounds.lower)
      low = std::max(low, ceil_div(evaluate(b.form, outside), b.divisor));
    for (const Bound& b : loop_bounds.upper)
      high = std::min(high, floor_div(evaluate(b.form, outside), b.divisor));
    for (int64_t value = low; value <= high; ++value) {
      axes[loop_bounds.axis] = value;
      for (size_t d = depth + 1; d < nest.loops.size(); ++d) axes[nest.loops[d].axis] = 0;
      int64_t inside = 0;
      if (holds(loop_bounds.guards_ge, loop_bounds.guards_eq, values_of(domain, axes)))
        inside = loop(depth + 1);
      run.empty_outer += inside == 0;
      points += inside;
    }
    return points;
  }
};

std::string numbered(char letter, size_t number) {
  std::string name(1, letter);
  name += std::to_string(number);
  return name;
}

std::vector<std::string> variable_names(const Domain& domain) {
  std::vector<std::string> names;
  for (size_t k = 0; k < domain.rank(); ++k)
    names.push_back(k < domain.output_rank ? numbered('j', k)
                                           : numbered('t', k - domain.output_rank));
  for (size_t q = 0; q < domain.divisions.size(); ++q) names.push_back(numbered('d', q));
  return names;
}

}  // namespace

void for_each_point(std::span<const int64_t> extents,
                    const std::function<void(const Point&)>& visit) {
  if (std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e <= 0; })) return;
  Point point(extents.size(), 0);
  for (;;) {
    visit(point);
    size_t axis = extents.size();
    while (axis > 0 && ++point[axis - 1] == extents[axis - 1]) point[--axis] = 0;
    if (axis == 0) return;
  }
}

std::vector<Visit> brute_force(const Domain& source, std::span<const Affine> index,
                               std::span<const int64_t> target) {
  std::vector<Visit> visits;
  for_each_point(source.extents, [&](const Point& point) {
    if (!source.contains(point)) return;
    const std::vector<int64_t> values = source.variables_at(point);
    Point j;
    for (size_t k = 0; k < index.size(); ++k) {
      j.push_back(evaluate(index[k], values));
      if (j[k] < 0 || j[k] >= target[k]) return;
    }
    visits.emplace_back(std::move(j), point);
  });
  std::sort(visits.begin(), visits.end());
  return visits;
}

NestRun run_nest(const Domain& domain, const LoopNestBounds& nest, Point axes,
                 const std::function<void(const Point&)>& visit) {
  axes.resize(domain.rank(), 0);
  if (!holds(nest.outer_guards_ge, nest.outer_guards_eq, values_of(domain, axes))) return {};
  Runner runner{domain, nest, visit, axes, {}};
  runner.loop(0);
  return runner.run;
}

std::vector<Visit> visits_of(std::span<const FibrePiece> pieces, std::span<const int64_t> target,
                             NestRun& run) {
  std::vector<Visit> visits;
  for (const FibrePiece& piece : pieces) {
    const std::vector<size_t> order = loop_order(piece.domain);
    const LoopNestBounds nest =
        loop_bounds(piece.domain, std::span(order).subspan(piece.domain.output_rank));
    for_each_point(target, [&](const Point& j) {
      const NestRun one = run_nest(piece.domain, nest, j, [&](const Point& axes) {
        const std::vector<int64_t> values = piece.domain.variables_at(axes);
        Point source;
        for (const Affine& axis : piece.original) source.push_back(evaluate(axis, values));
        visits.emplace_back(j, std::move(source));
      });
      run.points += one.points;
      run.empty_outer += one.empty_outer;
    });
  }
  std::sort(visits.begin(), visits.end());
  return visits;
}

std::string to_text(const Domain& domain) {
  const std::vector<std::string> names = variable_names(domain);
  std::ostringstream text;
  text << "axes";
  for (size_t k = 0; k < domain.rank(); ++k)
    text << (k == domain.output_rank ? " | " : " ") << names[k] << ":" << domain.extents[k];
  for (size_t q = 0; q < domain.divisions.size(); ++q)
    text << "; " << names[domain.rank() + q] << " = ("
         << to_string(domain.divisions[q].numerator, names) << ") // "
         << domain.divisions[q].divisor;
  for (const Affine& row : domain.inequalities) text << "; " << to_string(row, names) << " >= 0";
  for (const Affine& row : domain.equalities) text << "; " << to_string(row, names) << " == 0";
  return text.str();
}

std::string to_text(const FibrePiece& piece) {
  const std::vector<std::string> names = variable_names(piece.domain);
  std::ostringstream text;
  text << to_text(piece.domain) << "; source (";
  for (size_t k = 0; k < piece.original.size(); ++k)
    text << (k == 0 ? "" : ", ") << to_string(piece.original[k], names);
  text << ")";
  return text.str();
}

}  // namespace adjit::domain
