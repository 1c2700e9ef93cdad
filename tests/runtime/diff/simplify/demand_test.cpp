// tests/runtime/diff/simplify/demand_test.cpp -- what nobody reads is not computed.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/masks.hpp"

namespace adjit::testing {
namespace {

// s(i, j) read by `readers`; how many of its 144 points are left.
int64_t scores_left(const std::string& readers, const std::string& outputs = "y") {
  const Graph graph = parse_graph("def main(double(12, 4) q, double(12, 12) x) -> (" + outputs +
                                  ") {\n  s(i, j) +=! q(i, r) * q(j, r)\n" + readers + "\n}");
  const Graph restricted = restrict_to_reads(graph);
  EXPECT_TRUE(same_numbers(graph, restricted));
  Graph alone = restricted;
  for (const Stage& stage : restricted.stages)
    if (restricted.info(stage.results[0]).name == "s") alone.stages = {stage};
  return points(alone) / 4;
}

TEST(NeededPoints, OneReader) {
  EXPECT_EQ(scores_left("  y(i) +=! s(i, r) * x(i, r) where i in 0:12, r in 0:12, r <= i"), 78);
  EXPECT_EQ(scores_left("  y(j) +=! s(r, j) * x(r, j) where j in 0:12, r in 0:12, r >= j"), 78);
  EXPECT_EQ(scores_left("  y(i, j) = s(j, i) * 2.0 where i in 0:12, j in 0:12, j <= i"), 78);
  EXPECT_EQ(scores_left("  y(i, j) = s(i, j) * 2.0 where i in 0:12, j in 0:12, j <= i, i <= j + 2"),
            33);
}

TEST(NeededPoints, AllReadersCount) {
  const std::string below = "  y(i) +=! s(i, r) * x(i, r) where i in 0:12, r in 0:12, r <= i\n";
  EXPECT_EQ(scores_left(below + "  z(i, j) = s(i, j) * 2.0 where i in 0:12, j in 0:12, j <= i - 3",
                        "y, z"),
            78);
  EXPECT_EQ(
      scores_left(below + "  z(i, j) = s(i, j) * 2.0 where i in 0:12, j in 0:12, j >= i", "y, z"),
      144);
  EXPECT_EQ(scores_left(below + "  z(i, j) = s(i, j) * 2.0", "y, z"), 144);
  EXPECT_EQ(scores_left(below, "y, s"), 144) << "an output";
}

TEST(NeededPoints, ReadsThatAreNotAtTheAxes) {
  EXPECT_EQ(scores_left("  y(i) +=! s(i, r + 1) * x(i, r) where i in 0:12, r in 0:11, r <= i"),
            144);
  EXPECT_EQ(scores_left("  y(i) +=! s(i, r) * x(i, r) where i in 0:12, r in 0:12, r <= i + 9"), 144)
      << "hardly fewer points";
}

// Selects whose answer the rows know are gone.
TEST(NeededPoints, DecidedSelects) {
  const Graph graph = parse_graph(
      "def main(double(12, 12) x) -> (y) {\n"
      "  m(i, j) = j <= i ? (j > i ? 1.0 : x(i, j) * 0.5) : -inf\n"
      "  y(i) max=! m(i, r) where i in 0:12, r in 0:12, r <= i\n}");
  const Graph restricted = restrict_to_reads(graph);
  EXPECT_TRUE(same_numbers(graph, restricted));
  EXPECT_EQ(print(restricted).find('?'), std::string::npos) << print(restricted);
  EXPECT_EQ(print(restricted).find("select"), std::string::npos) << print(restricted);
}

TEST(NeededPoints, AttentionComputesHalfOfTheScores) {
  const Graph forward = masked_attention("j <= i", 16);
  const Graph simple = simplify(forward);
  EXPECT_TRUE(same_numbers(forward, simple));
  // Scores 4, mask, exp, softmax 1, maximum and sum 1, times values 3: of 136 points each.
  EXPECT_EQ(points(simple), 136 * (4 + 3 + 2 + 3)) << print(simple);
}

}  // namespace
}  // namespace adjit::testing
