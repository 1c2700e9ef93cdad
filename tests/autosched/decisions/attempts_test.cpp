// tests/autosched/decisions/attempts_test.cpp -- whatever a move refuses of the default schedule,
// there is one.
#include "autosched/decisions/attempts.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/passes/fallbacks.hpp"
#include "autosched/search/scheduler.hpp"
#include "autosched/search/search.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/attention.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

// Rows are attached inside the loop of the window that the pool would take in its tile.
Graph pool_of_concat(const std::string& combiner) {
  return parse_graph(
      "def f(double(1, 4, 1, 5) x) -> (y) {\n"
      "  s(i, j, k, l) = sin(x(i, j, k, l))\n"
      "  c(i, j, k, l) = select(k < 1, x(i, j, k, l where k < 1), s(i, j, k - 1, l where 1 <= k && "
      "k "
      "< 2)) where i in 0:1, j in 0:4, k in 0:2, l in 0:5\n"
      "  y(i, j, k, l) " +
      combiner +
      "=! c(i, j, k + r - 1, l + q - 1) where i in 0:1, j in 0:4, k in 0:2, l in 0:5, r in 0:3, q "
      "in "
      "0:3, k + r >= 1, k + r <= 2, l + q >= 1, l + q <= 5\n}");
}

TEST(Attempts, WindowsAlongLoopsWithRowsAttached) {
  for (const char* combiner : {"max", "+"})
    for (int bits : {256, 512}) {
      const Graph graph = pool_of_concat(combiner);
      const Program program = default_schedule(graph, CpuMachine{2, bits});
      EXPECT_EQ(program.fallbacks, std::vector<std::string>{});
      EXPECT_TRUE(chosen_schedule(graph, CpuMachine{2, bits}).fallbacks.empty());
      testing::expect_same_results(graph, program, 1);
    }
}

struct Drawn {
  const char* title;
  Graph graph;
};

std::vector<Drawn> drawn() {
  std::vector<Drawn> graphs;
  graphs.push_back({"pool", pool_of_concat("max")});
  graphs.push_back({"matmul", matmul_graph(40, 50, 70)});
  graphs.push_back({"softmax", softmax_graph(20, 30)});
  for (uint64_t seed = 1; seed <= 6; ++seed)
    graphs.push_back({"random", testing::random_graph(seed, {.stages = 6, .scatters = true})});
  return graphs;
}

// Each step in turn is refused: it is left out and noted, and the rest means the same.
TEST(Attempts, AnyStepMayBeRefused) {
  for (const Drawn& one : drawn()) {
    SCOPED_TRACE(one.title);
    Attempts all = Attempts::with_caution();
    Choices usual;
    const Program whole = cautious_schedule(one.graph, kTwoCores, usual, all);
    EXPECT_EQ(whole.fallbacks, std::vector<std::string>{});
    EXPECT_EQ(print(whole), print(default_schedule(one.graph, kTwoCores)));
    for (size_t step = 0; step < all.made(); ++step) {
      Attempts attempts = Attempts::with_caution(step);
      Choices choices;
      const Program program = cautious_schedule(one.graph, kTwoCores, choices, attempts);
      ASSERT_EQ(program.fallbacks.size(), 1u) << step;
      EXPECT_NE(program.fallbacks[0].find("refused for a test"), std::string::npos);
      testing::expect_same_results(one.graph, program, step);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Attempts, PlainLoopsAreAlwaysLegal) {
  for (const Drawn& one : drawn()) {
    const Program program = plain_schedule(one.graph, kTwoCores, "a reason");
    EXPECT_EQ(fallbacks_of(program), (std::vector<std::string>{"all loops: a reason"}));
    testing::expect_same_results(one.graph, program, 3);
  }
}

// What is no refusal of a move is an error as ever.
TEST(Attempts, OtherErrorsPass) {
  Program program = initial_program(matmul_graph(2, 3, 4), CpuMachine{2, 512});
  Attempts attempts = Attempts::with_caution();
  EXPECT_THROW(
      attempts(program, "a step", [](Program&) { throw Error(ErrorCode::Internal, "a fault"); }),
      Error);
  Attempts sure;
  expect_refused([&] { sure(program, "a step", [](Program& p) { p = tile(p, 0, 9, {}); }); },
                 "no such axis");
}

}  // namespace
}  // namespace adjit::sched
