// autosched/cpu/tile/factor_choices.cpp -- factors to try along an axis.
#include "autosched/cpu/tile/factor_choices.hpp"

#include <algorithm>

#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/cpu/tile/window_reuse.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {
namespace {

// Whether an equality of output axes alone picks some points of the axis: loops skip all others, a
// tile would compute them.
bool is_picked(const TileSetting& t, size_t axis) {
  const Domain& domain = t.p.stage.domain;
  return std::ranges::any_of(domain.equalities, [&](const Affine& row) {
    std::vector<bool> axes(domain.rank(), false);
    domain.mark_axes(row, axes);
    return axes[axis] && std::find(axes.begin() + static_cast<std::ptrdiff_t>(t.output_rank),
                                   axes.end(), true) == axes.end();
  });
}

}  // namespace

bool takes_taps(const TileSetting& t, size_t axis) {
  return !t.in_reduction && t.p.spans[axis] > 1 && t.p.spans[axis] <= 4 && t.is_masked(axis) &&
         t.stays_in_order(axis);
}

bool takes_rows(const TileSetting& t, size_t axis, int64_t factor) {
  return !t.in_reduction && t.p.spans[axis] % factor == 0 && t.stays_in_order(axis) &&
         std::ranges::any_of(t.p.accesses.reads, [&](const MemoryAccess& access) {
           return t.lies_apart(access) && access.strides[axis] == 1 &&
                  row_piece(t.p.graph, access.tensor) == factor;
         });
}

std::vector<int64_t> factor_choices(const TileSetting& t, bool reused, size_t axis) {
  const int64_t extent = t.p.spans[axis];
  std::vector<int64_t> found;
  if (!t.p.may_tile(axis)) return {1};
  if (axis == t.v) {
    const int64_t vectors = ceil_div(extent, t.lanes);
    for (int64_t f : {1, 2, 3, 4, 6, 8})
      if (f <= vectors && (t.in_reduction ? f % 3 != 0 : f != 8)) found.push_back(f);
  } else if (axis < t.output_rank) {
    if (is_picked(t, axis)) return {1};
    // What is read once streams through: a few accumulators hide the latency; eight fold best.
    const bool any = !t.in_reduction || reused, folds = t.p.spans[t.v] <= 8 * t.lanes;
    for (int64_t f : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16})
      if (f <= extent && (f <= 4 || any || (folds && f == 8))) found.push_back(f);
  } else {
    found.push_back(1);
    if (takes_taps(t, axis)) found.push_back(extent);
    if (window_along(t, axis) && t.stays_in_order(axis)) {
      for (int64_t f : {2, 4})
        if (extent > thresholds().window_taps && f <= extent) found.push_back(f);
      if (extent > found.back() && extent <= thresholds().window_taps) found.push_back(extent);
    }
    for (const MemoryAccess& access : t.p.accesses.reads)
      if (const int64_t piece = row_piece(t.p.graph, access.tensor);
          piece > found.back() && takes_rows(t, axis, piece))
        found.push_back(piece);
  }
  return found;
}

}  // namespace adjit::sched
