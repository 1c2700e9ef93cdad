// tests/autosched/program/segments_test.cpp -- which targets name a row in a segment of an axis.
#include "autosched/program/segments.hpp"
#include "autosched/program/graph_edit.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// A scatter of x(q) to this target, over rows i and places q.
Graph scattered(const std::string& target) {
  return parse_graph("def f(float(9) x, int64(6) first) -> (h) {\n  scatter float(5) h(" + target +
                     ") +=[drop] x(q) where i in 0:5, q in 0:9\n}");
}

std::optional<Segments> segments_in(const std::string& target) {
  const Graph graph = scattered(target);
  return segments_of(graph.pool, graph.stages[0]);
}

TEST(Segments, AreFoundByTheConditionOfATarget) {
  const Graph graph = scattered("select(first(i) <= q && q < first(i + 1), i, -1)");
  const auto found = segments_of(graph.pool, graph.stages[0]);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->dimension, 0u);
  EXPECT_EQ(found->axis, 1u);
  EXPECT_TRUE(graph.pool.is(found->inside[0], Op::Axis));
  EXPECT_TRUE(uses(graph.pool, found->begin, 0));
  EXPECT_FALSE(uses(graph.pool, found->begin, 1));
  EXPECT_TRUE(writes_apart(graph, graph.stages[0], 0)) << "where it writes";
  EXPECT_FALSE(writes_apart(graph, graph.stages[0], 1));
}

TEST(Segments, AreNotFoundInOtherTargets) {
  EXPECT_FALSE(segments_in("i").has_value());
  EXPECT_FALSE(segments_in("select(first(i) <= q, i, -1)").has_value()) << "one bound";
  EXPECT_FALSE(segments_in("select(first(i) <= q && q < first(i + 1), i, 0)").has_value())
      << "writes outside, too";
  EXPECT_FALSE(segments_in("select(first(i) <= q && q < first(i + 1), q, -1)").has_value());
  EXPECT_FALSE(segments_in("select(first(i) <= q && q < first(q % 6), i, -1)").has_value());
  EXPECT_FALSE(segments_in("select(first(i) <= q && i < first(i + 1), i, -1)").has_value());
}

// A reduction of this body over places q, for rows i.
std::optional<Segments> segments_in_body(const std::string& body, const std::string& by = "+") {
  const Graph graph = parse_graph("def f(float(9) x, int64(6) first) -> (h) {\n  h(i) " + by +
                                  "=! " + body + " where i in 0:5, q in 0:9\n}");
  return segments_of(graph.pool, graph.stages[0]);
}

TEST(Segments, AreFoundByTheConditionOfAReduction) {
  const std::string condition = "first(i) <= q && q < first(i + 1)";
  const auto found = segments_in_body("select(" + condition + ", x(q), 0.0)");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->axis, 1u);
  EXPECT_EQ(found->inside.size(), 1u);
  EXPECT_TRUE(segments_in_body("select(" + condition + ", x(q), 1.0)", "*").has_value());
  EXPECT_FALSE(segments_in_body("select(" + condition + ", x(q), 1.0)").has_value())
      << "adds something outside";
  EXPECT_FALSE(segments_in_body("select(first(i) <= q, x(q), 0.0)").has_value()) << "one bound";
  EXPECT_FALSE(segments_in_body("select(i <= q && q < i + 2, x(q), 0.0)").has_value()) << "a band";
  EXPECT_FALSE(segments_in_body("x(q) * select(" + condition + ", 1.0, 0.0)").has_value());
}

TEST(Segments, BelongToNoOthers) {
  const Graph graph = matmul_graph(2, 3, 4);
  EXPECT_FALSE(segments_of(graph.pool, graph.stages[0]).has_value());
}

}  // namespace
}  // namespace adjit::sched
