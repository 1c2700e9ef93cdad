// tests/jit/cuda/result_test.cpp -- what the driver answers, as errors.
#include "jit/cuda/result.hpp"

#include <gtest/gtest.h>

#include "tests/fake_cuda/fake_cuda.hpp"

namespace adjit::cuda {
namespace {

TEST(Result, SuccessIsNoError) {
  const Driver driver = load_driver(ADJIT_FAKE_CUDA);
  EXPECT_NO_THROW(require(driver, result::kSuccess, "cuInit"));
}

TEST(Result, AnErrorNamesTheCallTheDriversWordsAndTheRemedy) {
  const Driver driver = load_driver(ADJIT_FAKE_CUDA);
  try {
    require(driver, result::kOutOfMemory, "cuMemAlloc of 4096 bytes");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Memory);
    EXPECT_STREQ(error.what(),
                 "cuMemAlloc of 4096 bytes failed with CUDA_ERROR_OUT_OF_MEMORY (2): out of "
                 "memory; free arrays on the GPU, or give a memory_budget");
  }
}

TEST(Result, WhatTheDriverHasNoWordsForIsANumber) {
  const Driver driver = load_driver(ADJIT_FAKE_CUDA);
  EXPECT_EQ(describe(driver, 12345), "unknown CUDA error (12345)");
  EXPECT_EQ(code_of(12345), ErrorCode::Device);
}

TEST(Result, CodesTellCodeFromDevicesAndFromOurFaults) {
  EXPECT_EQ(code_of(result::kInvalidPtx), ErrorCode::Compile);
  EXPECT_EQ(code_of(result::kNoDevice), ErrorCode::Device);
  EXPECT_EQ(code_of(result::kIllegalAddress), ErrorCode::Device);
  EXPECT_EQ(code_of(result::kInvalidValue), ErrorCode::Internal);
}

TEST(Result, AHandleThatIsGoneIsNotSaidToBeTheCallersStream) {
  const Driver driver = load_driver(ADJIT_FAKE_CUDA);
  try {
    require(driver, result::kInvalidHandle, "cuLaunchKernel");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
    EXPECT_NE(std::string(error.what()).find("cudaDeviceReset"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find("stream"), std::string::npos);
  }
  EXPECT_FALSE(loses_context(result::kInvalidHandle));
}

TEST(Result, FaultsOfKernelsLoseTheContext) {
  for (const Result failure : {result::kIllegalAddress, result::kMisaligned, result::kLaunchFailed,
                               result::kContextDestroyed, result::kUncorrectableMemory})
    EXPECT_TRUE(loses_context(failure)) << failure;
  for (const Result failure : {result::kOutOfMemory, result::kInvalidPtx, result::kNoDevice, 12345})
    EXPECT_FALSE(loses_context(failure)) << failure;
}

}  // namespace
}  // namespace adjit::cuda
