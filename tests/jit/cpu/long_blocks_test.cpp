// tests/jit/cpu/long_blocks_test.cpp -- that long blocks are cut, and compute what they did.
#include "jit/cpu/long_blocks.hpp"

#include <gtest/gtest.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Verifier.h>

#include <array>
#include <string>
#include <vector>

#include "jit/cpu/code.hpp"
#include "tests/jit/cpu/small_modules.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// x + 0 + 1 + ... + (terms - 1), every other term where x is above it.
SmallModule::Body many_terms(int terms) {
  return [=](llvm::IRBuilder<>& b, llvm::Value* x) {
    llvm::Value* sum = x;
    for (int k = 0; k < terms; ++k) {
      llvm::Value* next = b.CreateAdd(sum, b.getInt32(static_cast<uint32_t>(k)));
      sum = k % 2 == 0 ? next : b.CreateSelect(b.CreateICmpSGT(x, b.getInt32(0)), next, sum);
    }
    return sum;
  };
}

TEST(LongBlocks, AreCutIntoPartsOfSoMany) {
  const SmallModule small(machines(), "f", many_terms(1000));
  cut_long_blocks(small.module(), 100);
  const llvm::Function& function = *small.module().getFunction("f");
  EXPECT_GT(function.size(), 15u);
  for (const llvm::BasicBlock& block : function) EXPECT_LE(block.size(), 200u);
  EXPECT_FALSE(llvm::verifyModule(small.module()));
}

// Phis stay at the front of their block and do not count.
TEST(LongBlocks, PhisAreNoPartOfThem) {
  const SmallModule small(machines(), "f", [](llvm::IRBuilder<>& b, llvm::Value* x) {
    llvm::BasicBlock* before = b.GetInsertBlock();
    auto* block = llvm::BasicBlock::Create(b.getContext(), "phis", before->getParent());
    b.CreateBr(block);
    b.SetInsertPoint(block);
    std::vector<llvm::PHINode*> phis;
    for (int k = 0; k < 300; ++k) {
      phis.push_back(b.CreatePHI(b.getInt32Ty(), 1));
      phis.back()->addIncoming(x, before);
    }
    llvm::Value* sum = x;
    for (size_t k = 0; k < 150; ++k) sum = b.CreateAdd(sum, phis[k]);
    return sum;
  });
  cut_long_blocks(small.module(), 100);
  EXPECT_EQ(small.module().getFunction("f")->size(), 2u) << "151 instructions are no two parts";
  cut_long_blocks(small.module(), 50);
  EXPECT_EQ(small.module().getFunction("f")->size(), 4u);
  EXPECT_FALSE(llvm::verifyModule(small.module()));
}

TEST(LongBlocks, OthersStay) {
  const SmallModule small(machines(), "f", many_terms(50));
  cut_long_blocks(small.module(), 100);
  EXPECT_EQ(small.module().getFunction("f")->size(), 1u);
}

TEST(LongBlocks, ComputeWhatTheyDid) {
  CodeLoader loader;
  const std::array<std::string, 1> names{"f"};
  const SmallModule small(machines(), "f", many_terms(3000));
  cut_long_blocks(small.module(), 7);
  const auto code =
      loader.load(compile_module(small.module(), machines(), CodegenLevel::Fast), names);
  const auto f = reinterpret_cast<int (*)(int)>(code->lookup("f"));
  EXPECT_EQ(f(7), 7 + 3000 * 2999 / 2);
  EXPECT_EQ(f(-5), -5 + 1500 * 1499) << "even terms alone";
}

}  // namespace
}  // namespace adjit::testing
