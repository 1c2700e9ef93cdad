// tests/autosched/cpu/schedule_kernels_test.cpp -- the pass that makes the loops of all kernels.
#include "autosched/cpu/schedule_kernels.hpp"

#include <gtest/gtest.h>

#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

struct Kernels {
  explicit Kernels(const Graph& of, Attempts how = {}) : graph(of), attempts(std::move(how)) {}
  Program operator()() { return schedule_kernels(plain(graph), context); }

  Graph graph;
  Choices choices;
  Attempts attempts;
  ScheduleContext context{kTwoCores, choices, attempts};
};

const char* const kScan =
    "def f(float(64, 128) h0, float(20, 64, 128) x) -> (h) {\n"
    " scan (h) = step[20](carry float(64, 128) c = h0, over float(64, 128) v = x) -> (n) {\n"
    "  n(i, j) = tanh(c(i, j) * v(i, j))\n }\n}";

TEST(ScheduleKernels, EveryKernelGetsItsLanes) {
  const Graph graph = softmax_graph(64, 200);
  const Program p = Kernels(graph)();
  ASSERT_EQ(p.kernels.size(), 4u);
  for (const Kernel& kernel : p.kernels) EXPECT_EQ(kernel.root.loops.back().kind, LoopKind::Vector);
  expect_faithful(p, graph);
}

TEST(ScheduleKernels, ScattersAndRunningSumsAreScheduledToo) {
  const Graph graph = parse_graph(
      "def f(float(40, 60) x, int64(40) n) -> (h, y) {\n"
      " scatter float(16, 60) h(n(i), j) +=![drop] x(i, j) where i in 0:40, j in 0:60\n"
      " y(i, j) +=! x(r, j) where i in 0:40, j in 0:60, r in 0:40, r <= i\n}");
  expect_faithful(Kernels(graph)(), graph);
}

TEST(ScheduleKernels, StepsOfAScanGoThroughAllPasses) {
  const Graph graph = parse_graph(kScan);
  Kernels kernels(graph);
  std::vector<std::string> heard;
  kernels.context.listener = [&](const std::string& pass, const Program&) {
    heard.push_back(pass);
  };
  const Program p = kernels();
  const Kernel& scan = p.kernels.back();
  ASSERT_TRUE(scan.steps);
  EXPECT_EQ(scan.steps->calls, 20);
  EXPECT_EQ(scan.steps->kernels.back().root.loops.back().kind, LoopKind::Vector);
  ASSERT_FALSE(heard.empty());
  for (const std::string& pass : heard) EXPECT_TRUE(pass.starts_with("h / ")) << pass;
  expect_faithful(p, graph);
}

TEST(ScheduleKernels, AKernelThatAMoveRefusesKeepsItsPlainLoops) {
  const Graph graph = softmax_graph(64, 200);
  for (size_t refused = 0; refused < 4; ++refused) {
    const Program p = Kernels(graph, Attempts::with_caution(refused))();
    ASSERT_EQ(p.fallbacks.size(), 1u);
    EXPECT_NE(p.fallbacks[0].find("loops of '"), std::string::npos) << p.fallbacks[0];
    size_t plain_kernels = 0;
    for (const Kernel& kernel : p.kernels)
      plain_kernels += tile_begin(kernel.root) == kernel.root.loops.size() ? 1 : 0;
    EXPECT_EQ(plain_kernels, 1u);
    expect_faithful(p, graph);
  }
}

}  // namespace
}  // namespace adjit::sched
