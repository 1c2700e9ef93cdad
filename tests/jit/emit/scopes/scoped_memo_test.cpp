// tests/jit/emit/scopes/scoped_memo_test.cpp -- what was computed in a scope dies with it.
#include "jit/emit/scopes/scoped_memo.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(ScopedMemo, HoldsWhileTheScopeIsOpen) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function&) {
    emit::Scopes scopes(b);
    emit::ScopedMemo<int, int> memo(scopes);
    scopes.push(nullptr);
    memo.remember(1, 10, 0);
    scopes.push_here();
    memo.remember(2, 20, 1);
    memo.remember(3, 30, 0);
    EXPECT_EQ(*memo.find(2), 20);
    scopes.pop();
    EXPECT_EQ(memo.find(2), nullptr);
    scopes.push_here();
    EXPECT_EQ(memo.find(2), nullptr) << "another scope of that depth";
    EXPECT_EQ(*memo.find(1), 10);
    EXPECT_EQ(*memo.find(3), 30) << "computed outside of the scope that asked for it";
    memo.remember(2, 21, 1);
    EXPECT_EQ(*memo.find(2), 21);
    memo.forget();
    EXPECT_EQ(memo.find(1), nullptr);
    scopes.pop();
  });
}

TEST(ScopedMemo, KnowsNothingOfScopesThatAreNotOpen) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function&) {
    emit::Scopes scopes(b);
    emit::ScopedMemo<int, int> memo(scopes);
    scopes.push(nullptr);
    EXPECT_THROW(memo.remember(1, 10, 1), Error);
  });
}

}  // namespace
}  // namespace adjit::testing
