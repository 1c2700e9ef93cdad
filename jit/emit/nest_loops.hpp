// jit/emit/nest_loops.hpp -- the loops of a nest outside its tile: tasks, bounds, guards, and the
// versions for whole and ragged tiles.
//
// Where an axis is not a whole number of tiles, the loop that steps over them gets a second version
// of what is inside it, for the points that are left.
#pragma once

#include <functional>
#include <vector>

#include "jit/emit/pipeline.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/thread_loops.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class NestLoops {
 public:
  /// Emits what is inside the loops [0, depth) of the nest.
  using Inside = std::function<Carried(size_t depth, Carried carried)>;
  /// References must outlive it.
  NestLoops(NestContext& nest, ThreadLoops& threads, Inside inside, Pipeline::Compute compute);

  /// What is inside all parallel loops, in the iteration that `task` numbers.
  void emit_task(llvm::Value* task);
  /// A loop and all that is inside it.
  Carried emit(size_t loop, Carried carried);

 private:
  void bind_task(size_t loop);
  Carried thread(size_t loop, Carried carried);
  Carried whole_or_ragged(size_t loop, Carried carried);
  void wait_for_last_iteration(size_t loop);
  Carried serial(size_t loop, Carried carried);
  llvm::Value* points_of(size_t loop);
  Carried whole_and_ragged(size_t loop, llvm::Value* points, Carried carried);
  void segment(size_t loop, llvm::Value* lo, llvm::Value* hi);
  Carried iterations(size_t loop, llvm::Value* lo, llvm::Value* hi, bool at_least_once,
                     Carried carried);
  Carried guarded(size_t loop, Carried carried);
  llvm::Value* trips_before(size_t loop, llvm::Value* points);
  struct Bounds {
    llvm::Value *lo, *hi;  // points
    bool narrowed;         // by constraints
  };
  Bounds bounds(size_t loop, llvm::Value* points);

  NestContext& nest_;
  ThreadLoops& threads_;
  const NestShape& shape_;
  const std::vector<Loop>& loops_;
  KernelContext& kernel_;
  const Inside inside_;
  const Pipeline::Compute compute_;
  std::vector<llvm::Value*> task_trips_;  // per parallel loop
};

}  // namespace adjit::emit
