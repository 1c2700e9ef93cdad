// tests/autosched/moves/scatter/apart_axes_test.cpp -- axes that write other coordinates for each
// of their points.
#include "autosched/moves/scatter/apart_axes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/parse/text_module.hpp"

namespace adjit::sched {
namespace {

Graph scatter_to(const std::string& result, const std::string& target) {
  return parse_graph("def f(float(9, 3, 4) x, int64(9) n) -> (h) {\n  scatter float(" + result +
                     ") h(" + target +
                     ") +=[drop] x(i, j, k) where i in 0:9, j in 0:3, k in 0:4\n}");
}

// The axes that write apart at h(5, 7), as numbers; nullopt where they do not name all of a row.
std::optional<std::vector<int64_t>> apart_at_column_7(const std::string& shape,
                                                      const std::string& target) {
  Graph graph = scatter_to(shape, target);
  const size_t last = graph.stages.size() - 1;
  const Stage stage = graph.stages[last];
  const InvertedAxes axes = inverted_axes(graph, stage);
  const std::vector<int64_t> extents = graph.info(stage.results[0]).shape;
  const ExprId coordinates[] = {graph.pool.constant_int(5), graph.pool.constant_int(7)};
  const auto apart = apart_at(graph.pool, stage, axes, extents, coordinates);
  if (!apart) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const ExprId axis : *apart) numbers.push_back(*graph.pool.int_value(axis));
  return numbers;
}

TEST(ApartAxes, DigitsOfACoordinate) {
  EXPECT_EQ(apart_at_column_7("20, 12", "n(i), 4 * j + k"), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(apart_at_column_7("20, 12", "n(i), j + 3 * k"), (std::vector<int64_t>{1, 2}));
}

TEST(ApartAxes, NameAllOfARowOrNone) {
  EXPECT_EQ(apart_at_column_7("20, 13", "n(i), 4 * j + k"), std::nullopt) << "the last is left";
  EXPECT_EQ(apart_at_column_7("20, 13", "n(i), 4 * j + k + 1"), std::nullopt) << "the first is";
  EXPECT_EQ(apart_at_column_7("20, 24", "n(i), 8 * j + 2 * k"), std::nullopt) << "every second is";
}

TEST(ApartAxes, AreNotThoseThatMeet) {
  const Graph graph = scatter_to("20, 12", "n(i), 3 * j + k");
  const InvertedAxes axes = inverted_axes(graph, graph.stages.back());
  EXPECT_TRUE(axes.apart.empty());
  EXPECT_EQ(axes.rows, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(axes.points, (std::vector<size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace adjit::sched
