// tests/jit/cuda/ptx/bitcode_test.cpp -- a module as the bitcode that a driver may take.
#include "jit/cuda/ptx/bitcode.hpp"

#include <gtest/gtest.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBufferRef.h>

namespace adjit::cuda {
namespace {

TEST(Bitcode, IsWrappedWithItsSize) {
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  module.setTargetTriple("nvptx64-nvidia-cuda");
  const std::string bytes = wrapped_bitcode(module);
  const auto number = [&](size_t k) {
    uint32_t value = 0;
    for (size_t b = 4; b-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[4 * k + b]);
    return value;
  };
  EXPECT_EQ(number(0), 0x0B17C0DEu);
  EXPECT_EQ(number(2) + number(3), bytes.size());
  llvm::Expected<std::unique_ptr<llvm::Module>> read =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "kernels"), context);
  ASSERT_TRUE(bool{read});
  EXPECT_EQ((*read)->getTargetTriple(), "nvptx64-nvidia-cuda");
}

}  // namespace
}  // namespace adjit::cuda
