// tests/jit/emit/ir/lane_memory_test.cpp -- some lanes of a vector, from memory and to it.
#include "jit/emit/ir/lane_memory.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

llvm::Constant* lanes_where(llvm::IRBuilder<>& builder, const std::vector<bool>& on) {
  llvm::SmallVector<llvm::Constant*, 32> mask;
  for (const bool lane : on) mask.push_back(builder.getInt1(lane));
  return llvm::ConstantVector::get(mask);
}

llvm::Constant* first_lanes(llvm::IRBuilder<>& builder, unsigned lanes, unsigned live) {
  std::vector<bool> on(lanes);
  std::fill_n(on.begin(), live, true);
  return lanes_where(builder, on);
}

TEST(LaneMemory, LeadingLanesAreThoseOfAConstant) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
    for (unsigned live = 0; live <= 8; ++live)
      EXPECT_EQ(emit::leading_lanes(first_lanes(b, 8, live)), live);
    EXPECT_EQ(emit::leading_lanes(lanes_where(b, {true, false, true, false})), std::nullopt);
    EXPECT_EQ(emit::leading_lanes(lanes_where(b, {false, true, true, true})), std::nullopt);
    EXPECT_EQ(emit::leading_lanes(b.getTrue()), std::nullopt) << "no lanes";
    llvm::Value* known = b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getInt1Ty(), 8),
                                             pointer_argument(b, f, 0), llvm::Align(1));
    EXPECT_EQ(emit::leading_lanes(known), std::nullopt) << "of when the program runs";
  });
}

// 32 lanes of float are two or more registers.
TEST(LaneMemory, LanesThatAreOffAreZeroAndNotRead) {
  for (const unsigned live : {0u, 5u, 16u, 21u, 32u}) {
    const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
      auto* type = llvm::FixedVectorType::get(b.getFloatTy(), 32);
      llvm::Value* loaded = emit::load_lanes(b, native_features(), type, pointer_argument(b, f, 0),
                                             llvm::Align(4), first_lanes(b, 32, live));
      b.CreateAlignedStore(loaded, pointer_argument(b, f, 1), llvm::Align(4));
    });
    std::vector<float> from(live), to(32, -1), expected(32, 0);
    std::iota(from.begin(), from.end(), 1.0f);
    std::ranges::copy(from, expected.begin());
    void* pointers[] = {from.data(), to.data()};
    function(pointers);
    EXPECT_EQ(to, expected) << live;
    EXPECT_EQ(function.ir().find("masked.load") == std::string::npos, live == 0);
  }
}

TEST(LaneMemory, ANumberIsLoadedWhereAConditionHoldsAndElseNothingIsTouched) {
  const EmittedFunction function([](llvm::IRBuilder<>& b, llvm::Function& f) {
    llvm::Value* from = pointer_argument(b, f, 0);
    llvm::Value* there = b.CreateICmpNE(f.getArg(1), b.getInt64(0));
    llvm::Value* loaded = emit::load_where(b, b.getFloatTy(), from, llvm::Align(4), there);
    b.CreateAlignedStore(loaded, pointer_argument(b, f, 1), llvm::Align(4));
  });
  float x = 3, y = -1;
  void* pointers[] = {&x, &y};
  function(pointers, 1);
  EXPECT_EQ(y, 3);
  pointers[0] = nullptr;
  function(pointers, 0);
  EXPECT_EQ(y, 0);
}

// The first lanes go as a power of two each where there are no mask registers.
TEST(LaneMemory, FirstLanesAreStoredAndNoOther) {
  for (unsigned live = 0; live <= 8; ++live) {
    const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
      TargetFeatures features = native_features();
      features.avx512vl = false;
      auto* type = llvm::FixedVectorType::get(b.getFloatTy(), 8);
      llvm::Value* value = b.CreateAlignedLoad(type, pointer_argument(b, f, 0), llvm::Align(4));
      emit::store_lanes(b, features, value, pointer_argument(b, f, 1), llvm::Align(4),
                        first_lanes(b, 8, live));
    });
    std::vector<float> from(8), to(8, -1), expected(8, -1);
    std::iota(from.begin(), from.end(), 1.0f);
    std::copy_n(from.begin(), live, expected.begin());
    void* pointers[] = {from.data(), to.data()};
    function(pointers);
    EXPECT_EQ(to, expected) << live;
    EXPECT_EQ(function.ir().find("masked.store"), std::string::npos) << function.ir();
  }
}

}  // namespace
}  // namespace adjit::testing
