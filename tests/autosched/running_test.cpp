// tests/autosched/running_test.cpp -- prefix reductions: which are recognised, that they mean the
// same, what may be done to their loops.
#include "autosched/analysis/verify.hpp"
#include "autosched/cpu/schedule.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/lower/prefix.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/search.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::sched {
namespace {

Graph prefix(const std::string& row, const std::string& by = "+",
             const std::string& body = "x(r_k, j)") {
  return parse_graph("def f(double(20, 6) x) -> (y) { y(i, j) " + by + "=! " + body +
                     " where i in 0:20, j in 0:6, r_k in 0:20, " + row + " }");
}

std::optional<Running> running(const Graph& graph) {
  return lower_running(graph).stages[0].running;
}

TEST(LowerRunning, FourDirections) {
  struct Case {
    const char* row;
    bool reverse, exclusive;
  };
  for (const Case& c : {Case{"r_k <= i", false, false},
                        {"r_k < i", false, true},
                        {"r_k >= i", true, false},
                        {"r_k > i", true, true}}) {
    SCOPED_TRACE(c.row);
    const Graph g = prefix(c.row);
    const std::optional<Running> found = running(g);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->axis, 0u);
    EXPECT_EQ(found->reverse, c.reverse);
    EXPECT_EQ(found->exclusive, c.exclusive);
    expect_faithful(initial_program(g, 2, 512), g);
    expect_faithful(default_schedule(g, {2, 512}), g);
  }
}

// Rows go four at a time through one core: a task's share of them is a multiple of that.
TEST(LowerRunning, TasksTakeWholeGroupsOfRows) {
  for (int64_t rows : {1902, 588, 577, 1024}) {
    const Graph g = parse_graph("def f(float(" + std::to_string(rows) +
                                ", 976) x) -> (y) { y(i, j) +=! x(i, r_k) where i in 0:" +
                                std::to_string(rows) + ", j in 0:976, r_k in 0:976, r_k <= j }");
    ASSERT_TRUE(running(g));
    const Program program = default_schedule(g, {2, 512});
    EXPECT_EQ(parallel_depth(program.kernels[0].root), 1u) << rows;
    EXPECT_NO_THROW(verify(program)) << rows;
  }
}

// The lanes and the chains of rows take the whole of an axis: tasks are over another one, if any.
TEST(LowerRunning, TasksTakeAnAxisThatHasALoop) {
  for (int64_t outer : {1, 2, 64}) {
    const std::string n = std::to_string(outer);
    const Graph g =
        parse_graph("def f(double(" + n +
                    ", 392, 32) x) -> (y) { y(i, j, k) +=! x(i, r_l, k) where i in 0:" + n +
                    ", j in 0:392, k in 0:32, r_l in 0:392, r_l <= j }");
    ASSERT_TRUE(running(g));
    const Program program = default_schedule(g, {2, 512});
    EXPECT_NO_THROW(verify(program)) << n;
    EXPECT_EQ(parallel_depth(program.kernels[0].root), outer > 1 ? 1u : 0u) << print(program);
    EXPECT_NO_THROW(chosen_schedule(g, {2, 512})) << n;
  }
}

// Sums that run along memory take their terms one by one: what takes many instructions is computed
// in lanes before, and what takes few is not. Sums that run across memory are in lanes themselves.
TEST(LowerRunning, CostlyTermsAreComputedInLanesBefore) {
  const auto kernels = [](const char* term, const char* index, const char* row) {
    const std::string text = std::string("def f(float(64, 64) x) -> (y) { t(i, j) = ") + term +
                             " where i in 0:64, j in 0:64\n y(i, j) +=! t(" + index +
                             ") where i in 0:64, j in 0:64, r_k in 0:64, " + row + " }";
    const Graph g = parse_graph(text);
    EXPECT_TRUE(lower_running(g).stages[1].running) << text;
    Program program = default_schedule(g, {2, 512});
    expect_faithful(program, g);
    return program.kernels.size();
  };
  EXPECT_EQ(kernels("tanh(x(i, j))", "i, r_k", "r_k <= j"), 2u);
  EXPECT_EQ(kernels("tanh(x(i, j))", "i, r_k", "r_k >= j"), 2u);
  EXPECT_EQ(kernels("x(i, j) * 2.0", "i, r_k", "r_k <= j"), 1u);
  EXPECT_EQ(kernels("tanh(x(i, j))", "r_k, j", "r_k <= i"), 1u);
}

TEST(LowerRunning, EveryCombiner) {
  for (const char* by : {"+", "*", "max", "min"}) {
    const Graph g = prefix("r_k <= i", by);
    ASSERT_TRUE(running(g)) << by;
    expect_faithful(default_schedule(g, {2, 512}), g);
  }
}

TEST(LowerRunning, WhatIsNoPrefixStays) {
  EXPECT_FALSE(running(prefix("r_k <= i", "+", "x(r_k, j) * x(i, j)")));  // the body knows i
  EXPECT_FALSE(running(prefix("r_k <= i + 2")));
  EXPECT_FALSE(running(prefix("r_k <= i, r_k + 3 >= i")));  // a window
  EXPECT_FALSE(running(prefix("2 * r_k <= i")));
  EXPECT_FALSE(running(prefix("r_k <= j")));  // shorter than the reduction
}

TEST(LowerRunning, TheLoopStaysSerialAndInnermost) {
  const Graph g = prefix("r_k <= i");
  const auto start = [&] { return initial_program(g, 2, 512); };
  const std::vector<size_t> swapped{1, 0};
  expect_refused([&] { reorder(start(), 0, swapped); }, "in order");
  expect_refused([&] { vectorize(start(), 0, 0, 4); }, "runs on");
  expect_refused([&] { unroll(start(), 0, 0, 4); }, "in order");
  expect_refused([&] { parallel(start(), 0, 2); }, "no partial results");
  expect_faithful(parallel(start(), 0, 1), g);
  expect_faithful(unroll(vectorize(start(), 0, 1, 2), 0, 1, 2), g);
  const int64_t steps[] = {7};
  expect_faithful(tile(start(), 0, 0, steps), g);
}

TEST(LowerRunning, EveryPointOnce) {
  const Graph g = prefix("r_k <= i");
  const Program p = default_schedule(g, {2, 512});
  int64_t visited = 0;
  interpret(p, testing::small_inputs(g, 1), &visited);
  EXPECT_EQ(visited, 20 * 6);
}

}  // namespace
}  // namespace adjit::sched
