// tests/jit/cuda/context_test.cpp -- the context that everybody in the process shares.
#include "jit/cuda/context.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "jit/cuda/result.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"

namespace adjit::cuda {
namespace {

class Contexts : public testing::Test {
 protected:
  void SetUp() override {
    require(driver, driver.init(0), "cuInit");
    fake.set_current_context(nullptr);
  }
  template <typename Call>
  static std::string refusal(Call&& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Device);
      return error.what();
    }
    return "";
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = load_driver(ADJIT_FAKE_CUDA);
};

TEST_F(Contexts, AreRetainedOnceWhenTheyAreNeeded) {
  PrimaryContext context(driver, 0);
  EXPECT_EQ(fake.calls("cuDevicePrimaryCtxRetain"), 0);
  std::vector<std::jthread> threads;
  for (int k = 0; k < 4; ++k) threads.emplace_back([&] { context.handle(); });
  threads.clear();
  EXPECT_EQ(fake.calls("cuDevicePrimaryCtxRetain"), 1);
}

TEST_F(Contexts, TheCallersContextIsThereAgain) {
  PrimaryContext context(driver, 0);
  char other = 0;
  fake.set_current_context(&other);
  {
    const CurrentContext current(context);
    EXPECT_EQ(fake.current_context(), context.handle());
  }
  EXPECT_EQ(fake.current_context(), &other);
}

TEST_F(Contexts, ACallerThatHasItAlreadyIsLeftAlone) {
  PrimaryContext context(driver, 0);
  fake.set_current_context(context.handle());
  {
    const CurrentContext current(context);
  }
  EXPECT_EQ(fake.calls("cuCtxSetCurrent"), 0);
}

TEST_F(Contexts, AFailureToRetainIsTriedAgain) {
  PrimaryContext context(driver, 0);
  fake.fail("cuDevicePrimaryCtxRetain", result::kDeviceUnavailable);
  EXPECT_NE(refusal([&] { context.handle(); }).find("another process uses the GPU"),
            std::string::npos);
  EXPECT_NE(context.handle(), nullptr);
}

TEST_F(Contexts, ALostOneIsNamedOnceAndForAll) {
  PrimaryContext context(driver, 0);
  context.handle();
  const std::string first =
      refusal([&] { context.require(result::kIllegalAddress, "cuLaunchKernel of 'grad'"); });
  EXPECT_NE(first.find("start a new process"), std::string::npos) << first;
  EXPECT_NE(refusal([&] { context.require(result::kLaunchFailed, "cuStreamSynchronize"); }), "");
  const std::string later = refusal([&] { const CurrentContext current(context); });
  EXPECT_NE(later.find("cuda:0 cannot be used any more"), std::string::npos) << later;
  EXPECT_NE(later.find("cuLaunchKernel of 'grad'"), std::string::npos) << later;
  EXPECT_EQ(later.find("cuStreamSynchronize"), std::string::npos) << later;
}

TEST_F(Contexts, AChildIsRefused) {
  PrimaryContext context(driver, 0);
  context.handle();
  const pid_t child = fork();
  if (child == 0)
    _exit(refusal([&] { context.handle(); }).find("'spawn'") != std::string::npos ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Contexts, OtherFailuresLoseNothing) {
  PrimaryContext context(driver, 0);
  EXPECT_THROW(context.require(result::kOutOfMemory, "cuMemAlloc"), Error);
  EXPECT_NE(context.handle(), nullptr);
}

}  // namespace
}  // namespace adjit::cuda
