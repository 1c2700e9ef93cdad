// autosched/gpu/join_sums.hpp -- sums over the same pairs, whose values one kernel computes.
//
//   u[i, c] = sum over k of exp(-t(i, k)) * v[k, c]
//   w[i, d] = sum over k of exp(-t(i, k)) * s(i, k) * (x[i, d] - y[k, d])
// differ in their last axes, which are short, and not in what costs most. With these points apart
// they are sums over the same domain, which siblings of one kernel are (group_siblings.hpp).
#pragma once

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Computes the points of short axes of sums by stages of their own (split_points), where one
/// kernel for these is predicted to take clearly less than kernels of the sums as they are. The
/// pass that fuses siblings makes it one. Before anything is attached, or has loops.
Program split_for_joint_sums(Program program, const GpuMachine& machine);

}  // namespace adjit::sched
