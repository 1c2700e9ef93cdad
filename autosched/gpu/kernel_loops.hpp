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

  /// The loops of a kernel that is a product, or in which one is computed tile by tile
  /// (fuse_epilogues.hpp); nullopt: it is none, or shared memory does not hold its tiles. `root`:
  /// of a kernel whose nests are plain.
  std::optional<Program> product_tiles(const Program& program, size_t root);
  /// Those of any other kernel, and of such a one, too; one that has them (fuse_columns.hpp) stays.
  Program operator()(Program program, size_t root);

 private:
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
