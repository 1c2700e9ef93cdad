// jit/emit/ir/async_copies.hpp -- what goes from a GPU's memory to that of a block, without a
// register on the way.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>

namespace adjit::emit {

/// The code that is emitted while it is there.
class AsyncCopies {
 public:
  /// The builder must outlive it, and stands at the end of its block.
  explicit AsyncCopies(llvm::IRBuilder<>& builder);

  /// Replaces what was emitted since then and stores in shared memory what it has just loaded from
  /// global memory, or zeros in place of some of it, by asynchronous copies (cp.async, PTX ISA
  /// 9.7.9.25) of 4, 8 or 16 bytes, as alignments allow. Stores of anything else stay.
  void replace();

 private:
  std::vector<llvm::StoreInst*> new_stores() const;

  llvm::IRBuilder<>& builder_;
  llvm::BasicBlock* block_;       // where the code begins
  llvm::Instruction* before_;     // the last one in front of it there, or null
  llvm::BasicBlock* last_block_;  // the function's last one then
};

/// Those that this thread has begun since the last group become a group.
void commit_copies(llvm::IRBuilder<>& builder);
/// Waits until all but the last `left` groups of this thread's copies are done.
void wait_for_copies(llvm::IRBuilder<>& builder, int64_t left);

}  // namespace adjit::emit
