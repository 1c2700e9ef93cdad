// tests/jit/cpu/small_modules.hpp -- modules that the tests of this folder compile.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <memory>
#include <string>

#include "jit/cpu/object.hpp"
#include "jit/cpu/target.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// A module with its own context and one function `int32_t name(int32_t)`.
class SmallModule {
 public:
  using Body = std::function<llvm::Value*(llvm::IRBuilder<>&, llvm::Value*)>;
  SmallModule(TargetMachines& machines, const std::string& name, const Body& body)
      : module_(std::make_unique<llvm::Module>("small", context_)) {
    set_target(*module_, machines);
    llvm::IRBuilder<> b(context_);
    llvm::Type* integer = b.getInt32Ty();
    auto* function = llvm::Function::Create(llvm::FunctionType::get(integer, {integer}, false),
                                            llvm::GlobalValue::ExternalLinkage, name, *module_);
    function->setDoesNotThrow();
    b.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
    b.CreateRet(body(b, function->getArg(0)));
  }
  llvm::Module& module() const { return *module_; }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

/// x + amount
inline SmallModule::Body adding(int amount) {
  return [=](llvm::IRBuilder<>& b, llvm::Value* x) {
    return b.CreateAdd(x, b.getInt32(static_cast<uint32_t>(amount)));
  };
}

/// A call of an external function `int32_t name(int32_t)`.
inline SmallModule::Body calling(const std::string& name) {
  return [=](llvm::IRBuilder<>& b, llvm::Value* x) -> llvm::Value* {
    return b.CreateCall(
        b.GetInsertBlock()->getModule()->getOrInsertFunction(name, b.getInt32Ty(), b.getInt32Ty()),
        {x});
  };
}

inline std::vector<char> object_of(TargetMachines& machines, const std::string& name,
                                   const SmallModule::Body& body) {
  SmallModule small(machines, name, body);
  return compile_module(small.module(), machines, CodegenLevel::Fast);
}

/// For the machine that the tests run on.
inline TargetMachines& machines() {
  static TargetMachines machines(cpu_target());
  return machines;
}

}  // namespace adjit::testing
