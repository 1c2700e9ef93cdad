// autosched/gpu/factor_sums.hpp -- sums whose terms have factors in common along a short axis.
#pragma once

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Takes what a short axis does not move out of each sum (factor_out), where that is computed for
/// results along which the rest stays the same: a multiply-add of each result is then left where
/// there were several.
Program factor_sums(Program program);

}  // namespace adjit::sched
