// autosched/gpu/kernel_loops.hpp -- which loops the kernels of a GPU have.
//
// A product is computed tile by tile; a task is a block's where its threads have something to
// share, else a thread's, which computes several results where they have something in common.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "autosched/decisions/choices.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Gives kernels their loops, one after the other, from the last one of the program on: one in
/// front may come into the loops of one behind it. Linear in a kernel's stages, but for products.
class KernelLoops {
 public:
  /// `program`: before the first of its kernels; machine and choices must outlive this.
  KernelLoops(const Program& program, const GpuMachine& machine, Choices& choices);

  /// `root`: of a kernel whose nests are plain.
  Program operator()(Program program, size_t root);

 private:
  std::optional<Program> with_product_tiles(const Program& program, size_t root, Choices& choices);
  Program usual_loops(Program program, size_t root, Choices& choices);
  Program loops_alone(Program program, size_t root, Choices& choices);
  std::optional<size_t> sum_for(const Program& program, size_t root) const;
  double microseconds_alone(const Program& program, size_t stage);

  const GpuMachine& machine_;
  Choices& choices_;
  bool from_memory_;
  std::vector<bool> sums_;  // per tensor: a reduction's result
};

}  // namespace adjit::sched
