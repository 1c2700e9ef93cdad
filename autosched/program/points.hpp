// autosched/program/points.hpp -- points of a domain's box, and how large forms get in it.
#pragma once

#include <cstdint>

#include "runtime/graph/domain.hpp"

namespace adjit::sched {

/// Points of a domain's box (not less than 1, saturating).
double box_points(const Domain& domain);
/// Points of the box of its reduction axes: terms of a result.
double terms_of(const Domain& domain);

/// The share of the box's points that a domain has, counted at 512 points all over it.
double share_of_box(const Domain& domain);

/// Whether the form, at the points of the box and some behind it, has room in 64 bits: code and
/// cost compute it beyond the last point, in lanes and tiles.
bool fits_in_code(const Domain& domain, const Affine& form);

/// The largest power of two that is no larger; 1 of less than 1.
int64_t power_below(double count);

}  // namespace adjit::sched
