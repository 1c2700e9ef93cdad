// runtime/domain/fibre.hpp -- the fibre of an index map: all points of a domain that touch one
// element.
//
// The adjoint of a read X[index(i, r)] adds, for every element j of X, over the set
//     { (i, r) in domain : index(i, r) = j }.
// `fibre` re-parametrises that set by dense free axes t, so that the adjoint is a gather, parallel
// over j, with no wasted iteration. Example, a convolution of stride 2, X[2*h + k - 1] with 0 <= h
// < 4, 0 <= k < 3:
//     axes (j | t), t < 2;  d0 = floor((j + 1) / 2);  k = 2*t + (j + 1) - 2*d0,  h = d0 - t,
//     rows: k <= 2, h >= 0, h <= 3 (those that are not implied).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/domain.hpp"

namespace adjit::domain {

/// One disjoint piece of { (i, r) in source : index(i, r) = j }.
///
/// The points of `domain` and the points of that set correspond one to one: at each point (j, t) of
/// `domain`, `original` gives the source axes.
struct FibrePiece {
  /// Output axes: j, extents = the target's shape. Reduction axes: the free axes t, each over
  /// 0 <= t < extent with tight constant extents, in the order of the source axes they stem from;
  /// an axis t that is a source axis *is* that axis, unshifted where its values start at 0.
  /// Divisions: derived floors over j and, where unavoidable, t. Rows: conditions on j (lin == d *
  /// floor(lin / d) where lin must be divisible by d) and bounds of t; none that the others imply.
  Domain domain;
  /// Each axis of the source (output axes, then reduction axes; not its divisions) as an affine
  /// form over domain's variables (j, t, divisions).
  std::vector<Affine> original;
  /// Eliminations that were not exact when bounding the axes t in their order. 0 promises that
  /// loop_bounds over the axes t leaves no outer iteration without points, unless one of its loops
  /// has a guard.
  int64_t inexact = 0;
};

/// The fibres of `index` over all elements j of the target.
///
/// index: one affine form per coordinate of the target, over source's variables (its axes, then its
/// divisions). Points whose index lies outside `target_shape` belong to no fibre. The pieces are
/// disjoint and together complete; none when no point reaches the target.
///
/// Canonical and deterministic: an axis that an equation fixes vanishes; among the axes that an
/// equation couples the one with the largest extent is expressed by the others (so a convolution
/// keeps its kernel axes), reduction axes survive before output axes at equal extents. Axes that
/// take one value vanish.
///
/// std::nullopt when the solver's budget is exceeded (rows, overflow): the caller scatters instead.
/// Bounded in time, never wrong. Pure and thread-safe. ErrorCode::Internal when index and
/// target_shape differ in rank.
std::optional<std::vector<FibrePiece>> fibre(const Domain& source, std::span<const Affine> index,
                                             std::span<const int64_t> target_shape);

}  // namespace adjit::domain
