// tests/runtime/process/per_thread_test.cpp -- values of threads.
#include "runtime/process/per_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace adjit::process {
namespace {

std::atomic<int> alive{0};

struct Counted {
  int value = 7;
  Counted() { ++alive; }
  ~Counted() { --alive; }
};

PerThread<Counted> counted;

TEST(PerThread, IsMadeWhenAskedForAndEndsWithItsThread) {
  EXPECT_EQ(counted.find(), nullptr);
  counted.get().value = 8;
  EXPECT_EQ(counted.find(), &counted.get());
  std::thread([] {
    EXPECT_EQ(counted.find(), nullptr);
    EXPECT_EQ(counted.get().value, 7);
    EXPECT_EQ(alive, 2);
  }).join();
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(counted.get().value, 8);
}

}  // namespace
}  // namespace adjit::process
