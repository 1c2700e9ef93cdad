// tests/jit/emit/ir/late_stores_test.cpp -- loads stay where they were, stores come later.
#include "jit/emit/ir/late_stores.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/ir/gpu_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using llvm::Value;

struct LateCode : GpuFunction {
  Value* load(uint64_t lanes = 1) {
    llvm::Type* type = b.getFloatTy();
    if (lanes > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
    return b.CreateAlignedLoad(type, from, llvm::Align(4 * lanes));
  }
  void store(Value* value, uint64_t element = 0) {
    Value* to_here = b.CreateInBoundsGEP(b.getFloatTy(), to, index);
    b.CreateStore(value, b.CreateConstInBoundsGEP1_64(b.getFloatTy(), to_here, element));
  }
  void where(Value* holds, const std::function<void()>& inside) {
    llvm::BasicBlock *then = block("then"), *after = block("after");
    b.CreateCondBr(holds, then, after);
    b.SetInsertPoint(then);
    inside();
    b.CreateBr(after);
    b.SetInsertPoint(after);
  }
};

// The code, then a call of "work", then what was put off, as the instructions of a function.
std::string put_off(const std::function<void(LateCode&)>& emit) {
  LateCode c;
  emit::LateStores late(c.b);
  const emit::EmittedCode code(c.b);
  emit(c);
  late.take(code);
  c.b.CreateCall(
      c.module.getOrInsertFunction("work", llvm::FunctionType::get(c.b.getVoidTy(), false)));
  late.emit();
  return c.finished();
}

// Whether all of these follow the work, or come before it.
bool behind_work(const std::string& text, const std::string& what) {
  return text.find(what) > text.find("call void @work");
}

TEST(LateStores, AreBehindTheWorkAndTheirLoadsBeforeIt) {
  const std::string text = put_off([](LateCode& c) {
    Value* loaded = c.load(4);
    for (uint64_t lane = 0; lane < 4; ++lane)
      c.store(c.b.CreateExtractElement(loaded, lane), 32 * lane);
  });
  EXPECT_FALSE(behind_work(text, "load <4 x float>")) << text;
  EXPECT_EQ(occurrences(text, "store float"), 4u) << text;
  EXPECT_TRUE(behind_work(text, "store float")) << text;
  EXPECT_TRUE(behind_work(text, "extractelement")) << text;
  EXPECT_EQ(occurrences(text, "extractelement"), 4u) << "those of the code are gone" << text;
}

TEST(LateStores, WhatIsComputedOfLoadsIsComputedLate) {
  const std::string text = put_off([](LateCode& c) {
    Value* loaded = c.load();
    c.store(c.b.CreateFMul(loaded, loaded));
  });
  EXPECT_FALSE(behind_work(text, "load float")) << text;
  EXPECT_TRUE(behind_work(text, "fmul")) << text;
  EXPECT_EQ(occurrences(text, "fmul"), 1u) << text;
}

TEST(LateStores, HappenWhereTheCodeHadThem) {
  const std::string some = put_off([](LateCode& c) {
    c.where(c.condition, [&] { c.store(c.load()); });
    c.store(c.load(), 1);
  });
  EXPECT_EQ(occurrences(some, "phi i1"), 1u) << some;
  EXPECT_EQ(occurrences(some, "phi float"), 1u) << some;
  EXPECT_EQ(occurrences(some, "store float"), 2u) << some;
  EXPECT_TRUE(behind_work(some, "store float")) << some;
}

TEST(LateStores, LoadsUnderMasksAreLoads) {
  const std::string text = put_off([](LateCode& c) {
    auto* one = llvm::FixedVectorType::get(c.b.getFloatTy(), 1);
    Value* mask = c.b.CreateBitCast(c.condition, llvm::FixedVectorType::get(c.b.getInt1Ty(), 1));
    Value* loaded =
        c.b.CreateMaskedLoad(one, c.from, llvm::Align(4), mask, llvm::Constant::getNullValue(one));
    c.store(c.b.CreateExtractElement(loaded, uint64_t{0}));
  });
  EXPECT_FALSE(behind_work(text, "llvm.masked.load")) << text;
  EXPECT_TRUE(behind_work(text, "store float")) << text;
}

TEST(LateStores, WhatWaitsForNoLoadStays) {
  const std::string text =
      put_off([](LateCode& c) { c.store(llvm::ConstantFP::get(c.b.getFloatTy(), 0)); });
  EXPECT_FALSE(behind_work(text, "store float")) << text;
}

TEST(LateStores, ThoseInLoopsStay) {
  const std::string text = put_off([](LateCode& c) {
    llvm::BasicBlock *loop = c.block("loop"), *after = c.block("after");
    c.b.CreateBr(loop);
    c.b.SetInsertPoint(loop);
    c.store(c.load());
    c.b.CreateCondBr(c.condition, loop, after);
    c.b.SetInsertPoint(after);
  });
  EXPECT_FALSE(behind_work(text, "store float")) << text;
}

// 32 registers are kept, and no more.
TEST(LateStores, AThreadKeepsSomeRegisters) {
  const std::string text = put_off([](LateCode& c) {
    for (uint64_t k = 0; k < 12; ++k) {
      Value* loaded = c.load(4);
      for (uint64_t lane = 0; lane < 4; ++lane)
        c.store(c.b.CreateExtractElement(loaded, lane), 4 * k + lane);
    }
  });
  const std::string late = text.substr(text.find("call void @work"));
  EXPECT_EQ(occurrences(late, "store float"), 32u) << text;
  EXPECT_EQ(occurrences(text, "store float"), 48u) << text;
}

TEST(LateStores, OfNothingAreNone) {
  const std::string text = put_off([](LateCode&) {});
  EXPECT_EQ(occurrences(text, "store"), 0u) << text;
}

}  // namespace
}  // namespace adjit::testing
