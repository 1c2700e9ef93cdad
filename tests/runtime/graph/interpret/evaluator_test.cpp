// tests/runtime/graph/interpret/evaluator_test.cpp -- expressions at points: only what is asked for
// runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/graph/interpret/evaluator.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(Evaluator, GuardedReadsTouchNothing) {
  EXPECT_EQ(run_one("float(2) x", "y(i) = x(i - 1 where i >= 1 && i < 3) + 1 where i in 0:4",
                    {floats({2}, {5, 6})}),
            (List{1, 6, 7, 1}));
}

TEST(Evaluator, SaysWhatItReadAtAPoint) {
  const Graph graph = parse_graph(R"(
def main(float(4, 3) x, int64(2) n) -> (y) {
  y(i) = select(i < 1, x(n(i), i + 1), x(i, i where i > 5)) where i in 0:2
})");
  const Array x = Array::zeros(DType::Float32, {4, 3}), n = longs({3, 9});
  const std::vector<const Array*> arrays{&x, &n, nullptr};
  PointEvaluator evaluator(graph, graph.stages[0].bodies, arrays);
  using Read = std::pair<TensorId, int64_t>;
  const int64_t first[] = {0}, second[] = {1};
  evaluator.move_to(first);
  std::vector<Read> read = evaluator.elements_read();
  std::ranges::sort(read);
  EXPECT_EQ(read, (std::vector<Read>{{graph.inputs[0], 10}, {graph.inputs[1], 0}}));
  evaluator.move_to(second);
  EXPECT_EQ(evaluator.elements_read(), std::vector<Read>{});
}

TEST(Evaluator, UnselectedBranchesAreNotEvaluated) {
  EXPECT_EQ(
      run_one("float(2) x", "y(i) = select(i < 2, x(i), -1) where i in 0:4", {floats({2}, {5, 6})}),
      (List{5, 6, -1, -1}));
  // Shared between a branch that is taken and one that is not.
  EXPECT_EQ(run_one("float(2) x",
                    "y(i) = let t = x(i) * 2; select(i < 2, t + t, select(i == 9, t, 0)) "
                    "where i in 0:3",
                    {floats({2}, {5, 6})}),
            (List{20, 24, 0}));
}

TEST(Evaluator, LogicStopsWhereItIsDecided) {
  const Graph graph = parse_graph(R"(
def main(bool(3) x, int64(4) n) -> (y, z) {
  y(i) = 0 <= n(i) && n(i) < 3 && x(n(i))
  z(i) = n(i) < 0 || 3 <= n(i) || x(n(i))
})");
  const std::vector<Array> inputs{Array::of(DType::Bool, {3}, std::vector<double>{0, 1, 0}),
                                  Array::of(DType::Int64, {4}, std::vector<double>{-1, 1, 2, 7})};
  const std::vector<Array> results = interpret(graph, inputs);
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(results[0].at(k), k == 1) << k;
    EXPECT_EQ(results[1].at(k), k != 2) << k;
  }
}

TEST(Evaluator, IndicesOfDataOutOfRangeAreNamed) {
  const std::vector<Array> good{floats({3}, {7, 8, 9}), longs({2, 0})};
  EXPECT_EQ(run_one("float(3) x, int64(2) I", "y(i) = x(I(i))", good), (List{9, 7}));
  try {
    run_one("float(3) x, int64(2) I", "y(i) = x(I(i))", {good[0], longs({0, 3})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Bounds);
    for (const char* part : {"index 3", "0:3", "x(I(i))", "i = 1"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Evaluator, DeepChainsNeedNoStack) {
  Graph graph;
  const TensorId x = add_input(graph, "x", DType::Float64, {1});
  const ExprId i = graph.pool.axis(0);
  ExprId chain = read(graph, x, std::span(&i, 1));
  const ExprId condition = graph.pool.make(Op::Lt, {chain, graph.pool.constant(5, DType::Float64)});
  for (int k = 0; k < 20'000; ++k)
    chain = graph.pool.select(condition, graph.pool.make(Op::Abs, {graph.pool.neg(chain)}), chain);
  Domain domain;
  domain.extents = {1};
  domain.output_rank = 1;
  graph.outputs = add_compute(graph, "y", domain, {}, {chain});
  const std::vector<Array> in{Array::of(DType::Float64, {1}, List{3})};
  EXPECT_EQ(interpret(graph, in)[0].at(0), 3);
}

TEST(Evaluator, ValuesFollowThePointAndTheArguments) {
  Graph graph;
  ExprPool& pool = graph.pool;
  const ExprId sum = pool.add(pool.axis(0), pool.mul(pool.axis(1), pool.constant_int(10)));
  const ExprId product =
      pool.mul(pool.argument(0, DType::Float64), pool.argument(1, DType::Float64));
  const ExprId roots[] = {sum, product};
  PointEvaluator evaluator(graph, roots, {});
  const Scalar arguments[] = {Scalar::of_float(3), Scalar::of_float(0.5)};
  for (const int64_t k : {4, -2}) {
    evaluator.move_to(std::vector<int64_t>{k, 7}, arguments);
    EXPECT_EQ(evaluator.value(0).i, k + 70);
    EXPECT_EQ(evaluator.operand_value(0, 0).i + evaluator.operand_value(0, 1).i, k + 70);
    EXPECT_EQ(evaluator.value(1).f, 1.5);
  }
}

TEST(Evaluator, ConstantsAreKnownAtEveryPoint) {
  Graph graph;
  const ExprId roots[] = {graph.pool.constant_float(0.25, DType::Float32),
                          graph.pool.constant_int(-3, DType::Int8)};
  PointEvaluator evaluator(graph, roots, {});
  evaluator.move_to({});
  EXPECT_EQ(evaluator.value(0).f, 0.25);
  EXPECT_EQ(evaluator.value(1).i, -3);
}

// The same read behind a condition and in front of one: it runs where either asks for it.
TEST(Evaluator, AReadThatIsSharedRunsWhereAnyPathNeedsIt) {
  EXPECT_EQ(run_one("float(2) x", "y(i) = (i < 2 ? x(i) : 0) + x(i where i < 1) where i in 0:3",
                    {floats({2}, {5, 6})}),
            (List{10, 6, 0}));
}

}  // namespace
}  // namespace adjit::graph
