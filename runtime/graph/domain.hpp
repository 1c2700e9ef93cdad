// runtime/graph/domain.hpp -- the iteration domain of a stage: a conjunction of affine, // and %
// conditions.
//
// Variables are numbered: the axes first (output axes, then reduction axes), then the divisions.
// Axis k runs over 0 <= axis < extents[k]. Division q is floor(numerator / divisor), where its
// numerator may use all axes and earlier divisions. Rows restrict the box: `inequalities` hold as
// >= 0, `equalities` as == 0. `e % d` is written e - d * floor(e / d), so that // and % need no
// rows of their own. A domain is closed under the derivative (fibres of index maps,
// runtime/domain); min/max loop bounds are made when nests are built.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/expr/affine.hpp"
#include "runtime/expr/interval.hpp"

namespace adjit::graph {

struct Division {
  Affine numerator;
  int64_t divisor = 1;  // >= 1
  bool operator==(const Division&) const = default;
};

struct Domain {
  std::vector<int64_t> extents;  // per axis, >= 0; output axes first
  size_t output_rank = 0;        // how many of the axes are output axes
  std::vector<Division> divisions;
  std::vector<Affine> inequalities;  // >= 0
  std::vector<Affine> equalities;    // == 0

  size_t rank() const { return extents.size(); }
  size_t reduction_rank() const { return extents.size() - output_rank; }
  size_t variable_count() const { return extents.size() + divisions.size(); }
  /// True when no row restricts the box.
  bool is_box() const { return inequalities.empty() && equalities.empty(); }
  /// Product of the extents; ErrorCode::Bounds on overflow.
  int64_t box_points() const;

  /// Bounds of a form at the points of the box, each term and division by itself; rows do not
  /// count, an empty axis counts as one point. Raises Overflow where it may leave int64.
  ValueRange box_range(const Affine& form) const;

  /// Appends floor(numerator / divisor), or finds the equal one; returns its variable number.
  size_t add_division(const Affine& numerator, int64_t divisor);

  /// Marks the axes that a form uses, by themselves or in divisions.
  void mark_axes(const Affine& form, std::vector<bool>& axes) const;
  /// Whether a form uses the axis so.
  bool mentions(const Affine& form, size_t axis) const;
  /// Whether a row does.
  bool is_bounded(size_t axis) const;

  /// The values of all variables at a point of the axes (appends the divisions).
  std::vector<int64_t> variables_at(std::span<const int64_t> axes) const;
  /// Whether the point (one value per axis, inside the box) satisfies every row.
  bool contains(std::span<const int64_t> axes) const;

  bool operator==(const Domain&) const = default;
};

/// Every point of a shape, as output axes.
Domain shape_box(std::vector<int64_t> shape);

}  // namespace adjit::graph
