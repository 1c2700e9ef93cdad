// jit/emit/scopes/scopes.cpp -- opening and closing scopes.
#include "jit/emit/scopes/scopes.hpp"

#include <algorithm>

namespace adjit::emit {

void Scopes::push(llvm::Instruction* entry, int64_t trips) {
  if (!stack_.empty()) stack_.back().left_by = entry;
  stack_.push_back({next_serial_++, nullptr, trips});
}

int64_t Scopes::trips(size_t outer, size_t inner) const {
  constexpr int64_t kMany = int64_t{1} << 31;
  int64_t product = 1;
  for (size_t depth = outer + 1; depth <= inner && product < kMany; ++depth)
    product *= std::clamp(stack_[depth].trips, int64_t{1}, kMany);
  return product;
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

}  // namespace adjit::emit
