// tests/jit/emit/scopes/scopes_test.cpp -- values land in their scope, before everything that uses
// them.
#include "jit/emit/scopes/scopes.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// stored[0] = a + 1 in scope 0, stored[1] = that * b in scope 1, both asked for from scope 2.
TEST(Scopes, AValueAskedForInsideIsEmittedInItsOwnScope) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
    llvm::BasicBlock* entry = b.GetInsertBlock();
    llvm::Value* memory = pointer_argument(b, f, 0);
    Scopes scopes(b);
    scopes.push(nullptr);
    scopes.push_here();
    llvm::BasicBlock* middle = b.GetInsertBlock();
    scopes.push_here();
    llvm::BasicBlock* inner = b.GetInsertBlock();
    EXPECT_EQ(scopes.depth(), 2u);
    auto* sum = llvm::cast<llvm::Instruction>(
        scopes.at(0, [&] { return b.CreateAdd(f.getArg(1), b.getInt64(1)); }));
    EXPECT_EQ(sum->getParent(), entry);
    EXPECT_EQ(b.GetInsertBlock(), inner) << "the builder is back where it was";
    auto* product =
        llvm::cast<llvm::Instruction>(scopes.at(1, [&] { return b.CreateMul(sum, f.getArg(2)); }));
    EXPECT_EQ(product->getParent(), middle);
    auto* later = llvm::cast<llvm::Instruction>(
        scopes.at(0, [&] { return b.CreateAdd(sum, b.getInt64(5)); }));
    EXPECT_TRUE(sum->comesBefore(later)) << "order of emission is kept within a scope";
    EXPECT_TRUE(entry->getTerminator() == later->getNextNode());
    auto* here =
        llvm::cast<llvm::Instruction>(scopes.at(2, [&] { return b.CreateAdd(product, later); }));
    EXPECT_EQ(here->getParent(), inner);
    b.CreateAlignedStore(here, memory, llvm::Align(8));
    scopes.pop();
    scopes.pop();
  });
  int64_t stored = 0;
  void* pointers[] = {&stored};
  function(pointers, 10, 3);
  EXPECT_EQ(stored, 11 * 3 + 16);
}

TEST(Scopes, CountTheTripsBetweenTwo) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
    const auto next_block = [&] {
      llvm::BasicBlock* block = llvm::BasicBlock::Create(b.getContext(), "", &f);
      llvm::Instruction* entry = b.CreateBr(block);
      b.SetInsertPoint(block);
      return entry;
    };
    Scopes scopes(b);
    scopes.push(nullptr);
    scopes.push(next_block(), 3);
    scopes.push_here();
    scopes.push(next_block(), 5);
    EXPECT_EQ(scopes.trips(0, 3), 15);
    EXPECT_EQ(scopes.trips(1, 3), 5);
    EXPECT_EQ(scopes.trips(3, 3), 1);
    scopes.push(next_block(), int64_t{1} << 62);
    scopes.push(next_block(), int64_t{1} << 62);
    EXPECT_GT(scopes.trips(0, 5), int64_t{1} << 30) << "without overflow";
    for (int k = 0; k < 5; ++k) scopes.pop();
  });
}

TEST(Scopes, WhatIsCachedDiesWithItsScope) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function&) {
    Scopes scopes(b);
    scopes.push(nullptr);
    const uint64_t outer = scopes.serial(0);
    scopes.push_here();
    const uint64_t first = scopes.serial(1);
    EXPECT_TRUE(scopes.alive(1, first));
    scopes.pop();
    EXPECT_FALSE(scopes.alive(1, first));
    EXPECT_TRUE(scopes.alive(0, outer));
    scopes.push_here();
    EXPECT_FALSE(scopes.alive(1, first)) << "another scope at the same depth";
    EXPECT_NE(scopes.serial(1), first);
    EXPECT_TRUE(scopes.alive(0, outer));
    scopes.pop();
    EXPECT_EQ(scopes.depth(), 0u);
  });
}

// After pop, the scope outside is open again: values of it go to where the builder is.
TEST(Scopes, ALeftScopeTakesValuesAtItsEnd) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
    Scopes scopes(b);
    scopes.push(nullptr);
    scopes.push_here();
    llvm::BasicBlock* inside = b.GetInsertBlock();
    scopes.pop();
    auto* value = llvm::cast<llvm::Instruction>(
        scopes.at(0, [&] { return b.CreateAdd(f.getArg(1), f.getArg(2)); }));
    EXPECT_EQ(value->getParent(), inside);
  });
}

}  // namespace
}  // namespace adjit::testing
