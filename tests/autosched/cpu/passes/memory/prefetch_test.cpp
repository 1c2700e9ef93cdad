// tests/autosched/cpu/passes/memory/prefetch_test.cpp -- which nests fetch the next row.
#include "autosched/cpu/passes/memory/prefetch.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Names = std::vector<std::string>;

constexpr CpuMachine kSmallCaches{.cores = 2, .vector_bits = 256, .l2_bytes = 512 << 10};

// Names of the stages that fetch ahead in the default schedule.
Names fetching(const Graph& graph, Choices choices = {}) {
  const Program p = schedule_with(graph, kSmallCaches, choices);
  verify(p);
  EXPECT_EQ(print(replay(graph, p.moves_json, p.target)), print(p));
  Names names;
  for (const Kernel& kernel : p.kernels)
    for_each_nest(kernel.root, [&](const Nest& nest) {
      if (nest.ahead) names.push_back(stage_name(p.graph, p.graph.stages[nest.stage]));
    });
  return names;
}

TEST(FetchRows, ThePassThatComputesMost) {
  EXPECT_EQ(fetching(softmax_graph(2048, 1000)), (Names{"e"})) << "m and s do less";
  const Graph graph = softmax_graph(2048, 1000);
  EXPECT_EQ(fetching(graph, Choices(Answers{{{Decision::Prefetch, "e"}, 1}})), Names{});
}

TEST(FetchRows, OnlyLongRowsOfLargeTensors) {
  EXPECT_EQ(fetching(softmax_graph(100, 1000)), Names{}) << "L2 holds all of it";
  EXPECT_EQ(fetching(softmax_graph(20011, 100)), Names{}) << "the processor sees such rows coming";
  EXPECT_EQ(fetching(softmax_graph(20000, 100)), Names{"e"}) << "eight rows at once are long ones";
  EXPECT_EQ(fetching(softmax_graph(40, 40000)), Names{}) << "a row leaves no room for another";
}

TEST(FetchRows, NotWhatOnePassReads) {
  EXPECT_EQ(fetching(parse_graph("def f(float(4000, 1000) x, float(4000, 1000) d) -> (y) {\n"
                                 " s(i) +=! x(i, r)\n y(i, j) = d(i, j) * s(i) }")),
            Names{});
}

TEST(FetchRows, NotWhatPassesAlongAChainOfTasks) {
  const auto rows = [](const std::string& i) {
    return parse_graph("def f(float(600, 16) q, float(600, 16) k) -> (p) {\n" +
                       std::string(" s(i, j) +=! q(i, r) * k(j, r)\n m(i) max=! s(") + i +
                       ", r) where i in 0:600\n e(i, j) = exp(s(" + i +
                       ", j) - m(i)) where i in 0:600, j in 0:600\n"
                       " n(i) +=! e(i, r)\n p(i, j) = e(i, j) / n(i)\n}");
  };
  EXPECT_EQ(fetching(rows("i")), Names{}) << "a task's rows stay in a cache";
  EXPECT_EQ(fetching(rows("599 - i")), (Names{"e"})) << "the rows of other tasks";
}

}  // namespace
}  // namespace adjit::sched
