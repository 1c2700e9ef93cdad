// jit/emit/pipeline.hpp -- what a block computes ahead of the iterations that read it (Pipelines,
// program.hpp).
//
// With b buffers, iterations 0 to b - 2 are computed in front of the loop. Iteration t of the loop
// waits for its buffer, at a barrier, behind which nobody reads the buffer of iteration t - 1 any
// more: there goes what is computed for iteration t + b - 1. What that only copies, asynchronous
// copies do; what it loads to put it elsewhere, or to compute something of it, is in registers
// while iteration t computes, and is stored at its end.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/emit/ir/late_stores.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

/// Of a serial loop that all threads of a block go through in step.
class Pipeline {
 public:
  /// Emits what is attached in the iteration that the loop's variable is bound to.
  using Compute = std::function<void(const Nest::Attached&)>;
  /// `nest` must outlive it.
  Pipeline(NestContext& nest, size_t loop, Compute compute);

  /// Whether nothing directly inside the loop has several buffers.
  bool empty() const { return ahead_.empty(); }
  /// In front of the loop over trips [lo, hi).
  void begin(llvm::Value* lo, llvm::Value* hi);
  /// At the beginning of an iteration: the loop's variable may be bound to another trip until it is
  /// bound again.
  void advance(llvm::Value* trip, llvm::Value* hi);
  /// At its end.
  void finish();

 private:
  llvm::Value* compute(llvm::Value* trip, llvm::Value* hi, LateStores* late);
  void select_buffers(llvm::Value* trip);

  NestContext& nest_;
  const Loop& loop_;
  const Compute compute_;
  std::vector<const Nest::Attached*> ahead_;
  int64_t buffers_ = 1;
  std::optional<LateStores> late_;   // of the iteration at hand
  llvm::Value* computes_ = nullptr;  // i1: whether anything was computed in it
};

}  // namespace adjit::emit
