// autosched/gpu/cost/thread_work.hpp -- instructions that threads execute for the values of a nest.
#pragma once

#include "autosched/gpu/cost/reuse.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Of all threads, in one run: each value is computed in the innermost loop that it changes with,
/// by every thread, since threads share no registers. Loads, stores and addresses are not counted.
double operations_of(const LoweredGraph& graph, const NestRoles& nest);

}  // namespace adjit::sched
