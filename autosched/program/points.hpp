// autosched/program/points.hpp -- how many points a domain's box has.
#pragma once

#include "runtime/graph/domain.hpp"

namespace adjit::sched {

/// Points of a domain's box (not less than 1, saturating).
double box_points(const Domain& domain);
/// Points of the box of its reduction axes: terms of a result.
double terms_of(const Domain& domain);

}  // namespace adjit::sched
