// tests/jit/emit/math/library_calls_test.cpp -- functions that the C library or our table computes,
// lane by lane. Their values are tested with the table: jit/cpu/math_symbols.hpp.
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cmath>

#include "jit/emit/math/elementary.hpp"
#include "tests/jit/emit/compiled_function.hpp"
#include "tests/jit/emit/lane_formula.hpp"
#include "tests/jit/emit/math/function_samples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

std::vector<float> library(const char* name, const std::vector<float>& x, unsigned lanes) {
  return evaluate<float>([=](Floats a, Floats) { return emit::elementary::library_call(name, a); },
                         x, x, {.lanes = lanes});
}

TEST(LibraryCalls, EveryLaneIsPassedAndReturnedInPlace) {
  for (unsigned lanes : {0u, 3u, 16u}) {
    std::vector<float> x;
    for (int k = 1; k <= 48; ++k) x.push_back(static_cast<float>(k) / 49);
    const auto lgamma = library("lgamma", x, lanes);
    const auto erfinv = library("erfinv", x, lanes);
    const auto digamma = library("digamma", x, lanes);
    for (size_t k = 0; k < x.size(); ++k) {
      EXPECT_LE(ulps(lgamma[k], std::lgamma(static_cast<double>(x[k]))), 0.51);
      EXPECT_NEAR(std::erf(erfinv[k]), x[k], 2e-7);
      const double step = 1e-5, at = static_cast<double>(x[k]);
      EXPECT_NEAR(digamma[k], (std::lgamma(at + step) - std::lgamma(at - step)) / (2 * step),
                  1e-3 * std::fabs(static_cast<double>(digamma[k])) + 1e-5);
    }
  }
}

TEST(LibraryCalls, TheSecondOperandStandsBehindTheFirst) {
  const Formula polygamma = [](Floats order, Floats x) {
    return emit::elementary::library_call("polygamma", order, x);
  };
  for (unsigned lanes : {0u, 3u, 8u}) {
    std::vector<double> orders, x;
    for (int k = 0; k < 24; ++k) {
      orders.push_back(k % 3);
      x.push_back(1 + k / 8.0);
    }
    const std::vector<double> got = evaluate<double>(polygamma, orders, x, {.lanes = lanes});
    for (size_t k = 0; k < x.size(); ++k) {
      const std::vector<double> alone =
          evaluate<double>(polygamma, {orders[k]}, {x[k]}, {.lanes = 0});
      ASSERT_EQ(got[k], alone[0]) << orders[k] << ", " << x[k] << " in " << lanes << " lanes";
    }
  }
}

// The room holds three, which LLVM would round up to four, and a loop may not take more each time.
TEST(LibraryCalls, PassTheLanesInRoomOfTheEntryBlockToAFunctionThatTouchesNothingElse) {
  const CompiledFunction f(
      Element::F64, Element::F64, 1,
      [](llvm::IRBuilder<>& b, VectorMath& math, std::span<llvm::Value*> v) {
        llvm::Value* first = math(emit::elementary::lgamma, v[0]);
        const llvm::Module& module = *b.GetInsertBlock()->getModule();
        EXPECT_EQ(module.getFunction("adjit_math_lgamma_f32"), nullptr);
        const llvm::Function* called = module.getFunction("adjit_math_lgamma_f64");
        EXPECT_TRUE(called && called->doesNotThrow() && called->onlyAccessesArgMemory());
        const llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
        EXPECT_NE(&entry, b.GetInsertBlock());
        for (const llvm::Instruction& instruction : llvm::instructions(*entry.getParent()))
          if (const auto* room = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
            EXPECT_EQ(room->getParent(), &entry);
            EXPECT_EQ(room->getAllocatedType()->getArrayNumElements(), 3u);
          }
        return first;
      },
      {.lanes = 3});
  EXPECT_NEAR(f.map<double>(std::vector<double>{5})[0], std::log(24.0), 1e-14);
}

}  // namespace
}  // namespace adjit::testing
