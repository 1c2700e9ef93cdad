// tests/jit/emit/ir/predicated_test.cpp -- additions that a condition switches off, as PTX.
#include "jit/emit/ir/predicated.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/ir/gpu_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string added(bool doubles, unsigned lanes, bool flushes, bool products) {
  GpuFunction function;
  llvm::IRBuilder<>& b = function.b;
  llvm::Type* type = doubles ? b.getDoubleTy() : b.getFloatTy();
  if (lanes > 1) type = llvm::FixedVectorType::get(type, lanes);
  llvm::Value* const value = b.CreateLoad(type, function.from);
  llvm::Value* keep = function.condition;
  if (lanes > 1) keep = b.CreateVectorSplat(lanes, keep);
  llvm::Value* const sum = b.CreateLoad(type, function.to);
  const emit::TargetFeatures features = emit::gpu_features(flushes);
  llvm::Value* const result = products
                                  ? emit::multiply_add_where(b, features, keep, value, value, sum)
                                  : emit::add_where(b, features, keep, value, sum);
  EXPECT_EQ(result->getType(), type);
  b.CreateStore(result, function.to);
  return function.finished();
}

TEST(Predicated, AnInstructionForEachLane) {
  EXPECT_EQ(count(added(false, 1, false, true), "@$4 fma.rn.f32 $0, $1, $2, $0;"), 1u);
  EXPECT_EQ(count(added(false, 4, false, true), "@$4 fma.rn.f32 $0, $1, $2, $0;"), 4u);
  EXPECT_EQ(count(added(false, 2, false, false), "@$3 add.rn.f32 $0, $1, $0;"), 2u);
}

TEST(Predicated, FloatsAreFlushedWhereTheProgramDoes) {
  EXPECT_EQ(count(added(false, 1, true, true), "fma.rn.ftz.f32"), 1u);
  EXPECT_EQ(count(added(false, 1, true, false), "add.rn.ftz.f32"), 1u);
  EXPECT_EQ(count(added(true, 2, true, true), "fma.rn.f64"), 2u);
  EXPECT_EQ(count(added(true, 1, true, false), "add.rn.f64"), 1u);
}

}  // namespace
}  // namespace adjit::testing
