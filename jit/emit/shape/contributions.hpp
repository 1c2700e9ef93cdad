// jit/emit/shape/contributions.hpp -- in which order the instances of a reduction's tile are added
// up, and which of them stand behind one condition.
//
// Instances along an axis of the results and instances along one of the reduction often read the
// same element: x(k + r) of (k, r) = (0, 1) and (1, 0). One after the other, they take it from one
// register; with all k of one r before the next r, it would stay in a register for all of them.
// Where a constraint says whether that element is in the image, it is asked once for all.
//
// Values: no code is made here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/emit/shape/nest_shape.hpp"

namespace adjit::emit {

/// Numbers of one of the results' instances and of one of the reduction's.
struct Contribution {
  size_t output, reduction;
  bool operator==(const Contribution&) const = default;
};

/// The instances of a tile of a reduction.
struct ReductionInstances {
  /// Those inside the first `limits` points of the tile's axes.
  ReductionInstances(const NestShape& shape, std::span<const int64_t> limits);

  TileInstance at(const Contribution& one) const;
  /// The first point of its vector of results, from the tile's; there are lanes.
  int64_t vector_of(const Contribution& one) const;
  /// The number of the accumulator that takes it, where each of the results has so many chains.
  size_t accumulator_of(const Contribution& one, size_t chains) const;

  const NestShape* shape;
  std::vector<TileInstance> outputs, reductions;
};

/// All of them, those of one instance of the reduction after the other.
std::vector<Contribution> all_contributions(size_t outputs, size_t reductions);

/// Where a read finds its element, for each of all_contributions: relative to any place. Empty
/// where that is not known.
using ReadPlaces = std::vector<int64_t>;

/// All contributions, those that read the same element together, by its place, where some read is
/// shared. Every result takes its contributions in the order of the reduction.
std::vector<Contribution> order_by_shared_reads(size_t outputs, size_t reductions,
                                                std::span<const ReadPlaces> reads);

/// Contributions that the same conditions decide, one behind the other.
struct ContributionGroup {
  std::vector<Contribution> contributions;
  std::vector<Affine> conditions;  // all are at least 0, or none contributes anything
};
/// The runs of `order` whose conditions (`of`: for each) are the same; none where such runs are too
/// short to branch for.
std::vector<ContributionGroup> groups_by_conditions(const std::vector<Contribution>& order,
                                                    std::vector<std::vector<Affine>> of);

}  // namespace adjit::emit
