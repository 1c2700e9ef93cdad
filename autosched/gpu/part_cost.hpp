// autosched/gpu/part_cost.hpp -- how long a part of a program would take, for passes that try what
// they may do.
#pragma once

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Microseconds that the kernels of a part (part_of_program.hpp) are predicted to take with the
/// loops that KernelLoops gives them; products count as other sums. `from_memory`: leaves_l2 of the
/// program that it is a part of.
double microseconds_of_kernels(Program part, const GpuMachine& machine, bool from_memory);
/// The same with long reductions split before. Nothing else is fused.
double microseconds_of_part(Program part, const GpuMachine& machine, bool from_memory);

}  // namespace adjit::sched
