// autosched/scatter_schedule.hpp -- the default schedule of scatters and of running reductions:
// tasks and lanes along axes whose points are independent, parts where a scatter has none.
#pragma once

#include "autosched/heuristic.hpp"

namespace adjit {

/// Splits long scatters into few elements, which have no axis that writes apart, into parts.
Program split_scatters(Program program);

/// The loops of one scatter's, or one running reduction's, nest.
Program schedule_scatter(Program program, size_t stage, const Target& target);

}  // namespace adjit
