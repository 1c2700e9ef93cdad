// autosched/moves/scatter/apart_axes.cpp -- the axes of a scatter that write other coordinates for
// each of their points.
#include "autosched/moves/scatter/apart_axes.hpp"

#include <algorithm>

#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// An axis in a target that is an affine form of axes, and what it is multiplied by there.
struct Digit {
  size_t axis = 0;
  int64_t scale = 1;
};

// The axes of a target that names another coordinate for each of their points: one, or several as
// digits of it, the least one first. Empty of other targets.
std::vector<Digit> digits_of(const ExprPool& pool, const Stage& stage, ExprId target) {
  const std::optional<IndexForm> at = index_form(pool, target, stage.domain);
  if (!at) return {};
  std::vector<Digit> digits;
  for (size_t v = 0; v < at->form.size(); ++v) {
    if (at->form.coefficient(v) == 0) continue;
    if (v >= stage.domain.rank()) return {};
    digits.push_back({v, at->form.coefficient(v)});
  }
  if (digits.size() == 1) return digits;
  std::ranges::sort(digits, {}, &Digit::scale);
  int64_t below = 0;  // the largest number that the digits before have
  for (const Digit& digit : digits) {
    if (digit.scale <= below) return {};
    const int64_t last = std::max<int64_t>(stage.domain.extents[digit.axis], 1) - 1;
    below = checked_add(below, checked_mul(digit.scale, last));
  }
  return digits;
}

}  // namespace

InvertedAxes inverted_axes(const Graph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  InvertedAxes axes;
  std::vector<bool> apart(stage.domain.rank(), false);
  for (size_t d = 0; d < stage.target.size(); ++d) {
    const std::vector<Digit> digits = digits_of(pool, stage, stage.target[d]);
    const auto owns = [&](const Digit& digit) {
      if (stage.domain.is_bounded(digit.axis)) return false;
      for (size_t other = 0; other < stage.target.size(); ++other)
        if (other != d && uses(pool, stage.target[other], digit.axis)) return false;
      return true;
    };
    if (digits.empty() || !std::ranges::all_of(digits, owns)) {
      axes.rows.push_back(d);
      continue;
    }
    for (const Digit& digit : digits) apart[digit.axis] = true;
  }
  for (size_t a = 0; a < apart.size(); ++a) (apart[a] ? axes.apart : axes.points).push_back(a);
  return axes;
}

std::optional<std::vector<ExprId>> apart_at(ExprPool& pool, const Stage& stage,
                                            const InvertedAxes& axes,
                                            std::span<const int64_t> shape,
                                            std::span<const ExprId> coordinates) {
  std::vector<ExprId> apart(axes.apart.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (std::ranges::find(axes.rows, d) != axes.rows.end()) continue;
    const ExprId target = stage.target[d];
    const std::optional<IndexForm> at = index_form(pool, target, stage.domain);
    int64_t below = 1;
    for (const Digit& digit : digits_of(pool, stage, target)) {
      const int64_t extent = stage.domain.extents[digit.axis];
      if (digit.scale != below || at->form.constant() != 0) return std::nullopt;
      ExprId axis = coordinates[d];
      if (below > 1) axis = pool.make(Op::FloorDiv, {axis, pool.constant_int(below)});
      below = checked_mul(below, extent);
      if (below < shape[d]) axis = pool.make(Op::Mod, {axis, pool.constant_int(extent)});
      const auto k = std::ranges::find(axes.apart, digit.axis) - axes.apart.begin();
      apart[static_cast<size_t>(k)] = axis;
    }
    if (below != shape[d]) return std::nullopt;
  }
  return apart;
}

}  // namespace adjit::sched
