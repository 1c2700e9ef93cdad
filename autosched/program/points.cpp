// autosched/program/points.cpp -- products of extents.
#include "autosched/program/points.hpp"

#include <algorithm>
#include <bit>

namespace adjit::sched {

double box_points(const Domain& domain) {
  double points = 1;
  for (int64_t extent : domain.extents) points *= static_cast<double>(std::max<int64_t>(extent, 1));
  return points;
}

double terms_of(const Domain& domain) {
  double terms = 1;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a)
    terms *= static_cast<double>(std::max<int64_t>(domain.extents[a], 1));
  return terms;
}

bool fits_in_code(const Domain& domain, const Affine& form) {
  constexpr int64_t kMost = int64_t{1} << 61;
  try {
    const ValueRange range = domain.box_range(form);
    return -kMost <= range.lo && range.hi <= kMost;
  } catch (const Overflow&) {
    return false;
  }
}

int64_t power_below(double count) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max(count, 1.0))));
}

}  // namespace adjit::sched
