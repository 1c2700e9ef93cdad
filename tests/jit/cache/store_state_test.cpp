// tests/jit/cache/store_state_test.cpp -- warnings come once, and what is latched stays so.
#include "jit/cache/store_state.hpp"

#include <gtest/gtest.h>

#include "tests/jit/cache/store_fixture.hpp"

namespace adjit::cache {
namespace {

using StoreStateTest = test::StoreTest;

TEST_F(StoreStateTest, IsWritableUntilWritingEnds) {
  StoreState state{options()};
  EXPECT_TRUE(writable(state));
  state.latched = true;
  EXPECT_FALSE(writable(state));
  StoreOptions reading = options();
  reading.mode = Mode::ReadOnly;
  EXPECT_FALSE(writable(StoreState{reading}));
}

TEST_F(StoreStateTest, EachDirectoryIsWarnedOfOnce) {
  const test::Scratch shared;
  ASSERT_EQ(chmod(scratch.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(shared.path().c_str(), 0777), 0);
  StoreOptions both = options();
  both.shared_directory = shared.path();
  StoreState state{both};
  for (int k = 0; k < 3; ++k) {
    EXPECT_FALSE(open_directory_of(state, Sharing::Private));
    EXPECT_FALSE(open_directory_of(state, Sharing::Shared));
  }
  const std::vector<std::string> warnings = log.at(Level::Warning);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_TRUE(warnings[0].starts_with("the cache is not used")) << warnings[0];
  EXPECT_TRUE(warnings[1].starts_with("the shared cache is not used")) << warnings[1];
}

TEST_F(StoreStateTest, AnAbsentDirectoryIsNoReasonToWarn) {
  StoreOptions absent = options();
  absent.directory = scratch / "absent";
  StoreState state{absent};
  EXPECT_TRUE(open_directory_of(state, Sharing::Private).absent);
  EXPECT_TRUE(log.at(Level::Warning).empty());
}

}  // namespace
}  // namespace adjit::cache
