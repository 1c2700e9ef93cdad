// tests/jit/engine/kept_schedules_test.cpp -- kept schedules are found in this process, in others,
// and no more after they are taken back.
#include "jit/engine/kept_schedules.hpp"

#include <gtest/gtest.h>

#include "tests/jit/cache/scratch.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

const char* const kMoves = R"([{"move": "parallel", "stage": "y", "loops": 1}])";

TEST(KeptSchedules, AreFoundInThisProcessAndOnDisk) {
  const cache::test::Scratch scratch;
  cache::StoreOptions options;
  options.directory = scratch.path();
  const cache::Key key = cache::test::sample_key();
  {
    cache::Store store(options);
    KeptSchedules kept(store);
    EXPECT_EQ(kept.find(key), "");
    kept.keep(key, kMoves, {});
    EXPECT_EQ(kept.find(key), kMoves);
    EXPECT_EQ(kept.find(cache::test::sample_key("another graph")), "");
  }
  cache::Store store(options);
  KeptSchedules kept(store);
  EXPECT_EQ(kept.find(key), kMoves);
  kept.keep(key, "", {});
  EXPECT_EQ(kept.find(key), "");
  EXPECT_FALSE(store.load(key).entry);
}

TEST(KeptSchedules, NeedNoDisk) {
  cache::StoreOptions options;
  options.mode = cache::Mode::Off;
  cache::Store store(options);
  KeptSchedules kept(store);
  kept.keep(cache::test::sample_key(), kMoves, {});
  EXPECT_EQ(kept.find(cache::test::sample_key()), kMoves);
}

}  // namespace
}  // namespace adjit::testing
