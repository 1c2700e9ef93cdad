// tests/jit/emit/shape/lane_windows_test.cpp -- every lane gets its element, from few vectors.
#include "jit/emit/shape/lane_windows.hpp"

#include <gtest/gtest.h>

#include <random>

namespace adjit::emit {
namespace {

using Offsets = std::vector<int64_t>;

// Each lane's element lies where its offset says, once; windows are used up to their lengths.
void check(const Offsets& offsets) {
  const LaneWindows windows(offsets);
  std::vector<int> found(offsets.size(), 0);
  for (const LaneWindows::Window& window : windows.windows()) {
    int last = -1;
    for (size_t lane = 0; lane < offsets.size(); ++lane) {
      if (window.element[lane] < 0) continue;
      ++found[lane];
      last = std::max(last, window.element[lane]);
      EXPECT_LT(window.element[lane], static_cast<int>(offsets.size()));
      EXPECT_EQ(window.start + window.element[lane], offsets[lane]);
    }
    EXPECT_EQ(window.length, last + 1);
  }
  EXPECT_EQ(found, std::vector<int>(offsets.size(), 1));
}

Offsets strided(int64_t stride, int64_t lanes = 16) {
  Offsets offsets;
  for (int64_t lane = 0; lane < lanes; ++lane) offsets.push_back(stride * lane);
  return offsets;
}

TEST(LaneWindows, AStrideTakesAsManyVectors) {
  for (int64_t stride : {1, 2, 3, 4, -1, -2, -3}) {
    check(strided(stride));
    EXPECT_EQ(LaneWindows(strided(stride)).windows().size(),
              static_cast<size_t>(stride < 0 ? -stride : stride));
    EXPECT_FALSE(LaneWindows(strided(stride)).shared());
  }
}

TEST(LaneWindows, FarLanesAreNotWorthIt) {
  EXPECT_TRUE(LaneWindows(strided(4)).worthwhile());
  EXPECT_TRUE(LaneWindows(strided(9)).worthwhile()) << "3 x 3 weights";
  EXPECT_FALSE(LaneWindows(strided(16)).worthwhile());
  EXPECT_FALSE(LaneWindows(strided(int64_t{1} << 58)).worthwhile());
  EXPECT_TRUE(LaneWindows(strided(2, 4)).worthwhile());
  EXPECT_FALSE(LaneWindows(strided(6, 4)).worthwhile());
}

TEST(LaneWindows, LanesMayShareAnElement) {
  const LaneWindows halves(Offsets{0, 0, 1, 1, 2, 2, 3, 3});
  EXPECT_EQ(halves.windows().size(), 1u);
  EXPECT_EQ(halves.windows()[0].length, 4);
  EXPECT_TRUE(halves.shared());
}

TEST(LaneWindows, TwoPlaces) {
  const Offsets offsets{0, 1000, 1, 1001, 2, 1002, 3, 1003};
  check(offsets);
  EXPECT_EQ(LaneWindows(offsets).windows().size(), 2u);
}

TEST(LaneWindows, AnyOffsets) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    Offsets offsets;
    for (int lane = 0; lane < 1 << (1 + trial % 5); ++lane)
      offsets.push_back(static_cast<int64_t>(random() % (trial % 2 ? 20 : 2000)) - 7);
    check(offsets);
  }
  check({INT64_MIN, INT64_MAX, 0, -1});
}

}  // namespace
}  // namespace adjit::emit
