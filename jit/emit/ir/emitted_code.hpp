// jit/emit/ir/emitted_code.hpp -- the instructions that were emitted since some moment.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>

namespace adjit::emit {

/// The code that is emitted while it is there, and nothing behind it yet.
class EmittedCode {
 public:
  /// The builder must outlive it, and stands at the end of its block.
  explicit EmittedCode(llvm::IRBuilder<>& builder);

  bool contains(const llvm::Instruction& instruction) const;
  /// Its stores in the memory that a GPU's block shares, in order within each block.
  std::vector<llvm::StoreInst*> shared_stores() const;
  /// Whether a block of it may run again before the code has ended.
  bool repeats(const llvm::BasicBlock& block) const;

 private:
  bool is_new(const llvm::BasicBlock& block) const;

  llvm::BasicBlock* block_;       // where the code begins
  llvm::Instruction* before_;     // the last one in front of it there, or null
  llvm::BasicBlock* last_block_;  // the function's last one then
};

}  // namespace adjit::emit
