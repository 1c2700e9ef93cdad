// jit/emit/ir/outlined.cpp -- the two functions, and calls of the first.
#include "jit/emit/ir/outlined.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <string>

namespace adjit::emit::elementary {
namespace {

using Builder = llvm::IRBuilder<>;

std::string symbol_of(const Outlined& outlined, Floats x) {
  const std::string element = x.is_double() ? "f64" : "f32";
  const std::string type = x.lanes() ? "v" + std::to_string(x.lanes()) + element : element;
  return "adjit." + std::string(outlined.name) + "." + type;
}

llvm::BasicBlock* new_block(const Builder& b, const char* name) {
  return llvm::BasicBlock::Create(b.getContext(), name, b.GetInsertBlock()->getParent());
}

// Nothing but the arguments lives across the branch.
void emit_quick(const Outlined& outlined, Arguments arguments, llvm::Function* exact) {
  Builder& b = arguments[0].context().builder;
  const Quick quick = outlined.quick(arguments);
  llvm::BasicBlock *detour = new_block(b, "detour"), *done = new_block(b, "done");
  b.CreateCondBr(any_lane(quick.doubtful), detour, done);
  b.SetInsertPoint(done);
  return_all(b, quick.results);
  b.SetInsertPoint(detour);
  std::vector<llvm::Value*> values;
  for (const Floats& argument : arguments) values.push_back(argument.value());
  b.CreateRet(b.CreateCall(exact, values));
}

llvm::Function* function_of(const Outlined& outlined, Arguments arguments) {
  const llvm::BasicBlock* block = arguments[0].context().builder.GetInsertBlock();
  const llvm::Function& calling = *block->getParent();
  llvm::Module& module = *arguments[0].context().builder.GetInsertBlock()->getModule();
  const std::string symbol = symbol_of(outlined, arguments[0]);
  if (llvm::Function* present = module.getFunction(symbol)) return present;
  Builder b(module.getContext());
  const LaneContext inside{b, arguments[0].context().features};
  std::vector<Floats> parameters;
  const auto begin = [&](const std::string& name) {
    llvm::Function* function = empty_function(
        calling, module, name, arguments[0].value()->getType(), arguments.size(), outlined.results);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
    parameters.clear();
    for (llvm::Argument& parameter : function->args()) parameters.emplace_back(inside, &parameter);
    return function;
  };
  llvm::Function* exact = begin(symbol + ".exact");
  return_all(b, outlined.exact(parameters));
  llvm::Function* quick = begin(symbol);
  emit_quick(outlined, parameters, exact);
  return quick;
}

// A call with these arguments that stands before the builder in its block; null when there is none.
llvm::CallInst* earlier_call(llvm::Function* function, Arguments arguments) {
  const Builder& b = arguments[0].context().builder;
  if (llvm::isa<llvm::Constant>(arguments[0].value())) return nullptr;
  for (llvm::User* user : arguments[0].value()->users()) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledFunction() != function || call->getParent() != b.GetInsertBlock())
      continue;
    const bool same = std::ranges::equal(
        call->args(), arguments, {}, [](const llvm::Use& use) { return use.get(); },
        [](const Floats& x) { return x.value(); });
    const auto here = b.GetInsertPoint();
    if (same && (here == b.GetInsertBlock()->end() || call->comesBefore(&*here))) return call;
  }
  return nullptr;
}

}  // namespace

llvm::Function* empty_function(const llvm::Function& calling, llvm::Module& module,
                               const std::string& symbol, llvm::Type* type, size_t arguments,
                               size_t results) {
  llvm::Type* returned =
      results == 1
          ? type
          : llvm::StructType::get(module.getContext(), std::vector<llvm::Type*>(results, type));
  const std::vector<llvm::Type*> taken(arguments, type);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(returned, taken, false),
                                          llvm::GlobalValue::InternalLinkage, symbol, module);
  function->addFnAttrs(
      llvm::AttrBuilder(module.getContext(), calling.getAttributes().getFnAttrs()));
  function->addFnAttr(llvm::Attribute::NoInline);
  function->removeFnAttr(llvm::Attribute::AlwaysInline);
  return function;
}

void return_all(llvm::IRBuilder<>& b, const Results& results) {
  if (results.size() == 1) {
    b.CreateRet(results[0].value());
    return;
  }
  llvm::Value* all = llvm::PoisonValue::get(b.getCurrentFunctionReturnType());
  for (unsigned k = 0; k < results.size(); ++k)
    all = b.CreateInsertValue(all, results[k].value(), k);
  b.CreateRet(all);
}

llvm::Value* any_lane(Mask mask) {
  Builder& b = mask.context().builder;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(mask.value()->getType());
  if (!vector) return mask.value();
  if (mask.context().features.gpu) return b.CreateOrReduce(mask.value());
  llvm::Type* bits = b.getIntNTy(vector->getNumElements());
  return b.CreateICmpNE(b.CreateBitCast(mask.value(), bits), llvm::Constant::getNullValue(bits));
}

Floats outlined_result(const Outlined& outlined, Arguments arguments, unsigned k) {
  const LaneContext& context = arguments[0].context();
  llvm::Function* function = function_of(outlined, arguments);
  llvm::CallInst* call = earlier_call(function, arguments);
  if (!call) {
    std::vector<llvm::Value*> values;
    for (const Floats& argument : arguments) values.push_back(argument.value());
    call = context.builder.CreateCall(function, values);
  }
  if (outlined.results == 1) return {context, call};
  return {context, context.builder.CreateExtractValue(call, k)};
}

Results unless_any(Mask mask, const Results& values, const std::function<Results()>& otherwise) {
  Builder& b = mask.context().builder;
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock *detour = new_block(b, "some"), *done = new_block(b, "none");
  b.CreateCondBr(any_lane(mask), detour, done);
  b.SetInsertPoint(detour);
  const Results others = otherwise();
  llvm::BasicBlock* behind = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  Results merged;
  for (size_t k = 0; k < values.size(); ++k) {
    llvm::PHINode* result = b.CreatePHI(values[k].value()->getType(), 2);
    result->addIncoming(values[k].value(), before);
    result->addIncoming(others[k].value(), behind);
    merged.emplace_back(mask.context(), result);
  }
  return merged;
}

Results mixed(Mask mask, const Results& yes, const Results& no) {
  Results results;
  for (size_t k = 0; k < no.size(); ++k) results.push_back(select(mask, yes[k], no[k]));
  return results;
}

}  // namespace adjit::emit::elementary
