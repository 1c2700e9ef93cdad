// jit/emit/shape/tile_versions.cpp -- which versions of a tile pay, and what they suppose.
#include "jit/emit/shape/tile_versions.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "autosched/machine/thresholds.hpp"
#include "autosched/program/limits.hpp"

namespace adjit::emit {
namespace {

/// Whether so many versions of the tile are not too much code.
bool are_small(const NestShape& shape, size_t nodes, size_t versions) {
  auto all = static_cast<double>(nodes * versions);
  for (size_t c : shape.unrolled_loops) all *= static_cast<double>(shape.nest->loops[c].trips);
  return all <= kInteriorNodes;
}

/// The extreme of a resolved form among the threads of a warp: those that do not agree on a version
/// of the tile go through several, one after the other.
Affine extreme_in_warp(const NestShape& shape, Affine form, Extreme extreme) {
  int64_t threads = 1;
  for (size_t l = shape.nest->loops.size(); l-- > 0;) {
    const Loop& loop = shape.nest->loops[l];
    if (loop.kind != LoopKind::Thread) continue;
    if (threads >= sched::kWarpThreads) break;
    threads *= loop.trips;
    const int64_t scale = form.coefficient(loop.variable);
    form.set_coefficient(loop.variable, 0);
    if ((scale > 0) == (extreme == Extreme::Largest)) form += Affine(scale * (loop.trips - 1));
  }
  return form;
}

/// Of the points of a tile, and of the threads of a warp.
Affine smallest_in_tiles(const NestShape& shape, const KernelVariables& variables,
                         const Affine& form) {
  return extreme_in_warp(shape, variables.resolve(extreme_in_tile(shape, form, Extreme::Smallest)),
                         Extreme::Smallest);
}

Constraints with_results(const NestConstraints& constraints) {
  Constraints all = constraints.tile;
  all.insert(all.end(), constraints.results.begin(), constraints.results.end());
  return all;
}

/// The form that is negative where the constraints leave all points of a vector out, if one alone
/// may be, and is often enough.
std::optional<Affine> often_negative(const NestShape& shape, const Constraints& constraints,
                                     const KernelVariables& variables, int64_t vector) {
  constexpr double kWorthAVersion = 0.2;  // of the steps
  std::optional<Affine> condition;
  for (const AffineConstraint& constraint : constraints) {
    if (!has_extremes(shape, constraint) || !differs_in_lanes(shape, constraint)) continue;
    Affine largest = extreme_in_warp(
        shape,
        variables.resolve(extreme_in_vector(shape, constraint.form, vector, Extreme::Largest)),
        Extreme::Largest);
    if (variables.range(largest).lo >= 0) continue;
    if (condition) return std::nullopt;
    condition = std::move(largest);
  }
  if (!condition) return std::nullopt;
  const Interval range = variables.range(*condition);
  if (static_cast<double>(-range.lo) <
      kWorthAVersion * static_cast<double>(range.hi - range.lo + 1))
    return std::nullopt;
  return condition;
}

}  // namespace

Constraints asked_at(const NestShape& shape, const Constraints& tile, Border border) {
  Constraints asked = tile;
  std::erase_if(asked, [&](const AffineConstraint& constraint) {
    if (border == Border::Any || !has_extremes(shape, constraint)) return false;
    return border == Border::None || !differs_in_lanes(shape, constraint);
  });
  return asked;
}

bool has_interior(const NestShape& shape, const Constraints& tile, const KernelVariables& variables,
                  size_t nodes) {
  if (shape.is_scatter() || shape.tile_begin == 0 || !are_small(shape, nodes, 1)) return false;
  double inside = 1;
  bool any = false;
  for (const AffineConstraint& constraint : tile) {
    if (!has_extremes(shape, constraint)) continue;
    const Affine smallest = smallest_in_tiles(shape, variables, constraint.form);
    const Interval range = variables.range(smallest);
    if (range.hi < 0) return false;
    if (range.lo >= 0) continue;
    any = true;
    inside *= static_cast<double>(range.hi + 1) / static_cast<double>(range.hi - range.lo + 1);
  }
  return any && inside >= thresholds().interior_share;
}

std::vector<Affine> interior(const NestShape& shape, const Constraints& tile,
                             const KernelVariables& variables, bool in_lanes) {
  std::vector<Affine> forms;
  for (const AffineConstraint& constraint : tile)
    if (has_extremes(shape, constraint) && differs_in_lanes(shape, constraint) == in_lanes)
      forms.push_back(smallest_in_tiles(shape, variables, constraint.form));
  return forms;
}

std::vector<Affine> may_have_results(const NestShape& shape, const NestConstraints& constraints,
                                     const KernelVariables& variables) {
  std::vector<Affine> forms;
  for (const AffineConstraint& constraint : with_results(constraints)) {
    if (!has_extremes(shape, constraint) || shape.uses_reduction(constraint.form)) continue;
    Affine largest = variables.resolve(extreme_in_tile(shape, constraint.form, Extreme::Largest));
    if (variables.range(largest).lo < 0) forms.push_back(std::move(largest));
  }
  return forms;
}

std::vector<LeftOut> vectors_left_out(const NestShape& shape, const NestConstraints& constraints,
                                      std::span<const int64_t> limits,
                                      const KernelVariables& variables, size_t nodes) {
  std::vector<LeftOut> found;
  if (shape.is_scatter() || shape.running || !shape.lane_loop || shape.lanes_in_reduction())
    return found;
  const Constraints all = with_results(constraints);
  std::set<int64_t> vectors;
  for (const TileInstance& instance : shape.instances(limits, false))
    vectors.insert(shape.offset_along(shape.nest->loops[*shape.lane_loop].axis, instance));
  for (const int64_t vector : vectors) {
    std::optional<Affine> condition = often_negative(shape, all, variables, vector);
    if (!condition) continue;
    if (!found.empty() && !(*condition - found[0].condition).is_constant()) continue;
    found.push_back({vector, std::move(*condition)});
  }
  std::ranges::stable_sort(found, {}, [](const LeftOut& one) { return one.condition.constant(); });
  // Where all of them may be, the last one's condition bounds the loop.
  if (!found.empty() && found.size() == vectors.size()) found.pop_back();
  if (!are_small(shape, nodes, found.size() + 1)) found.clear();
  return found;
}

Constraints asked_of_vector(const NestShape& shape, Constraints asked,
                            const KernelVariables& variables, int64_t vector,
                            const Affine& not_negative) {
  std::erase_if(asked, [&](const AffineConstraint& constraint) {
    if (!has_extremes(shape, constraint) || !differs_in_lanes(shape, constraint)) return false;
    const Affine smallest =
        variables.resolve(extreme_in_vector(shape, constraint.form, vector, Extreme::Smallest));
    const Affine beyond = smallest - not_negative;
    return beyond.is_constant() && beyond.constant() >= 0;
  });
  return asked;
}

}  // namespace adjit::emit
