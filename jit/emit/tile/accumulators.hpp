// jit/emit/tile/accumulators.hpp -- the accumulators of a reduction's tile: what they begin with,
// and the results that they become.
//
// Accumulators are ordered by instance of the results, then by chain (see NestShape::chain_of),
// then by component. Reduction loops outside them are *passes*: all but the first go on from the
// partial results that the one before stored.
#pragma once

#include <vector>

#include "jit/emit/operations/combine.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class AccumulatorEmitter {
 public:
  /// `nest` must outlive it.
  explicit AccumulatorEmitter(NestContext& nest);

  Carried initial();
  /// Stores the results: chains and lanes of a reduction are folded.
  void store(const Carried& accumulators);
  /// What a thread has of each of the results: chains and lanes folded, for store_results().
  std::vector<Partial> folded(const Carried& accumulators);
  void store_results(const std::vector<Partial>& partials);

 private:
  llvm::Value* is_first_pass();
  llvm::Value* is_last_pass();
  std::vector<Partial> folded_chains(const Carried& accumulators, size_t outputs);
  void store_results(const std::vector<TileInstance>& outputs, std::vector<Partial> partials);
  void store_folded_lanes(const std::vector<TileInstance>& outputs, std::vector<Partial> partials);
  llvm::Value* or_identity(const Emitted& mask, llvm::Value* value, size_t component);
  llvm::Value* without_mark(llvm::Value* payload);

  NestContext& nest_;
  const NestShape& shape_;
  KernelContext& kernel_;
  CombinerEmitter& combiner_;
  const size_t components_;
};

}  // namespace adjit::emit
