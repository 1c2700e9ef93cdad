// tests/autosched/analysis/reads/select_axis_test.cpp -- copies along an axis that decides between
// parts of a body.
#include "autosched/analysis/reads/select_axis.hpp"

#include <gtest/gtest.h>

#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// d(i, j): for each j another function of row i, of `extent` columns.
Graph columns(int64_t extent, const std::string& rows = "4000") {
  std::string body;
  for (int64_t k = 0; k < extent; ++k)
    body += (k ? " + " : "") + std::string("select(j == ") + std::to_string(k) + ", sin(x(i) * " +
            std::to_string(k + 1) + ".0) * p(i), 0.0)";
  const std::string n = std::to_string(extent);
  return parse_graph("def main(float(" + rows + ") x) -> (d) {\n  p(i) = exp(x(i))\n  d(i, j) = " +
                     body + " where i in 0:" + rows + ", j in 0:" + n + "\n}");
}

TEST(DecidingAxis, IsFoundWhereSelectsAskForIt) {
  for (const int64_t extent : {3, 11, 16}) {
    const LoweredGraph graph(columns(extent));
    const auto found = deciding_axis(graph, graph.stages[1]);
    ASSERT_TRUE(found) << extent;
    EXPECT_EQ(found->axis, 1u);
    EXPECT_LT(found->cost, 40.0 * static_cast<double>(extent)) << "every part once";
  }
  const LoweredGraph wide(columns(17));
  EXPECT_FALSE(deciding_axis(wide, wide.stages[1])) << "too many copies";
  for (const char* body : {"select(j == i, sin(x(i)), cos(x(i)))", "sin(x(i)) * cos(x(j))",
                           "select(x(j) < 1.0, sin(x(i)), cos(x(i)))", "select(j == 0, x(i), 2.0)",
                           "select(j == 0, sin(x(i)), 0.0) + cos(x(i) * x(j))"}) {
    const LoweredGraph graph(parse_graph(std::string("def main(float(64) x) -> (d) { d(i, j) = ") +
                                         body + " where i in 0:64, j in 0:8 }"));
    EXPECT_FALSE(deciding_axis(graph, graph.stages[0])) << body;
  }
}

TEST(DecidingAxis, IsInTheTileAsAWhole) {
  const Graph graph = columns(11, "600");
  for (const CpuMachine& machine : {kOneCore, kTwoCores}) {
    const Program p = default_schedule(graph, machine);
    expect_faithful(p, graph);
    const Nest& nest = nest_of(p, stage_of(p, "d"));
    EXPECT_TRUE(nest.attached.empty()) << "no loop over rows\n" << print(p);
    bool lanes = false, copies = false;
    for (const Loop& loop : nest.loops) {
      lanes |= loop.kind == LoopKind::Vector && loop.axis == 0;
      copies |= loop.kind == LoopKind::Unrolled && loop.axis == 1 && loop.trips == 11;
    }
    EXPECT_TRUE(lanes && copies) << print(p);
  }
  const Graph few = columns(11, "7");
  expect_faithful(default_schedule(few, kOneCore), few);
}

}  // namespace
}  // namespace adjit::sched
