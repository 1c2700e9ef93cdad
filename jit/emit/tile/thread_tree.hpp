// jit/emit/tile/thread_tree.hpp -- what the threads of a block have accumulated, combined.
//
// Threads that differ in loops over a reduction alone are a *group*: each has partial results of
// the same elements. They are combined in an order that the program fixes, by shuffles, through the
// block's memory, or both (Exchange in shared_memory.hpp). In the end the group's first thread has
// the whole.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/emit/operations/combine.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class ThreadTree {
 public:
  /// A nest whose threads differ in loops over its reduction, or nothing is to be combined. Both
  /// must outlive it; `trips`: of its Thread loops in order, i32.
  ThreadTree(NestContext& nest, const std::vector<llvm::Value*>& trips);

  /// Takes scalars, or vectors of the lanes of results. To be emitted where all threads of the
  /// block come to it. What others than the first thread of a group get means nothing.
  std::vector<Partial> combined(std::vector<Partial> partials);
  /// Whether a thread is the first of its group.
  llvm::Value* is_first() const;

 private:
  std::vector<Partial> by_shuffles(std::vector<Partial> partials, int64_t threads);
  std::vector<Partial> by_warps(std::vector<Partial> partials);
  std::vector<Partial> one_after_the_other(std::vector<Partial> partials);

  NestContext& nest_;
  KernelContext& kernel_;
  llvm::IRBuilder<>& builder_;
  sched::ThreadGroups groups_;
  llvm::Value* in_group_;      // number of the thread in its group, i32
  llvm::Value* group_number_;  // i32
};

}  // namespace adjit::emit
