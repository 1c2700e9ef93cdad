// tests/jit/engine/plan/memory_budget_test.cpp -- workspaces that fit, and budgets that cannot be
// kept.
#include "jit/engine/plan/memory_budget.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/search/search.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr int64_t kArray = 64 * 32 * 4;

// `layers` activations that wait for a backward which takes the last one first.
Graph network(int layers) {
  std::string text = "def main(float(64, 32) x0, float(32, 32) w) -> (g) {\n";
  for (int k = 0; k < layers; ++k)
    text += "  x" + std::to_string(k + 1) + "(i, j) +=! tanh(x" + std::to_string(k) +
            "(i, k)) * (w(k, j) * 0.05)\n";
  std::string d = "x" + std::to_string(layers);
  for (int k = layers; k-- > 0;) {
    text += "  d" + std::to_string(k) + "(i, k) +=! " + d + "(i, j) * (w(k, j) * 0.05) * cos(x" +
            std::to_string(k) + "(i, k))\n";
    d = "d" + std::to_string(k);
  }
  return parse_graph(text + "  g(i, k) = " + d + "(i, k) * 2.0\n}");
}

TEST(MemoryBudget, SchedulesFit) {
  const Graph graph = network(10);
  const Program usual = chosen_schedule(graph, kTwoCores);
  const int64_t bytes = workspace_of(usual);
  ASSERT_GT(bytes, 9 * kArray);
  EXPECT_EQ(schedule_within(graph, kTwoCores, bytes).moves_json, usual.moves_json);
  for (int64_t budget = bytes - 1; budget > 7 * kArray; budget -= kArray) {
    const Program program = schedule_within(graph, kTwoCores, budget);
    EXPECT_LE(workspace_of(program), budget);
    ASSERT_NO_THROW(verify(program));
    EXPECT_EQ(schedule_within(graph, kTwoCores, budget).moves_json, program.moves_json);
  }
}

TEST(MemoryBudget, EnginesKeepIt) {
  Engine engine(memory_only(1));
  const Graph graph = network(10);
  Request request = request_of(graph);
  const int64_t bytes = engine.compile(request).executable->workspace_bytes();
  request.memory_budget = bytes / 2 + 3 * kArray;
  const Compiled bounded = engine.compile(request);
  EXPECT_FALSE(bounded.from_memory);
  EXPECT_LE(bounded.executable->workspace_bytes(), request.memory_budget);
  const std::vector<Array> inputs = some_inputs(graph);
  EXPECT_EQ(first_difference(graph, inputs, run_compiled(engine, request, inputs)), "");
  // A schedule that is given is refused, not changed.
  Request given = request;
  given.schedule_json =
      chosen_schedule(graph, schedule_target(engine.compiler(), given)).moves_json;
  EXPECT_THROW(engine.compile(given), Error);
}

TEST(MemoryBudget, RefusalsNameTheStageAndItsBytes) {
  try {
    schedule_within(network(4), kTwoCores, 100);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Schedule);
    const std::string what = error.what();
    EXPECT_NE(what.find("a memory budget of 100 bytes is not enough: '"), std::string::npos)
        << what;
    EXPECT_NE(what.find(std::to_string(kArray) + " of '"), std::string::npos) << what;
    EXPECT_NE(what.find("bytes or more"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace adjit::testing
