// Sums down columns beside the rows that they are of: same tasks, same results.
#include "autosched/cpu/passes/fuse_column_sums.hpp"

#include "autosched/analysis/task_chains.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The gradient of a normalisation of rows: of its input, and of a scale.
std::string normalisation(int64_t rows, int64_t columns) {
  const std::string n = std::to_string(rows), c = std::to_string(columns);
  return "def main(float(" + n + ", " + c + ") x, float(" + n + ", " + c + ") g) -> (y, z) {\n" +
         "  m(i) +=! x(i, r)\n  d(i) +=! g(i, r) * x(i, r)\n" +
         "  y(i, j) = g(i, j) * m(i) - x(i, j) * d(i)\n" +
         "  z(j) +=! g(r, j) * (x(r, j) - m(r)) where j in 0:" + c + ", r in 0:" + n + "\n}";
}

CpuMachine small_caches() {
  CpuMachine machine{2, 512};
  machine.l1_bytes = 8 << 10;
  machine.l2_bytes = 64 << 10;
  machine.l3_bytes = 1 << 20;
  return machine;
}

TEST(PartChains, RowsRunPartByPart) {
  const Graph graph = parse_graph(normalisation(8192, 64));
  const Program p = default_schedule(graph, small_caches());
  const size_t rows = find_nest(p, stage_of(p, "y"))->kernel;
  const size_t parts = find_nest(p, stage_of(p, "z_parts"))->kernel;
  ASSERT_EQ(parts, rows + 1) << print(p);
  EXPECT_EQ(task_count(p.kernels[rows].root), task_count(p.kernels[parts].root));
  EXPECT_TRUE(task_chains(p).continues[parts]) << print(p);
  EXPECT_EQ(print(replay(graph, p.moves_json, p.target)), print(p));
}

TEST(PartChains, MeanTheSame) {
  const std::string text = normalisation(256, 24);
  CpuMachine machine = small_caches();
  machine.l2_bytes = 8 << 10;
  Program p = initial_program(parse_graph(text), machine);
  const size_t z = stage_of(p, "z");
  p = rfactor(std::move(p), z, 1, 16);
  ReductionPlans plans;
  plans[p.graph.stages[stage_of(p, "z_parts")].results[0].value].in_parts = true;
  TaskLoops tasks;
  const size_t y = stage_of(p, "y");
  for (const char* name : {"d", "m"}) {
    const size_t row = stage_of(p, name);
    p = compute_at(std::move(p), row, y, 1);
  }
  p = chain_parts(std::move(p), machine, plans, tasks);
  EXPECT_EQ(tasks.size(), 2u) << print(p);
  EXPECT_EQ(nest_of(p, stage_of(p, "y")).loops[0].trips, 16);
  expect_faithful(p, parse_graph(text));
}

TEST(PartChains, OnlyWhereRowsLeaveTheCachesAndPartsDoNot) {
  const auto tasks = [](const CpuMachine& machine) {
    const Program p = default_schedule(parse_graph(normalisation(8192, 64)), machine);
    return task_count(p.kernels[find_nest(p, stage_of(p, "y"))->kernel].root);
  };
  EXPECT_GE(tasks(small_caches()), 64);
  CpuMachine large = small_caches();
  large.l2_bytes = 64 << 20;
  EXPECT_LE(tasks(large), 8) << "a few a core, as everywhere";
}

TEST(PartChains, PartsFollowFromBytesAndRows) {
  const CpuMachine machine = small_caches();
  EXPECT_EQ(parts_of_columns(1 << 20, 4096, 16, machine), 32);
  EXPECT_EQ(parts_of_columns(1 << 18, 4096, 16, machine), 16);
  EXPECT_EQ(parts_of_columns(1 << 24, 4096, 16, machine), 256) << "16 rows at least";
  EXPECT_EQ(parts_of_columns(1 << 20, 5000, 16, machine), 40) << "of equal size";
  EXPECT_EQ(parts_of_columns(1 << 24, 400, 16, machine), 25);
  EXPECT_EQ(parts_of_columns(1 << 24, 4099, 16, machine), 16) << "a prime number of rows";
}

}  // namespace
}  // namespace adjit::sched
