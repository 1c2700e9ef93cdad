// tests/jit/engine/backends_test.cpp -- the machines of an engine, by the names of targets.
#include "jit/engine/backends.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "jit/cuda/driver.hpp"
#include "runtime/expr/error.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

std::string refusal(Backends& backends, const std::string& target) {
  try {
    backends.named(target);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
    return error.what();
  }
  return "";
}

// The driver is the process's: each case has a process of its own. By their name Google Test runs
// them before all others, some of which give the process a driver.
template <typename Work>
void in_a_child(Work&& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(BackendsDeathTest, TheProcessorIsThereAndOtherNamesAreRefused) {
  Backends backends(cpu_target(), 1, FloatMode::FlushSubnormals);
  EXPECT_EQ(&backends.named("cpu"), &backends.cpu());
  EXPECT_NE(refusal(backends, "abacus").find("'abacus'"), std::string::npos);
  EXPECT_FALSE(cuda::is_driver_initialised());
}

TEST(BackendsDeathTest, WithoutADriverItsLibraryIsNamed) {
  in_a_child([] {
    setenv("ADJIT_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
    Backends backends(cpu_target(), 1, FloatMode::FlushSubnormals);
    const std::string said = refusal(backends, "cuda");
    return said.find("libcuda.so.1") != std::string::npos &&
           said.find("install NVIDIA's driver") != std::string::npos;
  });
}

TEST(BackendsDeathTest, AGpuThatIsNotThereIsRefusedByItsNumber) {
  in_a_child([] {
    setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
    Backends backends(cpu_target(), 1, FloatMode::FlushSubnormals);
    return refusal(backends, "cuda:7").find("the last visible GPU is cuda:0") != std::string::npos;
  });
}

}  // namespace
}  // namespace adjit::testing
