// tests/jit/engine/plan/dependencies_test.cpp -- who waits for whom, against all pairs of accesses.
#include "jit/engine/plan/dependencies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using Groups = std::vector<size_t>;

TEST(Dependencies, ReadersAndWriters) {
  Dependencies d;
  d.add(0, 0, 10, true);
  d.add(1, 2, 4, false);
  d.add(2, 3, 8, false);
  d.add(3, 0, 3, true);   // over what 1 reads
  d.add(4, 8, 12, true);  // 0 wrote the first half of it
  d.add(5, 0, 12, false);
  d.add(6, 12, 20, true);
  EXPECT_EQ(d.waits_of(0), Groups{});
  EXPECT_EQ(d.waits_of(1), Groups{0});
  EXPECT_EQ(d.waits_of(2), Groups{0});
  EXPECT_EQ(d.waits_of(3), Groups{1}) << "which waits for 0";
  EXPECT_EQ(d.waits_of(4), Groups{0});
  EXPECT_EQ(d.waits_of(5), (Groups{3, 4})) << "both wait for 0, directly or not";
  EXPECT_EQ(d.waits_of(6), Groups{});
  EXPECT_EQ(d.waits_of(99), Groups{});
}

TEST(Dependencies, AGroupDoesNotWaitForItself) {
  Dependencies d;
  d.add(0, 0, 8, true);
  d.add(0, 4, 12, false);
  d.add(0, 0, 12, true);
  EXPECT_EQ(d.waits_of(0), Groups{});
  d.add(1, 5, 5, true);  // nothing
  EXPECT_EQ(d.waits_of(1), Groups{});
}

struct Access {
  size_t group;
  int64_t begin, end;
  bool writes;
};

// Whatever is used in common, by a writer among the two, is ordered by a path of waits.
TEST(Dependencies, EveryConflictIsOrdered) {
  Random random(17);
  for (int round = 0; round < 300; ++round) {
    Dependencies d;
    std::vector<Access> accesses;
    const auto groups = static_cast<size_t>(random.between(2, 14));
    for (size_t g = 0; g < groups; ++g)
      for (int64_t n = random.between(1, 3); n > 0; --n) {
        const int64_t begin = random.between(-5, 30);
        accesses.push_back({g, begin, begin + random.between(1, 12), random.between(0, 2) == 0});
        d.add(g, begin, accesses.back().end, accesses.back().writes);
      }
    std::vector<std::vector<bool>> after(groups, std::vector<bool>(groups, false));
    for (size_t g = 0; g < groups; ++g)
      for (size_t before : d.waits_of(g)) {
        ASSERT_LT(before, g);
        after[g][before] = true;
        for (size_t k = 0; k < before; ++k) after[g][k] = after[g][k] || after[before][k];
      }
    std::vector<std::vector<bool>> conflict(groups, std::vector<bool>(groups, false));
    for (const Access& a : accesses)
      for (const Access& b : accesses)
        if (a.group > b.group && (a.writes || b.writes) && a.begin < b.end && b.begin < a.end)
          conflict[a.group][b.group] = true;
    for (size_t a = 0; a < groups; ++a)
      for (size_t b = 0; b < a; ++b)
        if (conflict[a][b]) {
          ASSERT_TRUE(after[a][b]) << a << " does not wait for " << b;
        }
    // And nobody waits for somebody with whom there is no conflict.
    for (size_t g = 0; g < groups; ++g)
      for (size_t before : d.waits_of(g)) EXPECT_TRUE(conflict[g][before]);
  }
}

}  // namespace
}  // namespace adjit::testing
