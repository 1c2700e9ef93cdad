// autosched/cpu/schedule_kernels.hpp -- the pass that makes the loops of all kernels.
#pragma once

#include "autosched/cpu/pass_list.hpp"

namespace adjit::sched {

/// The loops of every kernel that has plain ones, and the steps of scans, which go through the
/// whole list of passes. Panels of operands that a product has not taken into its loops come last.
/// Where attempts are cautious, a kernel that a move refuses keeps its plain loops.
Program schedule_kernels(Program program, ScheduleContext& context);

}  // namespace adjit::sched
