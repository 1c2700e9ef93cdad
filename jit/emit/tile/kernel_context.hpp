// jit/emit/tile/kernel_context.hpp -- what all nests of a kernel share.
#pragma once

#include <utility>
#include <vector>

#include "autosched/program/program.hpp"
#include "jit/emit/scopes/emission.hpp"
#include "jit/emit/shape/places.hpp"
#include "jit/emit/tile/thread_block.hpp"

namespace adjit::emit {

/// What all nests of a kernel share.
struct KernelContext : Emission {
  const Program& program;
  TensorPlaces& places;
  size_t operations = 0;         // of the instances of bodies emitted so far
  double unrolled_work = 0;      // vector instructions of the unrolled ones among them
  bool streams = false;          // what nests stream, they may (streaming.hpp)
  ThreadBlock* block = nullptr;  // whose threads run a task together; null: a task is a thread's
  /// Where loops around the nest at hand are, over the kernel's variables, and the largest value:
  /// that of an axis, where two loops over it may add up to more.
  std::vector<std::pair<Affine, int64_t>> origins = {};
};

}  // namespace adjit::emit
