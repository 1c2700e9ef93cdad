// tests/autosched/gpu/loops/running_loops_test.cpp -- which threads run on along which rows.
#include "autosched/gpu/loops/running_loops.hpp"

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

Graph prefix(int64_t rows, int64_t length, const std::string& row = "r <= j") {
  const std::string n = std::to_string(length), m = std::to_string(rows);
  return parse_graph("def f(float(" + m + ", " + n + ") x) -> (y) { y(i, j) +=! x(i, r) " +
                     "where i in 0:" + m + ", j in 0:" + n + ", r in 0:" + n + ", " + row + " }");
}

std::string loops(const Graph& graph) {
  const Program program = default_schedule(graph, kGpu);
  EXPECT_TRUE(program.fallbacks.empty());
  return loops_text(program, "y");
}

TEST(RunningLoops, ABlockRunsOnAlongALongRow) {
  EXPECT_EQ(loops(prefix(4096, 65536)), "parallel:i:4096 serial:j:64 thread:j:256 vector:j:4");
  EXPECT_EQ(loops(prefix(4096, 65537)), "parallel:i:4096 serial:j:257 thread:j:256")
      << "a prime number: no vectors, no copy";
  EXPECT_EQ(loops(prefix(16, 1 << 16)), "parallel:i:16 serial:j:16 thread:j:1024 vector:j:4");
}

TEST(RunningLoops, AWarpRunsOnAlongAShortRow) {
  EXPECT_EQ(loops(prefix(10000, 256)),
            "parallel:i:1250 thread:i:8 serial:j:2 thread:j:32 vector:j:4");
}

TEST(RunningLoops, OthersAreLeft) {
  const auto of = [](const Graph& graph) {
    const Program p = initial_program(graph, kGpu);
    return running_threads_of(p.graph, p.graph.stages[0]);
  };
  EXPECT_TRUE(of(prefix(4, 100)));
  EXPECT_FALSE(of(prefix(4, 20))) << "short";
  EXPECT_FALSE(of(matmul_graph(64, 64, 64)));
  EXPECT_FALSE(
      of(parse_graph("def f(float(64, 9) x) -> (y) { y(i, j) +=! x(r, j) where i in 0:64, "
                     "j in 0:9, r in 0:64, r <= i }")))
      << "columns";
}

TEST(RunningLoops, MeanTheGraph) {
  for (const char* row : {"r <= j", "r < j", "r >= j", "r > j"})
    for (const auto& [rows, length] : {std::pair{5, 40}, {3, 300}, {9, 129}, {2, 2048}}) {
      const Graph graph = prefix(rows, length, row);
      const Program program = default_schedule(graph, kSmallGpu);
      EXPECT_TRUE(program.fallbacks.empty());
      testing::expect_same_results(graph, program, 3);
    }
}

}  // namespace
}  // namespace adjit::sched
