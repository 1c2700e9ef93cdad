// jit/emit/tile/streaming.hpp -- when stores may go past the caches.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// The tensors of one nest that stores past the caches, as addresses of their first elements.
struct StreamedNest {
  std::vector<llvm::Value*> results;
  std::vector<llvm::Value*> reads;
};

/// Whether all results begin with a cache line (such stores trap where vectors are not aligned),
/// and no read begins just before a result in its page. A processor takes a load for a reader of a
/// store that is under way to the same offset in another page, and lets it wait; a store past the
/// caches is under way until memory has it. Measured on Zen 3: with loads up to 128 bytes before
/// the stores a loop takes 1.2 to 1.8 times as long as with stores to the caches (of two results, 8
/// times), at other offsets 0.8 to 0.9 times (0.6 to 0.8). NumPy's and malloc's large blocks begin
/// 16 bytes into a page.
llvm::Value* may_stream(llvm::IRBuilder<>& builder, const std::vector<StreamedNest>& nests);

/// Makes a store of `bytes`, a power of two, at a multiple of them (or of a line) behind the first
/// element of a tensor that may_stream holds for, go past the caches.
void store_past_caches(llvm::StoreInst& store, uint64_t bytes);

/// Orders such stores before everything that follows, as the end of a task must be.
void end_streaming(llvm::IRBuilder<>& builder);

}  // namespace adjit::emit
