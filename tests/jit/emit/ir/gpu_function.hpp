// tests/jit/emit/ir/gpu_function.hpp -- a function of a GPU into which a test emits by hand.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "jit/cpu/object.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// `void f(from, to, condition, index)`: global memory, shared memory, i1, i64. Instructions go
/// into its first block.
struct GpuFunction {
  llvm::LLVMContext context;
  llvm::Module module{"gpu", context};
  llvm::IRBuilder<> b{context};
  llvm::Function* f = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(),
                              {b.getPtrTy(1), b.getPtrTy(3), b.getInt1Ty(), b.getInt64Ty()}, false),
      llvm::Function::ExternalLinkage, "f", module);
  llvm::Value *from = f->getArg(0), *to = f->getArg(1), *condition = f->getArg(2),
              *index = f->getArg(3);

  GpuFunction() { b.SetInsertPoint(block("entry")); }
  GpuFunction(const GpuFunction&) = delete;
  GpuFunction& operator=(const GpuFunction&) = delete;

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context, name, f); }

  /// Returns, and is verified: its instructions, a line each.
  std::string finished() {
    b.CreateRetVoid();
    verify_module(module);
    std::string text;
    llvm::raw_string_ostream stream(text);
    f->print(stream);
    return text;
  }
};

}  // namespace adjit::testing
