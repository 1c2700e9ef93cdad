// jit/emit/scopes/loops.cpp -- structured control flow with carried values.
#include "jit/emit/scopes/loops.hpp"

namespace adjit::emit {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// A loop with bounds that depend on outer loops has some.
int64_t trips_of(const Value* lo, const Value* hi) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(lo);
  const auto* end = llvm::dyn_cast<llvm::ConstantInt>(hi);
  return first && end ? end->getSExtValue() - first->getSExtValue() : 8;
}

}  // namespace

Carried emit_loop(llvm::IRBuilder<>& builder, Scopes& scopes, Value* lo, Value* hi,
                  bool at_least_once, Carried carried,
                  const std::function<Carried(Value*, Carried)>& body) {
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  BasicBlock* before = builder.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(builder.getContext(), "loop", function);
  BasicBlock* after = BasicBlock::Create(builder.getContext(), "after", function);
  llvm::Instruction* entry = at_least_once
                                 ? builder.CreateBr(loop)
                                 : builder.CreateCondBr(builder.CreateICmpSLT(lo, hi), loop, after);

  builder.SetInsertPoint(loop);
  llvm::PHINode* i = builder.CreatePHI(lo->getType(), 2);
  i->addIncoming(lo, before);
  std::vector<llvm::PHINode*> phis;
  Carried inside;
  for (Value* value : carried) {
    phis.push_back(builder.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    inside.push_back(phis.back());
  }
  scopes.push(entry, trips_of(lo, hi));
  const Carried next = body(i, inside);
  BasicBlock* latch = builder.GetInsertBlock();
  Value* advanced = builder.CreateAdd(i, llvm::ConstantInt::get(i->getType(), 1), "", true, true);
  i->addIncoming(advanced, latch);
  for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], latch);
  builder.CreateCondBr(builder.CreateICmpSLT(advanced, hi), loop, after);

  builder.SetInsertPoint(after);
  scopes.pop();
  Carried result;
  for (size_t k = 0; k < carried.size(); ++k) {
    if (at_least_once) {
      result.push_back(next[k]);
      continue;
    }
    llvm::PHINode* merged = builder.CreatePHI(carried[k]->getType(), 2);
    merged->addIncoming(carried[k], before);
    merged->addIncoming(next[k], latch);
    result.push_back(merged);
  }
  return result;
}

Carried emit_if(llvm::IRBuilder<>& builder, Scopes& scopes, Value* condition, Carried carried,
                const std::function<Carried(Carried)>& then) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return constant->isOne() ? then(carried) : carried;
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  BasicBlock* before = builder.GetInsertBlock();
  BasicBlock* inside = BasicBlock::Create(builder.getContext(), "then", function);
  BasicBlock* after = BasicBlock::Create(builder.getContext(), "endif", function);
  llvm::Instruction* entry = builder.CreateCondBr(condition, inside, after);
  builder.SetInsertPoint(inside);
  scopes.push(entry);
  const Carried next = then(carried);
  BasicBlock* end = builder.GetInsertBlock();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
  scopes.pop();
  Carried result;
  for (size_t k = 0; k < carried.size(); ++k) {
    llvm::PHINode* merged = builder.CreatePHI(carried[k]->getType(), 2);
    merged->addIncoming(carried[k], before);
    merged->addIncoming(next[k], end);
    result.push_back(merged);
  }
  return result;
}

Carried emit_either(llvm::IRBuilder<>& builder, Scopes& scopes, Value* condition, Carried carried,
                    const std::function<Carried(Carried)>& then,
                    const std::function<Carried(Carried)>& otherwise) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return constant->isOne() ? then(std::move(carried)) : otherwise(std::move(carried));
  llvm::Function* function = builder.GetInsertBlock()->getParent();
  BasicBlock* yes = BasicBlock::Create(builder.getContext(), "either", function);
  BasicBlock* no = BasicBlock::Create(builder.getContext(), "or", function);
  BasicBlock* after = BasicBlock::Create(builder.getContext(), "endeither", function);
  builder.CreateCondBr(condition, yes, no);
  const auto emit = [&](BasicBlock* block, const std::function<Carried(Carried)>& version) {
    builder.SetInsertPoint(block);
    scopes.renew();
    const Carried next = version(carried);
    BasicBlock* end = builder.GetInsertBlock();
    builder.CreateBr(after);
    return std::pair{next, end};
  };
  const auto [left, left_end] = emit(yes, then);
  const auto [right, right_end] = emit(no, otherwise);
  builder.SetInsertPoint(after);
  scopes.renew();
  Carried result;
  for (size_t k = 0; k < carried.size(); ++k) {
    llvm::PHINode* merged = builder.CreatePHI(carried[k]->getType(), 2);
    merged->addIncoming(left[k], left_end);
    merged->addIncoming(right[k], right_end);
    result.push_back(merged);
  }
  return result;
}

}  // namespace adjit::emit
