// tests/jit/engine/given_schedule_test.cpp -- schedules that users give: refused as schedules, or
// compiled to code of the same meaning.
#include <gtest/gtest.h>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/mutated_moves.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/random_moves.hpp"
#include "tests/autosched/same_results.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kRecurrence =
    "def main(float(6, 20) h0, float(5, 6, 20) x, float(20, 20) w) -> (last, steps) {\n"
    "  scan (last, steps) = step[5](carry float(6, 20) h = h0, over float(6, 20) t = x, "
    "fixed float(20, 20) v = w) -> (next, next) {\n"
    "    u(i, j) +=! h(i, r_k) * v(r_k, j) where i in 0:6, j in 0:20, r_k in 0:20\n"
    "    next(i, j) = tanh(u(i, j) + t(i, j))\n  }\n}\n";

constexpr const char* kHistogram =
    "def main(int32(300) I, float(4, 300) x) -> (h) {\n"
    "  scatter float(4, 50) h(c, I(r)) +=![drop] x(c, r) where c in 0:4, r in 0:300\n}\n";

struct Counts {
  size_t refused = 0, compiled = 0;
};

void compile(Engine& engine, const Graph& graph, const std::string& moves, uint64_t seed,
             Counts& counts) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph) + moves);
  const std::vector<Array> inputs = small_inputs(graph, seed);
  try {
    const std::vector<Array> outputs = run_compiled(engine, request_of(graph, moves), inputs);
    ++counts.compiled;
    ASSERT_EQ(first_difference(graph, inputs, outputs), "");
  } catch (const Error& error) {
    ++counts.refused;
    ASSERT_EQ(error.code(), ErrorCode::Schedule) << error.what();
  }
}

TEST(GivenSchedules, MutatedOnesAreRefusedOrMeanTheSame) {
  Engine engine(memory_only(2));
  Counts counts;
  uint64_t seed = 1;
  for (const Graph& graph :
       {matmul_graph(20, 37, 24), softmax_graph(18, 33), conv_graph(1, 3, 9, 10, 4, 2, true),
        column_sum_graph(300, 5), parse_graph(kRecurrence), parse_graph(kHistogram)}) {
    const std::string own = schedule_of(engine.compiler(), request_of(graph)).moves_json;
    for (uint64_t n = 0; n < fuzz_cases(200); ++n, ++seed) {
      compile(engine, graph, MutatedMoves(own, seed)(), seed, counts);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(counts.refused, fuzz_cases(200));
  EXPECT_GT(counts.compiled, fuzz_cases(200) / 2);
}

TEST(GivenSchedules, MutatedRandomOnesAreRefusedOrMeanTheSame) {
  Engine engine(memory_only(2));
  Counts counts;
  for (uint64_t seed = 1; seed <= fuzz_cases(200); ++seed) {
    const Graph graph = random_graph(
        seed / 4, {.stages = 3, .max_extent = 20, .scatters = true, .all_dtypes = true});
    const Program made = random_program(graph, seed / 4, 20);
    compile(engine, graph, MutatedMoves(made.moves_json, seed)(), seed, counts);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(counts.refused, fuzz_cases(200) / 4);
  EXPECT_GT(counts.compiled, fuzz_cases(200) / 8);
}

}  // namespace
}  // namespace adjit::testing
