// tests/autosched/program/lowered_graph_test.cpp -- what a program knows of its graph beside the
// graph: which results run on, and the room behind rows.
#include "autosched/program/lowered_graph.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// A program's graph is edited in place: another one would leave the tables behind.
static_assert(!std::is_assignable_v<LoweredGraph&, Graph>);
static_assert(!std::is_convertible_v<Graph, LoweredGraph>);

constexpr const char* kSums =
    "def f(float(20, 6) x) -> (y, s) {\n"
    "  t(i, j) = exp(x(i, j))\n  u(i, j) = x(i, j) * 2.0\n"
    "  c(i, j) +=! t(r, j) where i in 0:20, j in 0:6, r in 0:20, r <= i\n"
    "  y(i, j) = c(i, j) * u(i, j)\n  s(i, j) = c(i, j) + t(i, j)\n}";

size_t running_stages(const LoweredGraph& graph) {
  size_t count = 0;
  for (const Stage& stage : graph.stages) count += running_of(graph, stage) != nullptr ? 1 : 0;
  return count;
}

TEST(LoweredGraph, APlainGraphHasNoGapsAndNothingThatRunsOn) {
  const LoweredGraph graph(parse_graph(kSums));
  const TensorId x = graph.inputs[0];
  EXPECT_EQ(running_stages(graph), 0u);
  EXPECT_EQ(row_gap(graph, x), 0);
  EXPECT_EQ(strides_of(graph, x), (std::vector<int64_t>{6, 1}));
  EXPECT_EQ(elements_with_gaps(graph, x), 120);
}

TEST(LoweredGraph, MovesKeepBothTables) {
  const Graph graph = parse_graph(kSums);
  const auto stage_of = [](const Program& p, const std::string& name) {
    size_t s = 0;
    while (stage_name(p.graph, p.graph.stages[s]) != name) ++s;
    return s;
  };
  Program p = pad_leading_dimension(plain(graph), 0, 3);
  const TensorId t = p.graph.stages[0].results[0];
  EXPECT_EQ(elements_with_gaps(p.graph, t), 20 * 9);
  // A copy of what runs on runs on.
  p = rematerialize(p, stage_of(p, "c"), stage_of(p, "s"));
  EXPECT_EQ(running_stages(p.graph), 2u);
  EXPECT_EQ(fault_in_tables(p.graph), "");
  expect_faithful(p, graph);
  // Two stages become one: the rows of one of its results have room.
  p = fuse_siblings(p, std::vector<size_t>{stage_of(p, "t"), stage_of(p, "u")});
  EXPECT_EQ(row_gap(p.graph, t), 3);
  expect_faithful(p, graph);
  p = inline_stages(p, std::vector<size_t>{stage_of(p, "t")});
  EXPECT_TRUE(p.graph.row_gaps.empty()) << "nothing gives it";
  EXPECT_EQ(running_stages(p.graph), 2u);
  expect_faithful(p, graph);
}

TEST(LoweredGraph, KnowsWhichScattersWriteEachElementOnce) {
  const Graph graph = parse_graph(
      "def f(float(9) x, int64(9) n) -> (h) {\n  scatter float(5) h(n(i)) +=[drop] x(i)\n}");
  Program p = plain(graph);
  EXPECT_TRUE(p.graph.distinct.empty());
  p = invert(p, stage_of(p, "h"), 8);
  ASSERT_EQ(p.graph.distinct.size(), 1u);
  EXPECT_EQ(fault_in_tables(p.graph), "");
  LoweredGraph other = p.graph;
  other.distinct.insert(99);
  EXPECT_EQ(fault_in_tables(other), "no stage has the first result that is written once");
  std::erase_if(p.graph.stages,
                [&](const Stage& stage) { return p.graph.distinct.contains(stage_key(stage)); });
  forget_removed(p.graph);
  EXPECT_TRUE(p.graph.distinct.empty());
}

TEST(LoweredGraph, TablesNameWhatThereIs) {
  const Program p = pad_leading_dimension(plain(parse_graph(kSums)), 0, 3);
  const auto fault_of = [&](auto&& change) {
    LoweredGraph graph = p.graph;
    change(graph);
    return fault_in_tables(graph);
  };
  const Running along{.axis = 0};
  EXPECT_EQ(fault_of([](LoweredGraph&) {}), "");
  EXPECT_EQ(fault_of([&](LoweredGraph& g) { g.running.emplace(99, along); }),
            "no stage has the first result that runs on");
  EXPECT_EQ(fault_of([&](LoweredGraph& g) { g.running.emplace(g.inputs[0].value, along); }),
            "no stage has the first result that runs on");
  EXPECT_EQ(fault_of([&](LoweredGraph& g) { g.running.emplace(stage_key(g.stages[0]), along); }),
            "'t' cannot run on along that axis");
  EXPECT_EQ(fault_of([](LoweredGraph& g) { g.running.begin()->second.axis = 2; }),
            "'c' cannot run on along that axis");
  EXPECT_EQ(fault_of([&](LoweredGraph& g) {
              for (Stage& stage : g.stages)
                if (running_of(g, stage)) stage.domain.inequalities.push_back(Affine::variable(0));
            }),
            "'c' cannot run on along that axis");
  EXPECT_EQ(fault_of([](LoweredGraph& g) { g.row_gaps[TensorId{99}] = 1; }),
            "no stage gives the tensor whose rows have gaps");
  EXPECT_EQ(fault_of([](LoweredGraph& g) { g.row_gaps.begin()->second = 0; }),
            "'t' has no rows with room behind them");
}

}  // namespace
}  // namespace adjit::sched
