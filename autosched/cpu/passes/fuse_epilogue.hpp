// autosched/cpu/passes/fuse_epilogue.hpp -- what is made of a product's results, tile by tile.
//
// A stage that takes every result of a matrix product once (an activation, a bias, a residual) may
// run as the product's epilogue: its loops step over the product's register tiles, and each tile is
// computed into a local buffer inside them. Results then neither leave L1 nor wait
// for all others. What that spares is one pass over them, which counts beside short sums.
#pragma once

#include <optional>

#include "autosched/cpu/passes/loops/kernel.hpp"

namespace adjit::sched {

/// Whether a product sums so few terms that a pass over its results counts beside them.
bool is_short_sum(const Domain& domain);

/// The stage to run as epilogue of a product (the root of a kernel with plain loops), if there is
/// one and it is worth it.
std::optional<size_t> epilogue_of(const Program& program, size_t product, const CpuMachine& machine,
                                  const ReductionPlans& plans, const TaskLoops& tasks,
                                  Choices& choices);

/// Schedules both: the kernel of the product becomes part of the epilogue's.
Program schedule_epilogue(Program program, size_t product, size_t epilogue,
                          const ReductionPlans& plans, Choices& choices);

}  // namespace adjit::sched
