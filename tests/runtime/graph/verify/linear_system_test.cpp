#include "runtime/graph/verify/linear_system.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::graph {
namespace {

Affine v(size_t k, int64_t scale = 1, int64_t constant = 0) {
  return Affine::variable(k, scale, constant);
}

TEST(LinearSystem, Contradictions) {
  EXPECT_FALSE(is_certainly_empty({}));
  EXPECT_TRUE(is_certainly_empty({{Affine(-1)}, {}}));
  EXPECT_TRUE(is_certainly_empty({{}, {Affine(1)}}));
  EXPECT_TRUE(is_certainly_empty({{v(0, 1, -3), v(0, -1, 2)}, {}}));       // x >= 3, x <= 2
  EXPECT_FALSE(is_certainly_empty({{v(0, 1, -3), v(0, -1, 3)}, {}}));      // x == 3
  EXPECT_TRUE(is_certainly_empty({{v(0, 2, -3), v(0, -2, 3)}, {}}));       // 2 x == 3
  EXPECT_TRUE(is_certainly_empty({{}, {v(0, 2) + v(1, 4) + Affine(1)}}));  // parity
  EXPECT_TRUE(
      is_certainly_empty({{v(0) - v(1), v(1) - v(2), v(2) - v(0) + Affine(-1)}, {}}));  // a cycle
}

TEST(LinearSystem, OverflowProvesNothing) {
  EXPECT_FALSE(is_certainly_empty(
      {{v(0, INT64_MAX) + v(1, INT64_MAX - 1), v(0, -INT64_MAX + 2) + v(1, -5)}, {}}));
}

// Against all points of a small box: never wrong, and rarely undecided.
TEST(LinearSystem, AgreesWithEnumeration) {
  testing::Random random(5);
  int empty = 0, proven = 0;
  for (int round = 0; round < 3000; ++round) {
    LinearSystem system;
    std::array<int64_t, 3> extents{};
    for (size_t k = 0; k < 3; ++k) {
      extents[k] = random.between(1, 5);
      system.inequalities.push_back(v(k));
      system.inequalities.push_back(v(k, -1, extents[k] - 1));
    }
    const auto row = [&] {
      Affine form(random.between(-8, 8));
      for (size_t k = 0; k < 3; ++k) form += v(k, random.between(-3, 3));
      return form;
    };
    for (int64_t n = random.between(0, 3); n > 0; --n) system.inequalities.push_back(row());
    for (int64_t n = random.between(0, 1); n > 0; --n) system.equalities.push_back(row());
    bool found = false;
    for (int64_t a = 0; a < extents[0]; ++a)
      for (int64_t b = 0; b < extents[1]; ++b)
        for (int64_t c = 0; c < extents[2]; ++c) {
          const std::array<int64_t, 3> point{a, b, c};
          const auto holds = [&](const Affine& f) { return evaluate(f, point) >= 0; };
          const auto zero = [&](const Affine& f) { return evaluate(f, point) == 0; };
          found = found || (std::ranges::all_of(system.inequalities, holds) &&
                            std::ranges::all_of(system.equalities, zero));
        }
    const bool answer = is_certainly_empty(system);
    ASSERT_FALSE(answer && found) << "round " << round;
    empty += !found;
    proven += answer;
  }
  EXPECT_GT(proven, empty * 9 / 10) << proven << " of " << empty;
}

}  // namespace
}  // namespace adjit::graph
