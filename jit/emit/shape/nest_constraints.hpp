// jit/emit/shape/nest_constraints.hpp -- the constraints of a nest's points, by where they are
// asked, and their extremes in a tile.
//
// Values of the program alone: no code is made here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/emit/shape/nest_shape.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/graph/affine_constraint.hpp"

namespace adjit::emit {

/// Of points, over their stage's axes and its domain's divisions.
using Constraints = std::vector<AffineConstraint>;

struct NestConstraints {
  /// `first_points`: per axis, where the nest's first point may be. `reads_anywhere`: whether the
  /// stage's body may be evaluated at points that fulfil no constraint.
  NestConstraints(const Program& program, const NestShape& shape,
                  std::span<const Interval> first_points, bool reads_anywhere);

  Constraints outer;               // decided outside the reduction loops that carry accumulators
  std::vector<Constraints> loops;  // per one of those: decided in it
  Constraints tile;                // differ between the points of a tile
  /// These do, too, but say only which results are empty: asked when results are stored.
  Constraints results;
  Constraints has_place;  // of points that have a place in memory
};

enum class Extreme : uint8_t { Smallest, Largest };

/// Whether it has extremes in a tile: it is an inequality without divisions.
bool has_extremes(const NestShape& shape, const AffineConstraint& constraint);
bool differs_in_lanes(const NestShape& shape, const AffineConstraint& constraint);
/// Whether a constraint of the tile's points bounds a reduction loop: the innermost one that it
/// depends on, where it is linear in that loop's variable and those of the tile.
bool bounds_loop(const NestShape& shape, const AffineConstraint& constraint, size_t loop);

/// The extreme of a form without divisions among the points of a tile, over the variables of the
/// loops outside it.
Affine extreme_in_tile(const NestShape& shape, const Affine& form, Extreme extreme);
/// The same of the tile's points in one vector of results, whose first point is `vector` points
/// behind the tile's.
Affine extreme_in_vector(const NestShape& shape, const Affine& form, int64_t vector,
                         Extreme extreme);

}  // namespace adjit::emit
