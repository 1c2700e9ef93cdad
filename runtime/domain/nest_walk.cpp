// runtime/domain/nest_walk.cpp -- a small interpreter of loop bounds.
#include "runtime/domain/nest_walk.hpp"

#include <algorithm>

namespace adjit::domain {

namespace {

struct Walker {
  const Domain& domain;
  const LoopNestBounds& nest;
  int64_t& budget;
  std::vector<int64_t> values;  // of all variables; those of inner axes are stale
  NestCount count;

  void update_divisions() {
    for (size_t q = 0; q < domain.divisions.size(); ++q) {
      const Division& division = domain.divisions[q];
      values[domain.rank() + q] = floor_div(evaluate(division.numerator, values), division.divisor);
    }
  }

  bool hold(std::span<const Affine> ge, std::span<const Affine> eq) const {
    const auto value = [this](const Affine& row) { return evaluate(row, values); };
    return std::ranges::all_of(ge, [&](const Affine& row) { return value(row) >= 0; }) &&
           std::ranges::all_of(eq, [&](const Affine& row) { return value(row) == 0; });
  }

  Interval range(const LoopBounds& loop) const {
    Interval result{INT64_MIN, INT64_MAX};
    for (const Bound& bound : loop.lower)
      result.lo = std::max(result.lo, ceil_div(evaluate(bound.form, values), bound.divisor));
    for (const Bound& bound : loop.upper)
      result.hi = std::min(result.hi, floor_div(evaluate(bound.form, values), bound.divisor));
    return result;
  }

  /// Points inside the loop at `depth`.
  int64_t walk(size_t depth) {
    if (depth == nest.loops.size()) return 1;
    const LoopBounds& loop = nest.loops[depth];
    const Interval axis = range(loop);
    const bool guarded = !loop.guards_ge.empty() || !loop.guards_eq.empty();
    if (depth + 1 == nest.loops.size() && !guarded) {
      --budget;
      return axis.size();
    }
    int64_t points = 0;
    for (int64_t value = axis.lo; value <= axis.hi; ++value) {
      if (--budget < 0) {
        count.complete = false;
        break;
      }
      values[loop.axis] = value;
      update_divisions();
      const int64_t inside = hold(loop.guards_ge, loop.guards_eq) ? walk(depth + 1) : 0;
      count.idle += inside == 0;
      points = checked_add(points, inside);
    }
    return points;
  }
};

}  // namespace

NestCount walk_nest(const Domain& domain, const LoopNestBounds& nest, std::span<const int64_t> axes,
                    int64_t& budget) {
  Walker walker{domain, nest, budget, {axes.begin(), axes.end()}, {}};
  walker.values.resize(domain.variable_count(), 0);
  walker.update_divisions();
  if (walker.hold(nest.outer_guards_ge, nest.outer_guards_eq)) walker.count.points = walker.walk(0);
  return walker.count;
}

}  // namespace adjit::domain
