// tests/jit/codegen/first_use_test.cpp -- what is begun once, and only where there is memory for
// it.
#include "jit/codegen/first_use.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

#include "tests/sanitizer.hpp"

namespace adjit::codegen {
namespace {

TEST(FirstUse, IsOneWhateverComesLater) {
  FirstUse first;
  int times = 0;
  for (int k = 0; k < 3; ++k) first(1000, [&] { ++times; });
  EXPECT_EQ(times, 1);
}

TEST(FirstUse, BeginsNothingWithoutTheMemory) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers' allocators end the process at such a size";
  FirstUse first;
  int times = 0;
  EXPECT_THROW(first(SIZE_MAX / 2, [&] { ++times; }), std::bad_alloc);
  EXPECT_EQ(times, 0);
  first(1000, [&] { ++times; });
  EXPECT_EQ(times, 1);
}

TEST(FirstUse, ComesAgainIfItFailed) {
  FirstUse first;
  EXPECT_THROW(first(1000, [] { throw std::runtime_error("not this time"); }), std::runtime_error);
  int times = 0;
  first(1000, [&] { ++times; });
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace adjit::codegen
