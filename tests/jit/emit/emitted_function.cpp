// tests/jit/emit/emitted_function.cpp -- see the header.
#include "tests/jit/emit/emitted_function.hpp"

#include <llvm/IR/Module.h>

#include <map>
#include <vector>

#include "jit/cpu/object.hpp"
#include "jit/cpu/target.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {}  // namespace

const TargetFeatures& native_features() { return machines_for().target().vector; }

llvm::Value* pointer_argument(llvm::IRBuilder<>& builder, llvm::Function& function, size_t k) {
  llvm::Value* slot =
      builder.CreateInBoundsGEP(builder.getPtrTy(), function.getArg(0), builder.getInt64(k));
  return builder.CreateAlignedLoad(builder.getPtrTy(), slot, llvm::Align(8));
}

EmittedFunction::EmittedFunction(const Body& body) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  set_target(module, machines_for());
  llvm::IRBuilder<> builder(context);
  auto* type = llvm::FunctionType::get(
      builder.getVoidTy(), {builder.getPtrTy(), builder.getInt64Ty(), builder.getInt64Ty()}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "run", module);
  function->setDoesNotThrow();
  const std::string bits = std::to_string(native_features().vector_bits);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  body(builder, *function);
  builder.CreateRetVoid();
  verify_module(module);
  ir_ = ir_text(module);
  static CodeLoader loader;
  code_ = loader.load(compile_module(module, machines_for(), CodegenLevel::Fast),
                      std::vector<std::string>{"run"});
  run_ = reinterpret_cast<decltype(run_)>(code_->lookup("run"));
}

void EmittedFunction::operator()(void* const* pointers, int64_t a, int64_t b) const {
  run_(pointers, a, b);
}

TargetMachines& machines_for(const std::string& target) {
  static std::map<std::string, std::unique_ptr<TargetMachines>> machines;
  std::unique_ptr<TargetMachines>& found = machines[target];
  if (!found) found = std::make_unique<TargetMachines>(cpu_target(target));
  return *found;
}

CodeLoader& loader() {
  static CodeLoader loader;
  return loader;
}

}  // namespace adjit::testing
