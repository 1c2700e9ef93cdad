// jit/emit/nest_loops.hpp -- the loops of a nest outside its tile: tasks, bounds, guards, and the
// versions for whole and ragged tiles.
//
// Where an axis is not a whole number of tiles, the loop that steps over them gets a second version
// of what is inside it, for the points that are left.
#pragma once

#include <functional>
#include <vector>

#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class NestLoops {
 public:
  /// Emits what is inside the loops [0, depth) of the nest.
  using Inside = std::function<Carried(size_t depth, Carried carried)>;
  /// `nest` must outlive it.
  NestLoops(NestContext& nest, Inside inside);

  /// What is inside all parallel loops, in the iteration that `task` numbers.
  void emit_task(llvm::Value* task);
  /// Of a nest that a block's threads run together: gives the loops of threads the trips of each,
  /// known from the current scope on. Again where another scope has ended.
  void bind_threads();
  const std::vector<llvm::Value*>& thread_trips() const { return thread_trips_; }  // i32
  /// What is inside where a thread has a part in the nest.
  Carried of_threads(Carried carried, const std::function<Carried(Carried)>& inside);
  /// Whether a thread has a part in it, and all points of results that are its own lie inside.
  llvm::Value* has_results();
  /// A loop and all that is inside it.
  Carried emit(size_t loop, Carried carried);

 private:
  void bind_task(size_t loop);
  void bind_thread(size_t loop);
  llvm::Value* has_part();
  Affine left_after(size_t loop) const;
  Carried parallel(size_t loop, Carried carried);
  Carried thread(size_t loop, Carried carried);
  Carried whole_or_ragged(size_t loop, Carried carried);
  void wait_for_last_iteration(size_t loop);
  Carried serial(size_t loop, Carried carried);
  llvm::Value* points_of(size_t loop);
  Carried whole_and_ragged(size_t loop, llvm::Value* points, Carried carried);
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
  const NestShape& shape_;
  const std::vector<Loop>& loops_;
  KernelContext& kernel_;
  const Inside inside_;
  std::vector<llvm::Value*> task_trips_;    // per parallel loop
  std::vector<llvm::Value*> thread_trips_;  // per loop of threads, in order
};

}  // namespace adjit::emit
