// jit/emit/local_results.hpp -- buffers inside a kernel for what its nests compute for each other.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "autosched/program/program.hpp"
#include "jit/emit/ir/target.hpp"
#include "jit/emit/shape/places.hpp"
#include "jit/emit/tile/thread_block.hpp"

namespace adjit::emit {

/// Where a kernel's buffers are made.
struct LocalMemory {
  llvm::IRBuilder<>& builder;  // in the function's first block: the stack
  const TargetFeatures& features;
  ThreadBlock* block = nullptr;  // whose memory holds what its threads compute together, or null
};

/// Gives the results of a kernel's nests that are local to it buffers of exactly their regions.
/// ErrorCode::Schedule where the stack holds no more.
void place_local_results(const Program& program, const Kernel& kernel, const LocalMemory& memory,
                         TensorPlaces& places);

}  // namespace adjit::emit
