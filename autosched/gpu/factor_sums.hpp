// autosched/gpu/factor_sums.hpp -- sums whose terms have factors in common along a short axis.
#pragma once

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Takes factors that do not depend on an axis of two points out of each sum (factor_out), where
/// they depend on an axis of its results that the others do not depend on, and that is predicted
/// to take no longer: along the axis, each result is then left with one multiply-add of two.
Program factor_sums(Program program, const GpuMachine& machine);

}  // namespace adjit::sched
