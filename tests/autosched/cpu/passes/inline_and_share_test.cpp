// tests/autosched/cpu/passes/inline_and_share_test.cpp -- inlining with the sums over pairs in
// view.
#include "autosched/cpu/passes/inline_and_share.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "autosched/passes/inline_cheap.hpp"
#include "tests/autosched/graphs_for_passes.hpp"

namespace adjit::sched {
namespace {

const NamedGraph& named(const std::vector<NamedGraph>& graphs, const std::string& name) {
  for (const NamedGraph& one : graphs)
    if (one.name == name) return one;
  throw std::logic_error("no graph " + name);
}

TEST(InlineAndShare, WithoutPairsItInlinesOnly) {
  for (const Graph& graph : {softmax_graph(64, 100), matmul_graph(64, 64, 64), chain(5, 300)}) {
    ReductionPlans plans;
    Choices own;
    const Program p = inline_and_share(plain(graph), kTwoCores, plans, own);
    EXPECT_EQ(p.moves_json, inline_cheap_stages(plain(graph), {}).moves_json);
    EXPECT_TRUE(plans.empty());
    expect_faithful(p, graph);
  }
}

TEST(InlineAndShare, SumsOverPairsShareTheirValues) {
  const std::vector<NamedGraph> graphs = graphs_for_decisions();
  const NamedGraph& pairs = named(graphs, "pairs");
  ReductionPlans plans;
  Choices own;
  const Program p = inline_and_share(plain(pairs.graph), pairs.machine, plans, own);
  EXPECT_TRUE(has_move(p, "materialize_common")) << print(p);
  EXPECT_FALSE(plans.empty());
  expect_faithful(p, pairs.graph);
}

TEST(InlineAndShare, SharingIsADecision) {
  const std::vector<NamedGraph> graphs = graphs_for_decisions();
  const NamedGraph& pairs = named(graphs, "pairs");
  ReductionPlans plans;
  Choices asked((Answers()));
  inline_and_share(plain(pairs.graph), pairs.machine, plans, asked);
  Answers no;
  for (const Offer& offer : asked.offers())
    if (offer.subject.decision == Decision::SharePairwise) no[offer.subject] = 1;
  ASSERT_FALSE(no.empty());
  ReductionPlans none;
  Choices turned_down(no);
  const Program p = inline_and_share(plain(pairs.graph), pairs.machine, none, turned_down);
  EXPECT_FALSE(has_move(p, "materialize_common")) << print(p);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace adjit::sched
