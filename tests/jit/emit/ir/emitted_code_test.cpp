// tests/jit/emit/ir/emitted_code_test.cpp -- what has been emitted since some moment.
#include "jit/emit/ir/emitted_code.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/ir/gpu_function.hpp"

namespace adjit::testing {
namespace {

struct StoringCode : GpuFunction {
  llvm::StoreInst* store() { return b.CreateStore(b.getInt32(1), to); }
};

TEST(EmittedCode, IsWhatCameSince) {
  StoringCode e;
  const llvm::StoreInst* before = e.store();
  const emit::EmittedCode code(e.b);
  llvm::StoreInst* here = e.store();
  const llvm::StoreInst* elsewhere = e.b.CreateStore(e.b.getInt32(1), e.from);
  llvm::BasicBlock* next = e.block("next");
  e.b.CreateBr(next);
  e.b.SetInsertPoint(next);
  llvm::StoreInst* there = e.store();
  EXPECT_FALSE(code.contains(*before));
  EXPECT_TRUE(code.contains(*here));
  EXPECT_TRUE(code.contains(*elsewhere));
  EXPECT_TRUE(code.contains(*there));
  EXPECT_EQ(code.shared_stores(), (std::vector<llvm::StoreInst*>{here, there}));
  const emit::EmittedCode nothing(e.b);
  EXPECT_TRUE(nothing.shared_stores().empty());
}

TEST(EmittedCode, BeginsWithItsBlockWhereThatIsEmpty) {
  StoringCode e;
  const emit::EmittedCode code(e.b);
  llvm::StoreInst* here = e.store();
  EXPECT_TRUE(code.contains(*here));
  EXPECT_EQ(code.shared_stores().size(), 1u);
}

TEST(EmittedCode, LoopsRepeatTheirBlocks) {
  StoringCode e;
  const emit::EmittedCode code(e.b);
  llvm::BasicBlock *loop = e.block("loop"), *inner = e.block("inner"), *after = e.block("after");
  llvm::BasicBlock* entry = e.b.GetInsertBlock();
  e.b.CreateBr(loop);
  e.b.SetInsertPoint(loop);
  e.b.CreateBr(inner);
  e.b.SetInsertPoint(inner);
  e.b.CreateCondBr(e.condition, loop, after);
  e.b.SetInsertPoint(after);
  EXPECT_FALSE(code.repeats(*entry));
  EXPECT_TRUE(code.repeats(*loop));
  EXPECT_TRUE(code.repeats(*inner));
  EXPECT_FALSE(code.repeats(*after));
}

}  // namespace
}  // namespace adjit::testing
