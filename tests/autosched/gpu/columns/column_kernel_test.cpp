// tests/autosched/gpu/columns/column_kernel_test.cpp -- a sum over rows with its companions.
#include "autosched/gpu/columns/column_kernel.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

constexpr const char* kGradients =
    "def f(float(64, 32) x, float(64, 32) g) -> (dx, dw) {\n m(i) +=! x(i, r)\n"
    " dx(i, j) = g(i, j) * m(i)\n dw(j) +=! g(r, j) * x(r, j)\n}";

// The stages m, dx and dw; rows in groups of 4.
std::optional<Program> made(const Program& program, const ColumnPlan& plan,
                            const std::vector<size_t>& may_attach,
                            const GpuMachine& machine = GpuMachine{}) {
  ColumnStages stages;
  stages.sum = program.graph.stages[2].results.front();
  stages.companions = {program.graph.stages[1].results.front()};
  stages.may_attach.resize(program.graph.tensors.size(), false);
  for (const size_t stage : may_attach)
    stages.may_attach[program.graph.stages[stage].results.front().value] = true;
  return column_kernel(program, stages, plan, machine);
}

ColumnPlan groups_of_four(int64_t parts) {
  return {.group = {.inside = 1, .tile = 0, .along = 1, .rows = 4, .threads = 128},
          .parts = parts,
          .strips = 1};
}

size_t attached_to(const Program& program, const char* name) {
  for (const Kernel& kernel : program.kernels)
    if (stage_name(program.graph, program.graph.stages[kernel.root.stage]) == name)
      return kernel.root.attached.size();
  return SIZE_MAX;
}

TEST(ColumnKernel, ComputesCompanionsAndTheirRowsInTheSumsLoops) {
  const Graph graph = parse_graph(kGradients);
  const std::optional<Program> p = made(plain_on_gpu(graph), groups_of_four(1), {0, 1, 2});
  ASSERT_TRUE(p);
  verify(*p);
  EXPECT_EQ(p->kernels.size(), 1u);
  EXPECT_EQ(attached_to(*p, "dw"), 2u) << "the sum of a row, and the companion";
  expect_faithful(*p, graph);
}

TEST(ColumnKernel, ASecondKernelAddsUpTheStrips) {
  const Graph graph = parse_graph(kGradients);
  const std::optional<Program> p = made(plain_on_gpu(graph), groups_of_four(4), {0, 1, 2});
  ASSERT_TRUE(p);
  verify(*p);
  EXPECT_EQ(p->kernels.size(), 2u);
  EXPECT_EQ(attached_to(*p, "dw"), 0u);
  expect_faithful(*p, graph);
}

// Rows that groups and parts do not divide, columns that vectors and threads do not: each plan is
// refused, or computes what the graph says.
TEST(ColumnKernel, StripsOfAnySizeComputeTheSame) {
  size_t refused = 0, kernels = 0, ragged = 0;
  for (const int64_t rows : {2, 7, 12, 13})
    for (const int64_t columns : {1, 5, 32, 33}) {
      const std::string type =
          "float(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
      const Graph graph =
          parse_graph("def f(" + type + " x, " + type + " g) -> (dx, dw) {\n m(i) +=! x(i, r)\n" +
                      " dx(i, j) = g(i, j) * m(i)\n dw(j) +=! g(r, j) * x(r, j)\n}");
      for (const int64_t parts : {1, 2, 3, 4})
        for (const int64_t group : {1, 2, 4}) {
          ColumnPlan plan = groups_of_four(parts);
          plan.group.rows = group;
          const std::optional<Program> p = made(plain_on_gpu(graph), plan, {0, 1, 2});
          if (!p) {
            ++refused;
            continue;
          }
          SCOPED_TRACE(type + ", " + std::to_string(parts) + " parts, groups of " +
                       std::to_string(group));
          verify(*p);
          expect_faithful(*p, graph);
          ++kernels;
          ragged += rows % parts != 0 || ceil_div(rows, parts) % group != 0 ? 1 : 0;
        }
    }
  EXPECT_GT(kernels, refused);
  EXPECT_GT(ragged, 16u);
}

TEST(ColumnKernel, OthersKernelsKeepWhatMayNotBeAttached) {
  const Graph graph = parse_graph(kGradients);
  const std::optional<Program> p = made(plain_on_gpu(graph), groups_of_four(1), {1, 2});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->kernels.size(), 2u);
  EXPECT_EQ(attached_to(*p, "dw"), 1u);
  expect_faithful(*p, graph);
}

TEST(ColumnKernel, IsNoneWhereTilesLackWholeRows) {
  ColumnPlan tiles = groups_of_four(1);
  tiles.group.tile = 16;
  const Program plain = plain_on_gpu(parse_graph(kGradients));
  EXPECT_FALSE(made(plain, tiles, {0, 1, 2}));
  EXPECT_TRUE(made(plain, tiles, {1, 2})) << "another kernel has added up the rows";
}

TEST(ColumnKernel, IsNoneWhereThreadsHaveNoRegisters) {
  GpuMachine few;
  few.registers = 32 * 24;  // of 32 threads
  EXPECT_FALSE(made(plain_on_gpu(parse_graph(kGradients)), groups_of_four(1), {0, 1, 2}, few));
}

}  // namespace
}  // namespace adjit::sched
