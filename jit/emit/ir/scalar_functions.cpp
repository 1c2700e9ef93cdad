// jit/emit/ir/scalar_functions.cpp -- the functions, their calls for lanes, and tables of numbers.
#include "jit/emit/ir/scalar_functions.hpp"

#include <llvm/IR/Module.h>

#include <string>

namespace adjit::emit::elementary {
namespace {

llvm::Function* scalar_function(const ScalarFunction& scalar, const LaneContext& calling,
                                size_t arguments) {
  llvm::Function& caller = *calling.builder.GetInsertBlock()->getParent();
  llvm::Module& module = *caller.getParent();
  const std::string symbol = "adjit." + std::string(scalar.name);
  if (llvm::Function* present = module.getFunction(symbol)) return present;
  llvm::IRBuilder<> b(module.getContext());
  llvm::Function* function =
      empty_function(caller, module, symbol, b.getDoubleTy(), arguments, scalar.results);
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  const LaneContext inside{b, calling.features};
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  Results parameters;
  for (llvm::Argument& parameter : function->args()) parameters.emplace_back(inside, &parameter);
  return_all(b, scalar.body(parameters));
  return function;
}

Floats widened(Floats x) {
  llvm::IRBuilder<>& b = x.context().builder;
  return x.is_double() ? x : Floats(x.context(), b.CreateFPExt(x.value(), b.getDoubleTy()));
}

Results of_scalars(llvm::Function* function, const ScalarFunction& scalar, Arguments arguments) {
  const LaneContext& context = arguments[0].context();
  llvm::IRBuilder<>& b = context.builder;
  std::vector<llvm::Value*> values;
  for (const Floats& argument : arguments) values.push_back(widened(argument).value());
  llvm::Value* called = b.CreateCall(function, values);
  Results results;
  for (unsigned k = 0; k < scalar.results; ++k) {
    llvm::Value* result = scalar.results == 1 ? called : b.CreateExtractValue(called, k);
    results.emplace_back(context, b.CreateFPTrunc(result, arguments[0].value()->getType()));
  }
  return results;
}

}  // namespace

Results in_each_lane(const ScalarFunction& scalar, Arguments arguments) {
  const LaneContext& context = arguments[0].context();
  llvm::Function* function = scalar_function(scalar, context, arguments.size());
  const unsigned lanes = arguments[0].lanes();
  if (lanes == 0) return of_scalars(function, scalar, arguments);
  llvm::IRBuilder<>& b = context.builder;
  Results all(scalar.results, {context, llvm::PoisonValue::get(arguments[0].value()->getType())});
  for (uint64_t lane = 0; lane < lanes; ++lane) {
    Results of_lane;
    for (const Floats& argument : arguments)
      of_lane.emplace_back(context, b.CreateExtractElement(argument.value(), lane));
    const Results results = of_scalars(function, scalar, of_lane);
    for (size_t k = 0; k < all.size(); ++k)
      all[k] = {context, b.CreateInsertElement(all[k].value(), results[k].value(), lane)};
  }
  return all;
}

llvm::GlobalVariable* constant_table(llvm::IRBuilder<>& builder, std::string_view name,
                                     llvm::Constant* numbers) {
  constexpr unsigned kConstantMemory = 4;  // NVPTX's; to a CPU all are one
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  const std::string symbol = "adjit." + std::string(name);
  if (llvm::GlobalVariable* present = module.getGlobalVariable(symbol, true)) return present;
  auto* table = new llvm::GlobalVariable(
      module, numbers->getType(), true, llvm::GlobalValue::InternalLinkage, numbers, symbol,
      nullptr, llvm::GlobalValue::NotThreadLocal, kConstantMemory);
  table->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  table->setAlignment(llvm::Align(8));
  return table;
}

}  // namespace adjit::emit::elementary
