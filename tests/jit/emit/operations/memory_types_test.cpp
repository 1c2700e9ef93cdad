// tests/jit/emit/operations/memory_types_test.cpp -- numbers come back from memory as they went
// there.
#include "jit/emit/operations/memory_types.hpp"

#include <gtest/gtest.h>

#include "tests/jit/emit/emitted_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr DType kDtypes[] = {DType::Bool,    DType::UInt8,    DType::Int32,   DType::Int64,
                             DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};

TEST(MemoryTypes, TakeTheBytesOfTheirDtype) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function&) {
    for (DType dtype : kDtypes)
      EXPECT_EQ(emit::memory_type(b, dtype)->getPrimitiveSizeInBits(), 8 * size_of(dtype))
          << name_of(dtype);
    EXPECT_TRUE(emit::register_type(b, DType::Bool)->isIntegerTy(1));
    EXPECT_TRUE(emit::register_type(b, DType::Float16)->isFloatTy());
    EXPECT_TRUE(emit::register_type(b, DType::BFloat16)->isFloatTy());
  });
}

// What converts vectors converts numbers.
TEST(MemoryTypes, WhatIsLoadedHasTheTypeOfARegister) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
    VectorMath math(b, native_features());
    for (DType dtype : kDtypes)
      for (const unsigned lanes : {1u, 8u}) {
        llvm::Type* type = emit::memory_type(b, dtype);
        if (lanes > 1) type = llvm::FixedVectorType::get(type, lanes);
        llvm::Value* bits = b.CreateAlignedLoad(type, pointer_argument(b, f, 0), llvm::Align(1));
        llvm::Value* value = emit::from_memory(b, math, bits, dtype);
        EXPECT_EQ(value->getType()->getScalarType(), emit::register_type(b, dtype));
        EXPECT_EQ(emit::to_memory(b, math, value, dtype)->getType(), type);
      }
  });
}

TEST(MemoryTypes, AByteThatIsNot0IsTrue) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
    VectorMath math(b, native_features());
    auto* type = llvm::FixedVectorType::get(b.getInt8Ty(), 4);
    llvm::Value* bytes = b.CreateAlignedLoad(type, pointer_argument(b, f, 0), llvm::Align(1));
    llvm::Value* known = emit::from_memory(b, math, bytes, DType::Bool);
    b.CreateAlignedStore(emit::to_memory(b, math, known, DType::Bool), pointer_argument(b, f, 1),
                         llvm::Align(1));
  });
  std::vector<uint8_t> from{0, 1, 2, 255}, to(4);
  void* pointers[] = {from.data(), to.data()};
  function(pointers);
  EXPECT_EQ(to, (std::vector<uint8_t>{0, 1, 1, 1}));
}

}  // namespace
}  // namespace adjit::testing
