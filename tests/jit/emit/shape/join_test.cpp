// tests/jit/emit/shape/join_test.cpp -- where the parts of a join begin, and which chains are none.
#include "jit/emit/shape/join.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/joins.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::IndexForms;

// What the one stage's body joins, its axes being in their extents, or up to `beyond` behind them.
std::optional<Join> joined(const std::string& text, int64_t beyond = 0) {
  const Graph graph = parse_graph(text);
  const Stage& stage = graph.stages.back();
  const std::optional<JoinChain> chain = join_chain(graph.pool, stage.bodies[0]);
  if (!chain) return {};
  std::vector<Interval> ranges;
  for (const int64_t extent : stage.domain.extents) ranges.push_back({0, extent - 1 + beyond});
  IndexForms forms(graph.pool, stage.domain, std::move(ranges));
  return join_of(graph, *chain, forms);
}

std::string replaced(std::string text, const std::string& old, const std::string& now) {
  const size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}

const std::vector<int64_t> kWidths{3, 1, 4, 1, 5, 9, 2, 6};

TEST(Join, BeginsWhereTheWidthsSay) {
  const std::optional<Join> join = joined(join_text(kWidths, 0, 7));
  ASSERT_TRUE(join);
  EXPECT_EQ(join->begins, (std::vector<int64_t>{0, 3, 4, 8, 9, 14, 23, 25}));
  EXPECT_EQ(join->position, Affine::variable(0));
  EXPECT_EQ(join->reads.size(), kWidths.size());
}

TEST(Join, OfHalfNumbersHoldsFloats) {
  const std::optional<Join> join = joined(join_text(kWidths, 1, 7, "half"));
  ASSERT_TRUE(join);
  EXPECT_TRUE(is_float(join->dtype));
}

TEST(Join, NeedsReadsInBoundsWhereverTheAxesAre) {
  const std::string text = join_text(kWidths, 0, 7);
  EXPECT_FALSE(joined(text, 1)) << "the last part ends before the axis does";
  EXPECT_FALSE(joined(replaced(text, "x2(i - 4", "x2(i - 3"))) << "one element behind the part";
  EXPECT_FALSE(joined(replaced(text, "x2(i - 4", "x2(i - 5"))) << "one element before it";
}

TEST(Join, NeedsPredicatesThatHold) {
  const std::string text = join_text(kWidths, 0, 7);
  EXPECT_TRUE(joined(replaced(text, "where 4 <= i && i < 8", "where 3 < i && i <= 7")));
  EXPECT_FALSE(joined(replaced(text, "where 4 <= i && i < 8", "where 5 <= i && i < 8")));
  EXPECT_FALSE(joined(replaced(text, "where 4 <= i && i < 8", "where 4 <= i && i < 7")));
  EXPECT_FALSE(joined(replaced(text, "where 4 <= i && i < 8", "where 1 <= j && i < 8")));
}

TEST(Join, NeedsEndsThatAscend) {
  EXPECT_FALSE(joined(replaced(join_text(kWidths, 0, 7), "select(i < 8", "select(i < 4")));
}

}  // namespace
}  // namespace adjit::testing
