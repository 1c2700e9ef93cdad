// jit/emit/ir/late_stores.hpp -- what is loaded from global memory early, and stored in shared
// memory late: other work is done while the loads are under way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/ValueHandle.h>

#include "jit/emit/ir/emitted_code.hpp"

namespace adjit::emit {

/// Stores that code leaves to a later place, behind which nothing leads back into the code without
/// coming through the place where this was made first.
class LateStores {
 public:
  /// Made where the builder stands, in front of the code and of the conditions around it.
  explicit LateStores(llvm::IRBuilder<>& builder);

  /// Takes out of the code, which has been emitted since, what it stores in shared memory of values
  /// that depend on its loads; what is computed of them goes as well. Stays: stores in loops, and
  /// those for which a thread would keep more than some registers.
  void take(const EmittedCode& code);
  bool empty() const { return stores_.empty(); }
  /// Stores where the builder stands now, which is to be behind the conditions around the code:
  /// where the code would have. Once.
  void emit();

 private:
  struct Store {
    llvm::Value *value, *pointer;
    llvm::Align align;
    llvm::BasicBlock* block;  // where it was
    llvm::Value* happens;     // i1: in the code; null: always
  };

  bool depends_on_load(const EmittedCode& code, llvm::Value* value, std::set<llvm::Value*>& seen);
  uint64_t collect(const EmittedCode& code, llvm::Value* value, std::set<llvm::Value*>& kept,
                   std::set<llvm::Value*>& moved) const;
  llvm::Value* happening(llvm::BasicBlock* block);
  llvm::Value* known_here(llvm::Value* value, llvm::Constant* otherwise);
  llvm::Value* made_here(llvm::Value* value);
  void emit_from(size_t first, size_t end);

  llvm::IRBuilder<>& builder_;
  llvm::BasicBlock* const head_;
  std::vector<Store> stores_;
  std::set<llvm::Value*> kept_;                // in registers: loads, and what control decides
  std::set<llvm::Value*> moved_;               // to where the stores are
  std::map<llvm::Value*, llvm::Value*> made_;  // of what was moved, here
};

}  // namespace adjit::emit
