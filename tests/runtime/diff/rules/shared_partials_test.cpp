// tests/runtime/diff/rules/shared_partials_test.cpp -- what several accesses share is a stage of
// its own, where that saves work.
#include "runtime/diff/rules/shared_partials.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// `count` accesses of x over `rows` elements, whose values are factor(k) * shared.
struct Partials {
  Graph graph;
  TensorId x = add_input(graph, "x", DType::Float64, {16});
  ExprId i = graph.pool.axis(0);
  Domain domain = shape_box({8});
  std::vector<Access> accesses;

  ExprId x_at(int64_t shift) {
    const ExprId index[] = {graph.pool.add(i, graph.pool.constant_int(shift))};
    return read(graph, x, index);
  }
  // A partial of cost `operations` and one read.
  ExprId chain(int operations) {
    ExprId value = x_at(0);
    for (int k = 0; k < operations; ++k)
      value = graph.pool.add(value, graph.pool.constant(k + 1, DType::Float64));
    return value;
  }
  void add(int count, ExprId shared) {
    for (int k = 0; k < count; ++k)
      accesses.push_back(
          {x_at(k), {}, graph.pool.mul(shared, graph.pool.constant(k + 2, DType::Float64))});
  }
  void share(std::vector<ExprId> unconditional) {
    share_partials(graph, domain, unconditional, {}, accesses);
  }
  void share() { share({x_at(0)}); }
};

TEST(SharedPartials, OfTwentyFiveAccessesAreOneStage) {
  Partials p;
  const ExprId shared = p.graph.pool.make(Op::Tanh, {p.x_at(0)});
  p.add(25, shared);
  p.share();
  ASSERT_EQ(p.graph.stages.size(), 1u);
  EXPECT_EQ(p.graph.stages[0].bodies, std::vector{shared});
  EXPECT_EQ(p.graph.stages[0].domain, p.domain);
  const ExprId index[] = {p.i};
  const ExprId stored = read(p.graph, p.graph.stages[0].results[0], index);
  for (size_t k = 0; k < 25; ++k)
    EXPECT_EQ(p.accesses[k].value,
              p.graph.pool.mul(stored,
                               p.graph.pool.constant(static_cast<double>(k) + 2, DType::Float64)));
}

// Cost times the accesses but one: 11 * 3 is enough, 10 * 3 is not.
TEST(SharedPartials, AreCutWhereEnoughWorkIsSaved) {
  for (const int operations : {9, 10}) {
    Partials p;
    p.add(4, p.chain(operations));
    p.share();
    EXPECT_EQ(p.graph.stages.size(), operations == 10 ? 1u : 0u) << operations;
  }
}

TEST(SharedPartials, ThatCostLittleStayHoweverManyAccessesThereAre) {
  for (const int operations : {2, 3}) {
    Partials p;
    p.add(100, p.chain(operations));
    p.share();
    EXPECT_EQ(p.graph.stages.size(), operations == 3 ? 1u : 0u) << operations;
  }
}

TEST(SharedPartials, WithReadsThatASelectProtectsStay) {
  Partials p;
  p.add(25, p.graph.pool.make(Op::Tanh, {p.x_at(0)}));
  p.share({p.x_at(1)});
  EXPECT_TRUE(p.graph.stages.empty());
}

TEST(SharedPartials, OfOneAccessOrOfAReductionStay) {
  Partials alone;
  alone.add(1, alone.chain(100));
  alone.share();
  EXPECT_TRUE(alone.graph.stages.empty());
  Partials sum;
  sum.domain.output_rank = 0;
  sum.add(25, sum.chain(100));
  sum.share();
  EXPECT_TRUE(sum.graph.stages.empty());
}

TEST(SharedPartials, AreAtMostEightOfOneStage) {
  Partials p;
  for (int part = 0; part < 10; ++part)
    p.add(25, p.graph.pool.add(p.chain(20 + part), p.graph.pool.constant(part, DType::Float64)));
  // Ten different ones, each of 25 accesses.
  p.share();
  ASSERT_EQ(p.graph.stages.size(), 1u);
  EXPECT_EQ(p.graph.stages[0].bodies.size(), 8u);
}

}  // namespace
}  // namespace adjit::testing
