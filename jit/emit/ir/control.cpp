// jit/emit/ir/control.cpp -- branches and loops on values, for functions that may have them.
#include "jit/emit/ir/control.hpp"

namespace adjit::emit::elementary {
namespace {

llvm::BasicBlock* block_of_function(const llvm::IRBuilder<>& b, const char* name) {
  return llvm::BasicBlock::Create(b.getContext(), name, b.GetInsertBlock()->getParent());
}

}  // namespace

Results either(Mask condition, const std::function<Results()>& yes,
               const std::function<Results()>& no) {
  llvm::IRBuilder<>& b = condition.context().builder;
  llvm::BasicBlock *if_yes = block_of_function(b, "yes"), *if_no = block_of_function(b, "no"),
                   *after = block_of_function(b, "after");
  b.CreateCondBr(condition.value(), if_yes, if_no);
  b.SetInsertPoint(if_yes);
  const Results of_yes = yes();
  llvm::BasicBlock* end_of_yes = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(if_no);
  const Results of_no = no();
  llvm::BasicBlock* end_of_no = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  Results merged;
  for (size_t k = 0; k < of_yes.size(); ++k) {
    llvm::PHINode* value = b.CreatePHI(of_yes[k].value()->getType(), 2);
    value->addIncoming(of_yes[k].value(), end_of_yes);
    value->addIncoming(of_no[k].value(), end_of_no);
    merged.emplace_back(condition.context(), value);
  }
  return merged;
}

Results repeated(const Results& first, const std::function<Mask(const Results&)>& condition,
                 const std::function<Results(const Results&)>& next) {
  const LaneContext& context = first[0].context();
  llvm::IRBuilder<>& b = context.builder;
  llvm::BasicBlock *head = block_of_function(b, "again"), *body = block_of_function(b, "next"),
                   *after = block_of_function(b, "after");
  llvm::BasicBlock* before = b.GetInsertBlock();
  b.CreateBr(head);
  b.SetInsertPoint(head);
  Results values;
  std::vector<llvm::PHINode*> changing;
  for (const Floats& value : first) {
    changing.push_back(b.CreatePHI(value.value()->getType(), 2));
    changing.back()->addIncoming(value.value(), before);
    values.emplace_back(context, changing.back());
  }
  b.CreateCondBr(any_lane(condition(values)), body, after);
  b.SetInsertPoint(body);
  const Results following = next(values);
  for (size_t k = 0; k < changing.size(); ++k)
    changing[k]->addIncoming(following[k].value(), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(after);
  return values;
}

}  // namespace adjit::emit::elementary
