// jit/emit/nest.hpp -- one loop nest of a program as IR.
//
// Loops outside the reduction: parallel and serial loops over output axes (and, blocked, over
// reduction axes). Then the *inner reduction loops*, which carry one accumulator per unrolled
// instance and lane. Then the tile: unrolled instances of the body over vectors of lanes.
#pragma once

#include <cstdint>
#include <set>

#include "jit/emit/nest_loops.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/tile/accumulators.hpp"
#include "jit/emit/tile/nest_context.hpp"
#include "jit/emit/tile/reduction.hpp"

namespace adjit::emit {

class NestEmitter {
 public:
  /// Enclosing variables are bound. `by_block`: whether a block's threads run it together, and not
  /// each thread for itself. Both must outlive it.
  NestEmitter(KernelContext& context, const Nest& nest, bool by_block);

  /// Emits the whole nest at the builder's position. `task` numbers the iteration of the parallel
  /// loops when the nest has any.
  void emit(llvm::Value* task = nullptr);

 private:
  Carried inside(size_t depth, Carried carried);
  Carried behind_attached(size_t depth, Carried carried);
  size_t emit_attached(size_t depth);
  void compute(const Nest::Attached& attached, bool by_block);
  std::set<uint32_t> wait_for_reads(const Nest& nest);
  void add_origins(size_t depth);
  void emit_points();
  void store_combined(const Carried& accumulators);
  void store_tile(const std::vector<Partial>& partials);
  Carried reduce(const Emitted& condition, Carried accumulators);
  Carried run_on(const Carried& before);
  Carried emit_tile(Carried accumulators);

  NestContext nest_;
  ThreadLoops threads_;
  NestLoops loops_;
  AccumulatorEmitter accumulators_;
  ReductionEmitter reduction_;
};

}  // namespace adjit::emit
