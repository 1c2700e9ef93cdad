// jit/emit/ir/emitted_code.cpp -- where emission stood, and what has come since.
#include "jit/emit/ir/emitted_code.hpp"

#include <algorithm>
#include <set>

#include <llvm/IR/CFG.h>

#include "jit/emit/ir/target.hpp"

namespace adjit::emit {

EmittedCode::EmittedCode(llvm::IRBuilder<>& builder)
    : block_(builder.GetInsertBlock()),
      before_(block_->empty() ? nullptr : &block_->back()),
      last_block_(&block_->getParent()->back()) {}

// Blocks are added at the function's end.
bool EmittedCode::is_new(const llvm::BasicBlock& block) const {
  const auto begin = std::next(last_block_->getIterator());
  return std::any_of(begin, block_->getParent()->end(),
                     [&](const llvm::BasicBlock& made) { return &made == &block; });
}

bool EmittedCode::contains(const llvm::Instruction& instruction) const {
  if (instruction.getParent() != block_) return is_new(*instruction.getParent());
  return before_ == nullptr || before_->comesBefore(&instruction);
}

std::vector<llvm::StoreInst*> EmittedCode::shared_stores() const {
  std::vector<llvm::StoreInst*> found;
  const auto look = [&](llvm::BasicBlock::iterator at, llvm::BasicBlock::iterator end) {
    for (; at != end; ++at)
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(at);
          store && store->getPointerAddressSpace() == kSharedSpace)
        found.push_back(store);
  };
  look(before_ ? std::next(before_->getIterator()) : block_->begin(), block_->end());
  for (auto at = std::next(last_block_->getIterator()); at != block_->getParent()->end(); ++at)
    look(at->begin(), at->end());
  return found;
}

bool EmittedCode::repeats(const llvm::BasicBlock& block) const {
  std::set<const llvm::BasicBlock*> seen;
  std::vector<const llvm::BasicBlock*> left{&block};
  while (!left.empty()) {
    const llvm::BasicBlock* at = left.back();
    left.pop_back();
    for (const llvm::BasicBlock* next : llvm::successors(at)) {
      if (next == &block) return true;
      if (is_new(*next) && seen.insert(next).second) left.push_back(next);
    }
  }
  return false;
}

}  // namespace adjit::emit
