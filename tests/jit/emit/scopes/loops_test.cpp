// tests/jit/emit/scopes/loops_test.cpp -- loops and conditions that carry values, zero trips
// included.
#include "jit/emit/scopes/loops.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/emitted_function.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

struct Sums {
  int64_t sum = -1, count = -1;
};

// sum and number of the i in [a, b).
EmittedFunction summing(bool at_least_once) {
  return EmittedFunction([=](llvm::IRBuilder<>& b, llvm::Function& f) {
    Scopes scopes(b);
    scopes.push(nullptr);
    llvm::Value* memory = pointer_argument(b, f, 0);
    const Carried result = emit_loop(
        b, scopes, f.getArg(1), f.getArg(2), at_least_once, {b.getInt64(0), b.getInt64(0)},
        [&](llvm::Value* i, Carried carried) {
          EXPECT_EQ(scopes.depth(), 1u);
          return Carried{b.CreateAdd(carried[0], i), b.CreateAdd(carried[1], b.getInt64(1))};
        });
    EXPECT_EQ(scopes.depth(), 0u);
    b.CreateAlignedStore(result[0], memory, llvm::Align(8));
    b.CreateAlignedStore(result[1], b.CreateInBoundsGEP(b.getInt64Ty(), memory, b.getInt64(1)),
                         llvm::Align(8));
  });
}

Sums run(const EmittedFunction& function, int64_t lo, int64_t hi) {
  Sums sums;
  void* pointers[] = {&sums};
  function(pointers, lo, hi);
  return sums;
}

TEST(Loop, RunsFromLoToHi) {
  const EmittedFunction function = summing(false);
  for (const auto& [lo, hi] : {std::pair{0, 10}, {3, 4}, {-5, 5}}) {
    int64_t sum = 0;
    for (int64_t i = lo; i < hi; ++i) sum += i;
    EXPECT_EQ(run(function, lo, hi).sum, sum);
    EXPECT_EQ(run(function, lo, hi).count, hi - lo);
  }
}

TEST(Loop, OfNoTripsGivesWhatItWasGiven) {
  const EmittedFunction function = summing(false);
  for (const auto& [lo, hi] : {std::pair{0, 0}, {4, 2}, {7, -7}})
    EXPECT_EQ(run(function, lo, hi).count, 0);
}

TEST(Loop, AtLeastOnceTestsOnlyAtItsEnd) {
  const EmittedFunction function = summing(true);
  EXPECT_EQ(run(function, 2, 6).sum, 2 + 3 + 4 + 5);
  EXPECT_EQ(run(function, 2, 3).count, 1);
  EXPECT_EQ(occurrences(function.ir(), "icmp"), 1u);
  EXPECT_EQ(occurrences(summing(false).ir(), "icmp"), 2u);
}

TEST(Loop, NestsWithAnInnerLoopAndAConditionInIt) {
  const EmittedFunction function([](llvm::IRBuilder<>& b, llvm::Function& f) {
    Scopes scopes(b);
    scopes.push(nullptr);
    llvm::Value* memory = pointer_argument(b, f, 0);
    const auto inner = [&](llvm::Value* i, const Carried& outside) {
      return emit_loop(b, scopes, b.getInt64(0), i, false, outside,
                       [&](llvm::Value* j, const Carried& inside) {
                         llvm::Value* odd = b.CreateTrunc(b.CreateAdd(i, j), b.getInt1Ty());
                         return emit_if(b, scopes, odd, inside, [&](const Carried& then) {
                           EXPECT_EQ(scopes.depth(), 3u);
                           return Carried{b.CreateAdd(then[0], b.CreateMul(i, j))};
                         });
                       });
    };
    const Carried sum =
        emit_loop(b, scopes, b.getInt64(0), f.getArg(1), false, {b.getInt64(100)}, inner);
    b.CreateAlignedStore(sum[0], memory, llvm::Align(8));
  });
  for (int64_t n : {0, 1, 2, 9}) {
    int64_t expected = 100, stored = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        if ((i + j) % 2) expected += i * j;
    void* pointers[] = {&stored};
    function(pointers, n, 0);
    EXPECT_EQ(stored, expected) << n;
  }
}

TEST(If, OfAConstantEmitsNoBranch) {
  for (const bool condition : {false, true}) {
    const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
      Scopes scopes(b);
      scopes.push(nullptr);
      llvm::Value* memory = pointer_argument(b, f, 0);
      const Carried result =
          emit_if(b, scopes, b.getInt1(condition), {f.getArg(1)},
                  [&](const Carried& then) { return Carried{b.CreateNeg(then[0])}; });
      b.CreateAlignedStore(result[0], memory, llvm::Align(8));
    });
    EXPECT_EQ(occurrences(function.ir(), "br "), 0u);
    int64_t stored = 0;
    void* pointers[] = {&stored};
    function(pointers, 21, 0);
    EXPECT_EQ(stored, condition ? -21 : 21);
  }
}

TEST(If, CarriesBothWays) {
  const EmittedFunction function([](llvm::IRBuilder<>& b, llvm::Function& f) {
    Scopes scopes(b);
    scopes.push(nullptr);
    llvm::Value* memory = pointer_argument(b, f, 0);
    const Carried result =
        emit_if(b, scopes, b.CreateICmpSLT(f.getArg(1), f.getArg(2)), {f.getArg(1)},
                [&](const Carried&) { return Carried{f.getArg(2)}; });
    b.CreateAlignedStore(result[0], memory, llvm::Align(8));
  });
  for (const auto& [x, y] : {std::pair{3, 8}, {8, 3}, {5, 5}}) {
    int64_t stored = 0;
    void* pointers[] = {&stored};
    function(pointers, x, y);
    EXPECT_EQ(stored, std::max(x, y));
  }
}

}  // namespace
}  // namespace adjit::testing
