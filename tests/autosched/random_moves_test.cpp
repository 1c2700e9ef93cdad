// Random graphs under the default schedule and under random legal moves: always the same results.
#include <cstdlib>

#include "autosched/heuristic.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/random_moves.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit {
namespace {

uint64_t cases(uint64_t usual) {
  const char* text = std::getenv("ADJIT_FUZZ_CASES");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

// Ill-conditioned float values (that double arithmetic gives otherwise) do not count.
void expect_same(const Graph& graph, const Program& program, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph) + print(program) +
               program.moves_json);
  ASSERT_NO_THROW(verify(program));
  const std::vector<Array> inputs = testing::small_inputs(graph, seed);
  const std::vector<Array> exact = interpret(graph, inputs);
  const std::vector<Array> wide = interpret_in_double(graph, inputs);
  std::vector<Array> actual;
  ASSERT_NO_THROW(actual = interpret(program, inputs));
  for (size_t k = 0; k < exact.size(); ++k)
    for (int64_t i = 0; i < exact[k].element_count(); ++i) {
      const double a = exact[k].at(i), b = actual[k].at(i), w = wide[k].at(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double scale = std::max({1.0, std::abs(a), std::abs(w)});
      if (!(std::abs(a - w) < 1e-4 * scale)) continue;
      ASSERT_TRUE(is_float(exact[k].dtype) && std::abs(a - b) < 2e-4 * scale)
          << "output " << k << ", element " << i << ": " << a << " against " << b;
    }
  const Program again = replay(graph, program.moves_json, program.cores, program.vector_bits);
  ASSERT_EQ(print(again), print(program));
}

TEST(RandomGraphs, DefaultScheduleMeansTheGraph) {
  for (uint64_t seed = 1; seed <= cases(60); ++seed) {
    const Graph graph = testing::random_graph(
        seed,
        {.stages = 7, .scatters = true, .custom_combiners = true, .zero_extents = seed % 4 == 0});
    expect_same(graph, default_schedule(graph, {2, seed % 2 == 0 ? 512 : 256}), seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, EveryLegalMoveMeansTheGraph) {
  size_t made = 0;
  for (uint64_t seed = 1; seed <= cases(80); ++seed) {
    const Graph graph = testing::random_graph(
        seed,
        {.stages = 5, .scatters = true, .custom_combiners = true, .zero_extents = seed % 8 == 0});
    const Program program = testing::random_program(graph, seed, 40, &made);
    expect_same(graph, program, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(made, cases(80));
}

}  // namespace
}  // namespace adjit
