// tests/jit/cpu/selection_faults_test.cpp -- modules that LLVM 19 compiles wrongly or not at all.
#include "jit/cpu/selection_faults.hpp"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>

#include <string>

#include "tests/jit/cpu/small_modules.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// What a blend of vectors would read with the value lies past its end.
TEST(SelectionFaults, ALoadOfOneFloatStaysOneWhereItIsChosen) {
  for (const char* target : {"x86-64-v2", "x86-64-v3", "native"}) {
    TargetMachines machines((cpu_target(target)));
    const auto body = [](llvm::IRBuilder<>& b, llvm::Value* x) -> llvm::Value* {
      llvm::Type* type = b.getFloatTy();
      llvm::Value* array = b.CreateIntToPtr(b.CreateZExt(x, b.getInt64Ty()), b.getPtrTy());
      llvm::Value* first = b.CreateLoad(type, array);
      llvm::Value* second = b.CreateLoad(type, b.CreateConstGEP1_64(type, array, 1));
      llvm::Value* positive = b.CreateFCmpOGT(first, llvm::ConstantFP::get(type, 0));
      llvm::Value* chosen = b.CreateSelect(positive, second, first);
      return b.CreateBitCast(chosen, b.getInt32Ty());
    };
    const SmallModule small(machines, "chosen", body);
    const std::string text = assembly_of(small.module(), machines, CodegenLevel::Fast);
    for (size_t at = text.find("blend"); at != std::string::npos; at = text.find("blend", at + 1))
      EXPECT_EQ(text.substr(at, text.find('\n', at) - at).find('('), std::string::npos)
          << text << " on " << target;
  }
}

// Choices of choices between zeros and ones, in eight lanes, of which `take` takes one.
SmallModule::Body choices(llvm::Value* (*take)(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*)) {
  return [=](llvm::IRBuilder<>& b, llvm::Value* x) -> llvm::Value* {
    auto* type = llvm::FixedVectorType::get(b.getDoubleTy(), 8);
    llvm::Value* array = b.CreateIntToPtr(b.CreateZExt(x, b.getInt64Ty()), b.getPtrTy());
    llvm::Constant* zero = llvm::ConstantFP::get(type, 0);
    llvm::Value* loaded = b.CreateAlignedLoad(type, array, llvm::Align(8));
    llvm::Value* is_zero = b.CreateFCmpOEQ(loaded, zero);
    llvm::Value* one = b.CreateSelect(is_zero, llvm::ConstantFP::get(type, 1), zero);
    llvm::Value* inner = b.CreateSelect(is_zero, zero, one);
    llvm::Value* outer = b.CreateSelect(b.CreateFCmpOEQ(inner, zero), zero, inner);
    return take(b, outer, array);
  };
}

llvm::Value* stored_by_mask(llvm::IRBuilder<>& b, llvm::Value* vector, llvm::Value* array) {
  llvm::SmallVector<llvm::Constant*, 8> lanes(8, b.getFalse());
  lanes[0] = b.getTrue();
  b.CreateMaskedStore(vector, array, llvm::Align(8), llvm::ConstantVector::get(lanes));
  return b.getInt32(0);
}

llvm::Value* extracted(llvm::IRBuilder<>& b, llvm::Value* vector, llvm::Value*) {
  return b.CreateFPToSI(b.CreateExtractElement(vector, uint64_t{0}), b.getInt32Ty());
}

llvm::Value* extracted_after_arithmetic(llvm::IRBuilder<>& b, llvm::Value* vector,
                                        llvm::Value* array) {
  return extracted(b, b.CreateFNeg(b.CreateFAdd(vector, vector)), array);
}

// The code is not run: any processor compiles for one with AVX-512.
TEST(SelectionFaults, OneLaneOfChoicesCompilesForAvx512) {
  CpuTarget target = cpu_target();
  target.cpu = "znver4";
  target.features = "";
  target.vector =
      from_feature_string("+sse4.1,+avx,+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512dq,+avx512bf16");
  TargetMachines machines(target);
  for (const auto take : {stored_by_mask, extracted, extracted_after_arithmetic}) {
    const SmallModule small(machines, "chosen", choices(take));
    EXPECT_FALSE(compile_module(small.module(), machines, CodegenLevel::Less).empty());
  }
}

TEST(SelectionFaults, WholeVectorsStayAsTheyAre) {
  const SmallModule small(
      machines(), "stored",
      choices([](llvm::IRBuilder<>& b, llvm::Value* vector, llvm::Value* array) -> llvm::Value* {
        b.CreateAlignedStore(vector, array, llvm::Align(8));
        return b.getInt32(0);
      }));
  const std::string before = ir_text(small.module());
  keep_choices_whole(small.module());
  EXPECT_EQ(ir_text(small.module()), before);
}

}  // namespace
}  // namespace adjit::testing
