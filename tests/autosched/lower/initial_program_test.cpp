// tests/autosched/lower/initial_program_test.cpp -- the plainest program of a graph.
#include "autosched/lower/initial_program.hpp"

#include "autosched/analysis/verify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(InitialProgram, IsOneKernelAStageWithSerialLoopsInDomainOrder) {
  const Graph graph = matmul_graph(3, 1, 4);
  const Program program = initial_program(graph, CpuMachine{2, 256});
  EXPECT_EQ(cpu_of(program.target).cores, 2);
  EXPECT_EQ(cpu_of(program.target).vector_bits, 256);
  ASSERT_EQ(program.kernels.size(), graph.stages.size());
  const Nest& nest = program.kernels[0].root;
  ASSERT_EQ(nest.loops.size(), 2u) << "none over an axis of one point";
  EXPECT_EQ(nest.loops[0].axis, 0u);
  EXPECT_EQ(nest.loops[1].axis, 2u);
  for (const Loop& loop : nest.loops) EXPECT_EQ(loop.kind, LoopKind::Serial);
  expect_faithful(program, graph);
}

TEST(InitialProgram, OfAScanHasAProgramOfItsSteps) {
  const Graph graph = parse_graph(
      "def f(float(4) h, float(7, 4) x) -> (c) {\n"
      " scan (c) = step[7](carry float(4) s = h, over float(4) v = x) -> (n) {\n"
      "  n(i) = s(i) * v(i)\n }\n}");
  const Program program = initial_program(graph, CpuMachine{1, 512});
  ASSERT_TRUE(program.kernels.back().steps);
  EXPECT_NO_THROW(verify(*program.kernels.back().steps));
  expect_faithful(program, graph);
}

TEST(InitialProgram, RefusesCallsByName) {
  const Graph graph = parse_graph("def f(float(4) x) -> (y) { call (float(4) y) = unknown(x) }");
  try {
    initial_program(graph, CpuMachine{1, 512});
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Compile);
    EXPECT_NE(std::string(error.what()).find("does not compile calls ('unknown' for 'y')"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace adjit::sched
