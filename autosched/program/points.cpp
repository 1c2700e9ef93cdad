// autosched/program/points.cpp -- products of extents.
#include "autosched/program/points.hpp"

#include <algorithm>
#include <bit>
#include <vector>

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

double share_of_box(const Domain& domain) {
  constexpr int64_t kPoints = 512;
  // Multiples of numbers like the golden ratio, one for each axis, fill a box evenly.
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15, kNext = 0xbf58476d1ce4e5b9;
  if (domain.is_box()) return 1;
  std::vector<int64_t> point(domain.rank());
  int64_t inside = 0;
  for (int64_t n = 1; n <= kPoints; ++n) {
    uint64_t step = kGolden;
    for (size_t a = 0; a < point.size(); ++a, step *= kNext)
      point[a] = static_cast<int64_t>(static_cast<double>(step * static_cast<uint64_t>(n) >> 11) *
                                      0x1p-53 * static_cast<double>(domain.extents[a]));
    inside += domain.contains(point) ? 1 : 0;
  }
  return static_cast<double>(inside) / static_cast<double>(kPoints);
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
