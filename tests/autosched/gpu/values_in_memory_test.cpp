// tests/autosched/gpu/values_in_memory_test.cpp -- which values kernels compute again.
#include "autosched/gpu/values_in_memory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "autosched/gpu/fuse_rows.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

// Rows are summed, then all of them: what scales the values waits for every row.
Graph scaled(int64_t rows, int64_t columns, const std::string& value) {
  return parse_graph("def f(float(" + std::to_string(rows) + ", " + std::to_string(columns) +
                     ") x, float(" + std::to_string(rows) + ", " + std::to_string(columns) +
                     ") w) -> (y) {\n  e(i, j) = " + value +
                     "\n  s(i) +=! e(i, r)\n  t() +=! s(r)\n  y(i, j) = e(i, j) / t()\n}");
}

std::vector<std::string> worth_recomputing(const Graph& graph) {
  Choices usual;
  const Program program = fuse_rows(initial_program(graph, kGpu), kGpu, usual);
  std::vector<std::string> names;
  for (const size_t s : values_worth_recomputing(program, kGpu))
    names.push_back(stage_name(program.graph, program.graph.stages[s]));
  return names;
}

using Names = std::vector<std::string>;

TEST(ValuesInMemory, AreComputedAgainWhereOperationsAreFewer) {
  EXPECT_EQ(worth_recomputing(scaled(8192, 32000, "exp(x(i, j))")), Names{"e"});
  EXPECT_EQ(worth_recomputing(scaled(8192, 32000, "sin(cos(sin(cos(sin(x(i, j))))))")), Names{})
      << "many operations";
  EXPECT_EQ(worth_recomputing(scaled(8192, 32000, "exp(x(i, j) * w(i, j))")), Names{})
      << "reading both again is as much";
  EXPECT_EQ(worth_recomputing(scaled(64, 1000, "exp(x(i, j))")), Names{}) << "small";
}

TEST(ValuesInMemory, AreStoredWhereAReaderNeedsThemSeveralTimes) {
  EXPECT_EQ(worth_recomputing(
                parse_graph("def f(float(8192, 32000) x) -> (y) {\n  e(i, j) = exp(x(i, j))\n"
                            "  s(i) +=! e(i, r)\n  t() +=! s(r)\n"
                            "  y(i, j) = e(i, j) / t() + e(i, j + 1) where i in 0:8192, j in "
                            "0:31999\n}")),
            Names{});
}

TEST(ValuesInMemory, TheDefaultScheduleComputesThemAgain) {
  const Graph graph = scaled(8192, 32000, "exp(x(i, j))");
  const Program program = default_schedule(graph, kGpu);
  for (const Stage& stage : program.graph.stages) EXPECT_NE(stage_name(program.graph, stage), "e");
  const Graph small = scaled(40, 100, "exp(x(i, j))");
  testing::expect_same_results(small, default_schedule(small, kSlowGpu), 1);
}

}  // namespace
}  // namespace adjit::sched
