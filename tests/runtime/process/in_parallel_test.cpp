#include "runtime/process/in_parallel.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace adjit::process {
namespace {

TEST(InParallel, EveryStepRunsOnceOnAThreadWithANumber) {
  for (const size_t count : {0, 1, 2, 7, 100})
    for (const size_t threads : {0, 1, 2, 5}) {
      std::vector<std::atomic<int>> runs(count);
      std::atomic<bool> in_range{true};
      in_parallel(count, threads, [&](size_t k, size_t thread) {
        ++runs[k];
        if (thread >= std::max<size_t>(threads, 1)) in_range = false;
      });
      for (const std::atomic<int>& one : runs) EXPECT_EQ(one, 1);
      EXPECT_TRUE(in_range);
    }
}

// Both steps wait until both have begun.
TEST(InParallel, StepsRunAtOnceAndTheCallersNumberIsZero) {
  std::atomic<int> begun{0};
  std::vector<std::thread::id> of(2);
  std::vector<size_t> numbers(2);
  in_parallel(2, 2, [&](size_t k, size_t thread) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
    of[k] = std::this_thread::get_id();
    numbers[k] = thread;
  });
  EXPECT_NE(of[0], of[1]);
  EXPECT_EQ(numbers[0] + numbers[1], 1u);
  for (size_t k = 0; k < 2; ++k) EXPECT_EQ(numbers[k] == 0, of[k] == std::this_thread::get_id());
}

TEST(InParallel, TheFirstStepsErrorIsRaisedAfterAllHaveEnded) {
  std::atomic<int> ended{0};
  const auto run = [&](size_t k, size_t) {
    ++ended;
    if (k % 4 == 2) throw std::runtime_error("step " + std::to_string(k));
  };
  try {
    in_parallel(20, 3, run);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "step 2");
  }
  EXPECT_EQ(ended, 20);
}

// A process that may have no more threads (of a user other than root) does all steps itself.
TEST(InParallel, WithoutMoreThreadsTheCallerDoesAll) {
  const auto in_child = [] {
    rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(65534) != 0)) _exit(77);
    std::vector<size_t> threads(5, SIZE_MAX);
    in_parallel(threads.size(), 3, [&](size_t k, size_t thread) { threads[k] = thread; });
    _exit(threads == std::vector<size_t>(5, 0) ? 0 : 1);
  };
  const pid_t child = fork();
  if (child == 0) in_child();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no limit of threads here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace adjit::process
