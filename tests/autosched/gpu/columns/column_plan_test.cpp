// tests/autosched/gpu/columns/column_plan_test.cpp -- rows and columns of a block, parts of a sum.
#include "autosched/gpu/columns/column_plan.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// "inside tile rows parts" of each plan for so many threads and strips.
std::string plans_text(const Graph& graph, const GpuMachine& machine = kGpu,
                       int64_t threads = kMostThreads, int64_t strips = 2) {
  const Program p = plain(graph);
  std::string text;
  for (const ColumnPlan& plan : column_plans(p.graph, p.graph.stages[0], machine)) {
    if (plan.group.threads != threads || plan.strips != strips) continue;
    text += (text.empty() ? "" : "; ") + std::to_string(plan.group.inside) + " " +
            std::to_string(plan.group.tile) + " " + std::to_string(plan.group.rows) + " " +
            std::to_string(plan.parts);
  }
  return text;
}

TEST(ColumnPlan, BlocksTakeGroupsOfRows) {
  EXPECT_EQ(plans_text(column_sum_graph(8192, 1024)), "1 0 2 256; 1 128 16 32");
  EXPECT_EQ(plans_text(column_sum_graph(32768, 64)), "1 0 32 256; 1 32 64 128");
  EXPECT_EQ(plans_text(column_sum_graph(8192, 8192)), "1 0 1 256; 1 128 16 4");
  EXPECT_EQ(plans_text(column_sum_graph(1 << 16, 65536)), "1 128 16 1") << "too many for registers";
  EXPECT_EQ(plans_text(column_sum_graph(8192, 1001)), "1 0 1 256; 1 32 64 8");
}

TEST(ColumnPlan, FewRowsMakeSmallerGroupsOrNone) {
  EXPECT_EQ(plans_text(column_sum_graph(2200, 256)), "1 0 2 220; 1 128 4 110");
  EXPECT_EQ(plans_text(column_sum_graph(300, 256)), "");
  EXPECT_EQ(plans_text(column_sum_graph(300, 256), GpuMachine{.multiprocessors = 8}),
            "1 0 4 15; 1 128 4 5");
}

TEST(ColumnPlan, FewerThreadsOrStripsHaveMoreRegistersEach) {
  EXPECT_EQ(plans_text(column_sum_graph(8192, 1024), kGpu, 256), "1 0 1 256; 1 128 8 32");
  EXPECT_EQ(plans_text(column_sum_graph(8192, 1024), kGpu, 128), "1 0 1 256; 1 128 4 32");
  EXPECT_EQ(plans_text(column_sum_graph(8192, 1024), kGpu, kMostThreads, 1),
            "1 0 2 128; 1 128 16 16");
  EXPECT_EQ(plans_text(column_sum_graph(8192, 1024), kGpu, 64), "");
}

TEST(ColumnPlan, WhatAddsUpColumns) {
  const auto may = [](const std::string& stage) {
    const Program p =
        plain(parse_graph("def f(float(64, 64) x, double(64, 64) d, int64(64) n, "
                          "bfloat16(64, 64) h) -> (y) {\n" +
                          stage + "\n}"));
    return may_add_up_columns(p.graph, p.graph.stages[0]);
  };
  EXPECT_TRUE(may("y(j) +=! x(r, j)"));
  EXPECT_TRUE(may("y(j) max=! d(r, j)"));
  EXPECT_FALSE(may("y(i) +=! x(i, r)")) << "a row";
  EXPECT_FALSE(may("y() +=! x(r, s)")) << "a total";
  EXPECT_FALSE(may("y(i, j) +=! x(i, r) * x(r, j)")) << "a product";
  EXPECT_FALSE(may("y(j) +=! x(r, j) where j in 0:64, r in 0:64, r <= j")) << "a triangle";
  EXPECT_FALSE(may("y(j) +=! h(r, j)")) << "its parts would be rounded";
}

}  // namespace
}  // namespace adjit::sched
