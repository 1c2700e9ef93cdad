// tests/jit/cuda/module_test.cpp -- code in a GPU, and PTX made code by the driver.
#include "jit/cuda/module.hpp"

#include <gtest/gtest.h>

#include "jit/cuda/driver_numbers.hpp"
#include "jit/cuda/result.hpp"
#include "jit/cuda/stream.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/jit/cuda/ptx.hpp"

namespace adjit::cuda {
namespace {

class Modules : public testing::Test {
 protected:
  void SetUp() override {
    require(driver, driver.init(0), "cuInit");
    context.handle();
    before = fake.live();
  }
  void TearDown() override {
    EXPECT_EQ(fake.live(), before) << "modules and links are given back";
    EXPECT_EQ(fake.current_context(), nullptr) << "as before";
  }
  template <typename Call>
  static std::string refusal(ErrorCode code, Call&& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "";
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = load_driver(ADJIT_FAKE_CUDA);
  PrimaryContext context{driver, 0};
  int before = 0;
};

TEST_F(Modules, PtxBecomesAnImageThatLoads) {
  const LoadedModule module(context, link_ptx(context, kPtx));
  EXPECT_NE(module.function("twice"), nullptr);
}

TEST_F(Modules, AKernelThatIsNotThereIsNamed) {
  const LoadedModule module(context, link_ptx(context, kPtx));
  EXPECT_NE(refusal(ErrorCode::Internal, [&] { module.function("thrice"); }).find("'thrice'"),
            std::string::npos);
}

TEST_F(Modules, WhatIsNoPtxOrNoImageIsRefused) {
  const auto ends_with = [](const std::string& said, const char* log) {
    return said.ends_with(log);
  };
  EXPECT_TRUE(ends_with(refusal(ErrorCode::Compile, [&] { link_ptx(context, "no ptx"); }),
                        "\nfake: no entry"));
  EXPECT_TRUE(ends_with(refusal(ErrorCode::Compile, [&] { LoadedModule(context, "no image"); }),
                        "\nfake: no image"));
}

TEST_F(Modules, EveryFailureIsAnErrorThatGivesBackWhatWasTaken) {
  const std::string image = link_ptx(context, kPtx);
  for (const char* symbol : {"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete"}) {
    fake.fail(symbol, result::kOutOfMemory);
    EXPECT_NE(refusal(ErrorCode::Memory, [&] { link_ptx(context, kPtx); }), "") << symbol;
  }
  fake.fail("cuModuleLoadDataEx", result::kNoBinary);
  EXPECT_NE(refusal(ErrorCode::Compile, [&] { LoadedModule(context, image); }), "");
  const LoadedModule module(context, image);
  fake.fail("cuModuleGetFunction", result::kOutOfMemory);
  EXPECT_NE(refusal(ErrorCode::Memory, [&] { module.function("twice"); }), "");
}

TEST_F(Modules, MoreSharedMemoryThanThereIsIsRefusedInBytes) {
  const LoadedModule module(context, link_ptx(context, kPtx));
  EXPECT_NO_THROW(allow_shared_memory(context, module.function("twice"), 100'000));
  EXPECT_NE(refusal(ErrorCode::Compile,
                    [&] { allow_shared_memory(context, module.function("twice"), 300'000); })
                .find("300000 bytes of shared memory"),
            std::string::npos);
}

// 48 KB without a word; what the card has is more on some and less on others.
TEST_F(Modules, BlocksHaveTheSharedMemoryThatTheirFunctionMayHave) {
  const LoadedModule module(context, link_ptx(context, kPtx));
  const auto runs = [&](FunctionHandle function, int bytes) {
    const CurrentContext current(context);
    try {
      launch(current, {function, {1, 32, bytes}, nullptr}, nullptr);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Internal) << "who launches has asked before";
      return false;
    }
  };
  const FunctionHandle usual = module.function("twice"), large = module.function("twice");
  EXPECT_TRUE(runs(usual, 48 << 10));
  EXPECT_FALSE(runs(usual, (48 << 10) + 1));
  allow_shared_memory(context, large, 100'000);
  EXPECT_TRUE(runs(large, 100'000));
  EXPECT_FALSE(runs(large, 100'001));
  fake.have(attribute::kBlockSharedBytes, 64 << 10);
  EXPECT_FALSE(runs(large, 100'000));
  EXPECT_NE(refusal(ErrorCode::Compile, [&] { allow_shared_memory(context, large, 100'000); }), "");
}

TEST_F(Modules, OfALostContextIsNotUnloaded) {
  {
    const LoadedModule module(context, link_ptx(context, kPtx));
    EXPECT_THROW(context.require(result::kIllegalAddress, "cuLaunchKernel"), Error);
  }
  EXPECT_EQ(fake.calls("cuModuleUnload"), 0);
  before = fake.live();  // the module went with its context
}

}  // namespace
}  // namespace adjit::cuda
