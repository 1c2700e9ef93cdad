// jit/emit/scopes.cpp -- opening and closing scopes.
#include "jit/emit/scopes.hpp"

namespace adjit {

void Scopes::push(llvm::Instruction* entry) {
  if (!stack_.empty()) stack_.back().left_by = entry;
  stack_.push_back({next_serial_++, nullptr});
}

void Scopes::push_here() {
  llvm::Function* function = builder_.GetInsertBlock()->getParent();
  llvm::BasicBlock* rest = llvm::BasicBlock::Create(builder_.getContext(), "", function);
  llvm::Instruction* entry = builder_.CreateBr(rest);
  builder_.SetInsertPoint(rest);
  push(entry);
}

void Scopes::renew() { stack_.back().serial = next_serial_++; }

void Scopes::pop() {
  stack_.pop_back();
  if (!stack_.empty()) stack_.back().left_by = nullptr;
}

}  // namespace adjit
