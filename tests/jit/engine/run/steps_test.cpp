// tests/jit/engine/run/steps_test.cpp -- kernels beside scans, and in graphs of tasks.
#include "jit/engine/run/steps.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "jit/engine/run/executable.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

TEST(Steps, KernelsOnBothSidesOfAScanDoNotNameEachOther) {
  const Graph graph = parse_graph(
      "def main(float(9) x) -> (y, z) {\n"
      " a(i) = x(i) * 2.0\n"
      " scan (c) = step[5](carry float(9) h = a) -> (n) {\n  n(i) = h(i) * 0.5\n }\n"
      " y(i) = c(i) + a(i)\n z(i) = y(i) * 2.0\n}");
  Engine engine(memory_only(2));
  const std::shared_ptr<Executable> executable = engine.compile(request_of(graph, "[]")).executable;
  const std::vector<StepPlan>& steps = executable->plan().steps;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_TRUE(steps[1].scan);
  EXPECT_TRUE(steps[2].waits.empty());
  EXPECT_EQ(steps[3].waits, std::vector<size_t>{2});
}

// Layers whose gradients do not need each other, some of them chains, in one task graph; more
// threads than cores, calls at once.
TEST(Steps, KernelsOfATaskGraphGiveTheSame) {
  const Graph graph = parse_graph(
      "def main(float(90, 40) x, float(40, 40) w, float(40, 40) v) -> (dw, dv, s) {\n"
      " p(i, j) +=! x(i, k) * w(k, j)\n a(i, j) = tanh(p(i, j))\n"
      " q(i, j) +=! a(i, k) * v(k, j)\n b(i, j) = tanh(q(i, j))\n s() +=! b(i, j)\n"
      " da(i, j) +=! b(i, k) * v(j, k)\n dp(i, j) = da(i, j) * a(i, j)\n"
      " dw(i, j) +=! x(k, i) * dp(k, j)\n dv(i, j) +=! a(k, i) * b(k, j)\n}");
  std::string moves;
  for (const char* stage : {"p", "a", "q", "b", "da", "dp", "dw", "dv"})
    moves += std::string(moves.empty() ? "[" : ",") +
             R"({"move": "parallel", "loops": 1, "stage": ")" + stage + "\"}";
  const Request request = request_of(graph, moves + "]");
  const std::vector<Array> inputs = small_inputs(graph, 3);
  std::vector<std::vector<std::byte>> first;
  for (int threads : {1, 2, 7}) {
    Engine engine(memory_only(threads));
    std::vector<std::jthread> callers;
    std::vector<std::vector<Array>> results(4);
    for (std::vector<Array>& result : results)
      callers.emplace_back([&] {
        for (int round = 0; round < 20; ++round) result = run_compiled(engine, request, inputs);
      });
    callers.clear();
    EXPECT_EQ(first_difference(graph, inputs, results[0]), "");
    for (const std::vector<Array>& result : results)
      for (size_t k = 0; k < result.size(); ++k) {
        if (first.size() <= k) first.push_back(result[k].bytes);
        EXPECT_EQ(result[k].bytes, first[k]) << "output " << k << ", threads " << threads;
      }
  }
}

}  // namespace
}  // namespace adjit::testing
