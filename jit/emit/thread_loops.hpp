// jit/emit/thread_loops.hpp -- the loops of a nest whose iterations are the threads of a block.
#pragma once

#include <functional>
#include <vector>

#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

/// Points of its axis from the current iteration of a bound loop on.
Affine points_left(const KernelContext& kernel, const NestShape& shape, size_t loop);

/// Of a nest that the threads of a block run together, or of one without such loops.
class ThreadLoops {
 public:
  /// `nest` must outlive it.
  explicit ThreadLoops(NestContext& nest);

  /// Gives the loops the trips of each thread, known from the current scope on. Again where another
  /// scope has ended.
  void bind_all();
  void bind(size_t loop);
  /// Those inside a loop: where a scope has ended in which they were bound.
  void bind_inside(size_t loop);
  /// Of the loops in order, i32: what number the thread has in each.
  const std::vector<llvm::Value*>& trips() const { return trips_; }
  /// What is inside where a thread has a part in the nest.
  Carried of_threads(Carried carried, const std::function<Carried(Carried)>& inside);
  /// Whether a thread has a part in it, and all points of results that are its own lie inside.
  llvm::Value* has_results();

 private:
  llvm::Value* has_part();

  const NestShape& shape_;
  const std::vector<Loop>& loops_;
  KernelContext& kernel_;
  std::vector<llvm::Value*> trips_;
};

}  // namespace adjit::emit
