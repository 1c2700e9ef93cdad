// tests/jit/emit/ir/constant_loads_test.cpp -- loads of memory that nothing writes.
#include "jit/emit/ir/constant_loads.hpp"

#include <gtest/gtest.h>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(ConstantLoads, AreThoseFromParametersThatNothingWrites) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  llvm::IRBuilder<> builder(context);
  llvm::Type* pointer = builder.getPtrTy(1);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer}, false),
      llvm::GlobalValue::ExternalLinkage, "k", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value* behind = builder.CreateConstGEP1_32(builder.getFloatTy(), function->getArg(0), 4);
  llvm::LoadInst* read = builder.CreateLoad(builder.getFloatTy(), behind);
  llvm::LoadInst* written = builder.CreateLoad(builder.getFloatTy(), function->getArg(1));
  llvm::Value* either =
      builder.CreateSelect(builder.CreateFCmpOLT(read, written), behind, function->getArg(1));
  llvm::LoadInst* unknown = builder.CreateLoad(builder.getFloatTy(), either);
  builder.CreateStore(unknown, function->getArg(1));
  llvm::Type* wide = llvm::FixedVectorType::get(builder.getFloatTy(), 8);
  llvm::LoadInst* two_accesses = builder.CreateLoad(wide, behind);
  builder.CreateRetVoid();
  emit::mark_constant_loads(*function, {true, false});
  EXPECT_TRUE(read->hasMetadata(llvm::LLVMContext::MD_invariant_load));
  EXPECT_FALSE(written->hasMetadata(llvm::LLVMContext::MD_invariant_load));
  EXPECT_FALSE(two_accesses->hasMetadata(llvm::LLVMContext::MD_invariant_load));
  EXPECT_FALSE(unknown->hasMetadata(llvm::LLVMContext::MD_invariant_load));
}

}  // namespace
}  // namespace adjit::testing
