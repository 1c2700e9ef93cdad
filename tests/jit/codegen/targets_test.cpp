// tests/jit/codegen/targets_test.cpp -- the code generators that can be asked.
#include "jit/codegen/targets.hpp"

#include <gtest/gtest.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>

#include <string>

#include "runtime/expr/error.hpp"

namespace adjit::codegen {
namespace {

TEST(Targets, AreX86AndNvptx) {
  register_targets();
  register_targets();
  std::string error;
  for (const char* triple : {"x86_64-pc-linux-gnu", "nvptx64-nvidia-cuda"})
    EXPECT_NE(llvm::TargetRegistry::lookupTarget(triple, error), nullptr) << error;
  EXPECT_EQ(llvm::TargetRegistry::lookupTarget("riscv64-unknown-linux", error), nullptr);
}

TEST(Targets, WhatLlvmCallsFatalIsThrown) {
  register_targets();
  try {
    llvm::report_fatal_error("no such thing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    EXPECT_NE(std::string(error.what()).find("no such thing"), std::string::npos);
  }
}

}  // namespace
}  // namespace adjit::codegen
