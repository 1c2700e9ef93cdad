// autosched/gpu/part_cost.cpp -- how long a part of a program would take.
#include "autosched/gpu/part_cost.hpp"

#include <utility>

#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/kernel_loops.hpp"
#include "autosched/gpu/split_reductions.hpp"

namespace adjit::sched {

double microseconds_of_kernels(Program part, const GpuMachine& machine, bool from_memory) {
  Choices unasked;
  KernelLoops kernel_loops(part, machine, unasked);
  for (size_t behind = 0; behind < part.kernels.size(); ++behind) {
    const size_t root = part.kernels[part.kernels.size() - 1 - behind].root.stage;
    part = kernel_loops(std::move(part), root);
  }
  double microseconds = 0;
  for (size_t kernel = 0; kernel < part.kernels.size(); ++kernel)
    microseconds += predict_kernel(part, kernel, machine, from_memory).microseconds;
  return microseconds;
}

double microseconds_of_part(Program part, const GpuMachine& machine, bool from_memory) {
  return microseconds_of_kernels(split_long_reductions(std::move(part), machine), machine,
                                 from_memory);
}

}  // namespace adjit::sched
