#include "jit/cpu/float_mode.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <limits>
#include <thread>

#include "jit/cpu/parallel.hpp"

namespace adjit::cpu {
namespace {

float half_of_the_least() {
  volatile float x = std::numeric_limits<float>::min();
  return x * 0.5f;
}

TEST(FloatMode, HoldsAsLongAsTheScopeAndForgetsFlags) {
  const FloatMode before = float_mode();
  EXPECT_EQ(before, FloatMode::KeepSubnormals);  // the C runtime's
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const FloatModeScope flush(FloatMode::FlushSubnormals);
    EXPECT_EQ(float_mode(), FloatMode::FlushSubnormals);
    EXPECT_EQ(half_of_the_least(), 0);
    {
      const FloatModeScope keep(FloatMode::KeepSubnormals);
      EXPECT_GT(half_of_the_least(), 0);
    }
    EXPECT_EQ(float_mode(), FloatMode::FlushSubnormals);
    volatile float zero = 0;
    volatile float infinite = 1 / zero;
    EXPECT_GT(infinite, 0);
    EXPECT_NE(std::fetestexcept(FE_DIVBYZERO), 0);
  }
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO), 0);
  EXPECT_EQ(float_mode(), before);
}

// The pool's workers may be older than the caller's mode, and run for callers of either.
TEST(FloatMode, TasksHaveTheCallers) {
  if (ThreadPool::available_threads() < 2) GTEST_SKIP() << "one CPU";
  ThreadPool pool(2);
  for (const FloatMode mode :
       {FloatMode::FlushSubnormals, FloatMode::KeepSubnormals, FloatMode::FlushSubnormals}) {
    const FloatModeScope scope(mode);
    struct Seen {
      FloatMode wanted;
      std::atomic<int> arrived{0}, right{0};
    } seen{mode};
    // Two tasks that wait for each other: one of them in a worker.
    pool.run(
        2,
        [](void* context, int64_t begin, int64_t end) {
          Seen& s = *static_cast<Seen*>(context);
          ++s.arrived;
          while (end - begin == 1 && s.arrived < 2) std::this_thread::yield();
          if (float_mode() == s.wanted) s.right += static_cast<int>(end - begin);
        },
        &seen);
    EXPECT_EQ(seen.right, 2);
  }
}

}  // namespace
}  // namespace adjit::cpu
