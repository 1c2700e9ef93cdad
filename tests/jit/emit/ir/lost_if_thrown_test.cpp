// tests/jit/emit/ir/lost_if_thrown_test.cpp -- objects left alone where an exception passes.
#include "jit/emit/ir/lost_if_thrown.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace adjit::emit {
namespace {

struct Destroyed {
  int& times;
  ~Destroyed() { ++times; }
};

TEST(LostIfThrown, IsDestroyedAtTheEndOfItsScope) {
  int times = 0;
  {
    const LostIfThrown<Destroyed> object(times);
  }
  EXPECT_EQ(times, 1);
}

TEST(LostIfThrown, IsLeftAloneByAnException) {
  int times = 0;
  try {
    const LostIfThrown<Destroyed> object(times);
    throw std::runtime_error("from inside");
  } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): what was wanted
  }
  EXPECT_EQ(times, 0);
}

TEST(LostIfThrown, IsDestroyedInAScopeThatUnwindingRuns) {
  int times = 0;
  struct Cleanup {
    int& times;
    ~Cleanup() { const LostIfThrown<Destroyed> object(times); }
  };
  try {
    const Cleanup cleanup{times};
    throw std::runtime_error("from inside");
  } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): what was wanted
  }
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace adjit::emit
