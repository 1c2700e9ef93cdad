// tests/autosched/analysis/reads/join_chain_test.cpp -- which selects join tensors, and what
// schedules make of it.
#include "autosched/analysis/reads/join_chain.hpp"

#include <gtest/gtest.h>

#include "autosched/analysis/work.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/joins.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

std::vector<int64_t> widths(size_t parts) {
  std::vector<int64_t> all;
  for (size_t k = 0; k < parts; ++k) all.push_back(3 + static_cast<int64_t>(k % 4));
  return all;
}

std::optional<JoinChain> chain_of(const std::string& text) {
  const Graph graph = parse_graph(text);
  return join_chain(graph.pool, graph.stages.back().bodies[0]);
}

TEST(JoinChain, HoldsEndsAndParts) {
  const std::optional<JoinChain> chain = chain_of(join_text(widths(9), 0, 5));
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->ends, (std::vector<int64_t>{3, 7, 12, 18, 21, 25, 30, 36}));
  EXPECT_EQ(chain->parts.size(), 9u);
  EXPECT_FALSE(chain->falling);
}

TEST(JoinChain, IsLong) {
  EXPECT_TRUE(chain_of(join_text(widths(thresholds().join_parts), 1, 5)));
  EXPECT_FALSE(chain_of(join_text(widths(thresholds().join_parts - 1), 1, 5)));
}

TEST(JoinChain, ComparesOnePositionAndReads) {
  std::string text = join_text(widths(10), 0, 5);
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string changed = text;
    const size_t at = changed.find(old);
    EXPECT_NE(at, std::string::npos);
    return changed.replace(at, old.size(), now);
  };
  EXPECT_FALSE(chain_of(with("select(i < 7", "select(j < 7")));
  EXPECT_FALSE(chain_of(with("select(i < 7", "select(i <= 7")));
  EXPECT_FALSE(chain_of(with("x2(i - 7", "2.0 * x2(i - 7")));
}

TEST(JoinChain, CountsAsOneLookUp) {
  const auto cost = [](size_t parts) {
    const Graph graph = parse_graph(join_text(widths(parts), 0, 5));
    return WorkMeter(graph.pool)(graph.stages[0].bodies).cost;
  };
  EXPECT_EQ(cost(40), cost(20));
  EXPECT_LT(cost(40), 40);
  // A short one is what it says: a comparison and a select, and a read's condition, each.
  EXPECT_EQ(cost(3) - cost(2), cost(4) - cost(3));
  EXPECT_LE(cost(3), 12);
}

// Computed inside the join each would be computed, or chosen from, at every point of it.
TEST(JoinChain, PartsAreStoredInMemory) {
  for (size_t axis : {0u, 1u}) {
    const Graph graph = parse_graph(join_text(widths(20), axis, 64, "float", "sin"));
    const Program program = default_schedule(graph, CpuMachine{});
    EXPECT_EQ(program.kernels.size(), 21u);
    for (TensorId id : joined_tensors(program.graph, program.graph.stages.back()))
      EXPECT_NE(program.scopes[id.value], Scope::Local);
  }
}

// Nor in the loops of what reads the join row by row.
TEST(JoinChain, PartsAreStoredWhereTheJoinIsAttached) {
  std::string text = join_text(widths(20), 1, 512, "float", "sin");
  text.replace(text.find("-> (y)"), 6, "-> (z)");
  text.insert(text.rfind('}'), "  m(i) max=! y(i, r)\n  z(i, j) = exp(y(i, j) - m(i))\n");
  const Program program = default_schedule(parse_graph(text), CpuMachine{});
  size_t joins = 0;
  for (const Stage& stage : program.graph.stages)
    for (TensorId id : joined_tensors(program.graph, stage)) {
      ++joins;
      EXPECT_NE(program.scopes[id.value], Scope::Local) << print(program);
    }
  EXPECT_GE(joins, 20u);
}

}  // namespace
}  // namespace adjit::testing
