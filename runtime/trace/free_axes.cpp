// runtime/trace/free_axes.cpp -- which axes of index notation an expression depends on.
#include "runtime/trace/free_axes.hpp"

#include <algorithm>
#include <utility>

namespace adjit::trace {

bool contains(const Axes& axes, uint32_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

bool disjoint(const Axes& a, const Axes& b) {
  return std::ranges::none_of(a, [&](uint32_t axis) { return contains(b, axis); });
}

bool subset(const Axes& a, const Axes& b) {
  return std::ranges::all_of(a, [&](uint32_t axis) { return contains(b, axis); });
}

void insert_all(Axes& into, const Axes& axes) {
  for (uint32_t axis : axes)
    if (!contains(into, axis)) into.push_back(axis);
}

const Axes& FreeAxes::of_reduction(uint32_t reduction) {
  const auto known = known_.find(reduction);
  if (known != known_.end()) return known->second;
  Axes free;
  const Reduction& r = n_.reductions[reduction];
  for (ExprId body : r.bodies) insert_all(free, of(body));
  if (r.where.valid()) insert_all(free, of(r.where));
  std::erase_if(free, [&](uint32_t axis) { return contains(r.axes, axis); });
  return known_.emplace(reduction, std::move(free)).first->second;
}

Axes FreeAxes::of(ExprId expr) {
  Axes axes;
  const ExprId roots[] = {expr};
  for (ExprId id : reachable(n_.pool, roots)) {
    if (n_.pool.is(id, Op::Axis))
      insert_all(axes, {static_cast<uint32_t>(n_.pool.axis_number(id))});
    else if (const std::optional<Placeholder> p = placeholder_of(n_, id))
      insert_all(axes, of_reduction(p->reduction));
  }
  return axes;
}

}  // namespace adjit::trace
