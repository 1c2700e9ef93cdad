// tests/autosched/lower/prefix_test.cpp -- prefix reductions as stages that run on, and what may be
// done to their loops.
#include "autosched/lower/prefix.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/runtime/graph/random_values.hpp"

namespace adjit::sched {
namespace {

Graph running_sum(const std::string& row, const std::string& by = "+",
                  const std::string& body = "x(r_k, j)") {
  return parse_graph("def f(double(20, 6) x) -> (y) { y(i, j) " + by + "=! " + body +
                     " where i in 0:20, j in 0:6, r_k in 0:20, " + row + " }");
}

// How the first stage runs on.
std::optional<Running> found_in(const Graph& graph) {
  const LoweredGraph lowered = lower_running(LoweredGraph(graph));
  const Running* running = running_of(lowered, lowered.stages[0]);
  return running ? std::optional(*running) : std::nullopt;
}

TEST(LowerRunning, RowsRunInFourDirections) {
  struct Case {
    const char* row;
    bool reverse, exclusive;
  };
  for (const Case& c : {Case{"r_k <= i", false, false},
                        {"r_k < i", false, true},
                        {"r_k >= i", true, false},
                        {"r_k > i", true, true}}) {
    SCOPED_TRACE(c.row);
    const Graph g = running_sum(c.row);
    const std::optional<Running> found = found_in(g);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->axis, 0u);
    EXPECT_EQ(found->reverse, c.reverse);
    EXPECT_EQ(found->exclusive, c.exclusive);
    expect_faithful(initial_program(g, CpuMachine{2, 512}), g);
    expect_faithful(default_schedule(g, CpuMachine{2, 512}), g);
  }
}

TEST(LowerRunning, EveryCombiner) {
  for (const char* by : {"+", "*", "max", "min"}) {
    const Graph g = running_sum("r_k <= i", by);
    ASSERT_TRUE(found_in(g)) << by;
    expect_faithful(default_schedule(g, CpuMachine{2, 512}), g);
  }
}

TEST(LowerRunning, WhatIsNoPrefixStays) {
  EXPECT_FALSE(found_in(running_sum("r_k <= i", "+", "x(r_k, j) * x(i, j)")));  // the body knows i
  EXPECT_FALSE(found_in(running_sum("r_k <= i + 2")));
  EXPECT_FALSE(found_in(running_sum("r_k <= i, r_k + 3 >= i")));  // a window
  EXPECT_FALSE(found_in(running_sum("2 * r_k <= i")));
  EXPECT_FALSE(found_in(running_sum("r_k <= j")));  // shorter than the reduction
}

TEST(LowerRunning, TheLoopStaysSerialAndInnermost) {
  const Graph g = running_sum("r_k <= i");
  const auto start = [&] { return initial_program(g, CpuMachine{2, 512}); };
  const std::vector<size_t> swapped{1, 0};
  expect_refused([&] { reorder(start(), 0, swapped); }, "in order");
  expect_refused([&] { vectorize(start(), 0, 0, 4); }, "runs on");
  expect_refused([&] { unroll(start(), 0, 0, 4); }, "runs on");
  expect_refused([&] { parallel(start(), 0, 2); }, "no partial results");
  expect_faithful(parallel(start(), 0, 1), g);
  expect_faithful(unroll(vectorize(start(), 0, 1, 2), 0, 1, 2), g);
  const int64_t steps[] = {7};
  expect_faithful(tile(start(), 0, 0, steps), g);
}

TEST(LowerRunning, EveryPointIsVisitedOnce) {
  const Graph g = running_sum("r_k <= i");
  const Program p = default_schedule(g, CpuMachine{2, 512});
  int64_t visited = 0;
  interpret(p, testing::small_inputs(g, 1), &visited);
  EXPECT_EQ(visited, 20 * 6);
}

}  // namespace
}  // namespace adjit::sched
