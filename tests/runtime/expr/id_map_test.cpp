// Tables by node number against the standard library's.
#include "runtime/expr/id_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace adjit::expr {
namespace {

TEST(IdMap, EmptyHoldsNothing) {
  const IdMap map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_FALSE(map.contains(7));
}

TEST(IdMap, TheFirstValueOfAKeyStays) {
  IdMap map;
  EXPECT_TRUE(map.insert(3, 10));
  EXPECT_FALSE(map.insert(3, 11));
  EXPECT_EQ(*map.find(3), 10u);
}

TEST(IdMap, GrowsAndKeepsWhatItHolds) {
  std::mt19937 random(1);
  for (uint32_t range : {40u, 5000u, UINT32_MAX}) {
    IdMap map;
    std::unordered_map<uint32_t, uint32_t> expected;
    for (uint32_t k = 0; k < 3000; ++k) {
      // Every third a multiple of the table's first size.
      const auto drawn = static_cast<uint32_t>(random());
      const uint32_t key = (k % 3 ? drawn : 64 * drawn) % range;
      EXPECT_EQ(map.insert(key, k), expected.emplace(key, k).second);
    }
    for (const auto& [key, value] : expected) {
      ASSERT_TRUE(map.contains(key));
      EXPECT_EQ(*map.find(key), value);
    }
    for (uint32_t key = 0; key < 1000; ++key) EXPECT_EQ(map.contains(key), expected.contains(key));
  }
}

}  // namespace
}  // namespace adjit::expr
