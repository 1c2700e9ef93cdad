// tests/jit/emit/ir/async_copies_test.cpp -- which loads and stores become copies.
#include "jit/emit/ir/async_copies.hpp"

#include <gtest/gtest.h>

#include <string>

#include "jit/emit/ir/lane_memory.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/ir/gpu_function.hpp"

namespace adjit::testing {
namespace {

using llvm::Value;

struct CopyCode : GpuFunction {
  llvm::Type* floats(unsigned lanes) { return llvm::FixedVectorType::get(b.getFloatTy(), lanes); }
  Value* load(llvm::Type* type, uint64_t align) {
    return b.CreateAlignedLoad(type, from, llvm::Align(align));
  }
  void store(Value* value, uint64_t align) { b.CreateAlignedStore(value, to, llvm::Align(align)); }
};

// The instructions that are left of some, a line each.
template <class Emit>
std::string left_of(Emit&& emit) {
  CopyCode c;
  const emit::EmittedCode code(c.b);
  emit(c);
  emit::replace_by_copies(c.b, code);
  return c.finished();
}

size_t copies_in(const std::string& text, const std::string& which) {
  return occurrences(text, "cp.async." + which + "(");
}

TEST(AsyncCopies, AreAsWideAsBothAlignmentsAllow) {
  for (const uint64_t from : {4u, 8u, 16u})
    for (const uint64_t to : {4u, 8u, 16u}) {
      const std::string text =
          left_of([&](CopyCode& c) { c.store(c.load(c.floats(4), from), to); });
      const uint64_t bytes = std::min(from, to);
      EXPECT_EQ(copies_in(text, (bytes == 16 ? "cg" : "ca") + std::string(".shared.global.") +
                                    std::to_string(bytes)),
                16 / bytes)
          << text;
      EXPECT_EQ(text.find("load"), std::string::npos) << text;
      EXPECT_EQ(text.find("store"), std::string::npos) << text;
    }
}

std::string left_of_elements(uint64_t align, bool masked) {
  return left_of([=](CopyCode& c) {
    Value* loaded =
        masked ? emit::load_where(c.b, c.floats(4), c.from, llvm::Align(align), c.condition)
               : c.load(c.floats(4), align);
    for (uint64_t lane = 0; lane < 4; ++lane)
      c.b.CreateAlignedStore(c.b.CreateExtractElement(loaded, lane),
                             c.b.CreateConstInBoundsGEP1_64(c.b.getFloatTy(), c.to, 32 * lane),
                             llvm::Align(4));
  });
}

TEST(AsyncCopies, ElementsThatGoApartAreCopiedApart) {
  const std::string text = left_of_elements(4, false);
  EXPECT_EQ(copies_in(text, "ca.shared.global.4"), 4u) << text;
  EXPECT_EQ(text.find("load"), std::string::npos) << text;
}

// One access loads what four would copy.
TEST(AsyncCopies, WhatOneLoadBringsForSeveralStoresGoesThroughRegisters) {
  for (const bool masked : {false, true})
    for (const uint64_t align : {8u, 16u}) {
      const std::string text = left_of_elements(align, masked);
      EXPECT_EQ(occurrences(text, "cp.async"), 0u) << text;
      EXPECT_EQ(occurrences(text, "store "), 4u) << text;
    }
}

// Zeros where a condition does not hold, for all lanes or for each.
TEST(AsyncCopies, AConditionSaysHowMuchIsRead) {
  const std::string all = left_of([](CopyCode& c) {
    c.store(emit::load_where(c.b, c.floats(4), c.from, llvm::Align(16), c.condition), 16);
  });
  EXPECT_EQ(copies_in(all, "cg.shared.global.16.s"), 1u) << all;
  EXPECT_NE(all.find("select i1 %2, i32 16, i32 0"), std::string::npos) << all;
  const std::string lanes = left_of([](CopyCode& c) {
    Value* mask = c.b.CreateVectorSplat(4, c.b.getTrue());
    mask = c.b.CreateInsertElement(mask, c.condition, uint64_t{3});
    Value* zero = llvm::Constant::getNullValue(c.floats(4));
    c.store(c.b.CreateMaskedLoad(c.floats(4), c.from, llvm::Align(16), mask, zero), 16);
  });
  EXPECT_EQ(copies_in(lanes, "ca.shared.global.4.s"), 4u) << lanes;
  const std::string select = left_of([](CopyCode& c) {
    Value* zero = llvm::Constant::getNullValue(c.b.getFloatTy());
    c.store(c.b.CreateSelect(c.condition, c.load(c.b.getFloatTy(), 4), zero), 4);
  });
  EXPECT_EQ(copies_in(select, "ca.shared.global.4.s"), 1u) << select;
}

TEST(AsyncCopies, WhatIsComputedStays) {
  for (const std::string& text : {
           left_of([](CopyCode& c) {
             Value* loaded = c.load(c.b.getFloatTy(), 4);
             c.store(c.b.CreateFAdd(loaded, loaded), 4);
           }),
           left_of([](CopyCode& c) { c.store(c.load(c.b.getInt16Ty(), 2), 2); }),
           left_of([](CopyCode& c) {
             auto* halves = llvm::FixedVectorType::get(c.b.getHalfTy(), 4);
             c.store(c.load(halves, 2), 8);
           }),
           left_of([](CopyCode& c) { c.store(llvm::Constant::getNullValue(c.b.getFloatTy()), 4); }),
           left_of([](CopyCode& c) {  // one, where a condition does not hold
             Value* one = llvm::ConstantFP::get(c.b.getFloatTy(), 1);
             c.store(c.b.CreateSelect(c.condition, c.load(c.b.getFloatTy(), 4), one), 4);
           }),
       }) {
    EXPECT_EQ(occurrences(text, "cp.async"), 0u) << text;
    EXPECT_EQ(occurrences(text, "store"), 1u) << text;
  }
}

// Two elements of a half type are the least that a copy moves.
TEST(AsyncCopies, HalvesAreCopiedInPairs) {
  const std::string text = left_of(
      [](CopyCode& c) { c.store(c.load(llvm::FixedVectorType::get(c.b.getHalfTy(), 8), 16), 16); });
  EXPECT_EQ(copies_in(text, "cg.shared.global.16"), 1u) << text;
}

TEST(AsyncCopies, WhatWasThereBeforeStays) {
  CopyCode c;
  c.store(c.load(c.b.getFloatTy(), 4), 4);
  const emit::EmittedCode code(c.b);
  llvm::BasicBlock* next = c.block("next");
  c.b.CreateBr(next);
  c.b.SetInsertPoint(next);
  c.store(c.load(c.b.getFloatTy(), 4), 4);
  emit::replace_by_copies(c.b, code);
  c.b.CreateRetVoid();
  EXPECT_TRUE(llvm::isa<llvm::StoreInst>(*std::next(c.f->getEntryBlock().begin())));
  EXPECT_EQ(next->size(), 2u) << "the copy and the end";
}

}  // namespace
}  // namespace adjit::testing
