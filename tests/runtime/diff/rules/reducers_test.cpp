// tests/runtime/diff/rules/reducers_test.cpp -- which points a stage's cotangent reaches.
#include "runtime/diff/rules/reducers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/graph/array_values.hpp"

namespace adjit::testing {
namespace {

// The gradient by x of y(i) = combine over j of x(i, j), with a cotangent of `dy` everywhere.
std::vector<double> reduced_gradient(CombinerKind kind, Ties ties, int64_t rows, int64_t columns,
                                     const std::vector<double>& values, double dy = 1) {
  Forward f;
  const TensorId x = f.input("x", {rows, columns});
  const Graph forward = f.returning({f.reduce(
      kind, "y", {rows}, {columns}, [&](const Axes& i) { return f.at(x, {i[0], i[1]}); }, ties)});
  const std::vector<Array> inputs{
      Array::of(DType::Float64, {rows, columns}, values),
      Array::of(DType::Float64, {rows}, std::vector<double>(static_cast<size_t>(rows), dy))};
  return testing::values(interpret(vjp(forward, {{0}, {0}}), inputs)[0]);
}

TEST(Reducers, SumsReachEveryPoint) {
  EXPECT_EQ(reduced_gradient(CombinerKind::Sum, Ties::Even, 2, 2, {1, 2, 3, 4}, 5),
            std::vector<double>(4, 5));
}

TEST(Reducers, TheFirstWinnerTakesAllOrWinnersShare) {
  const std::vector<double> values{3, 7, 7, 7, 2, 2, 5, 2};
  EXPECT_EQ(reduced_gradient(CombinerKind::Max, Ties::First, 2, 4, values, 6),
            (std::vector<double>{0, 6, 0, 0, 0, 0, 6, 0}));
  EXPECT_EQ(reduced_gradient(CombinerKind::Max, Ties::Even, 2, 4, values, 6),
            (std::vector<double>{0, 2, 2, 2, 0, 0, 6, 0}));
  EXPECT_EQ(reduced_gradient(CombinerKind::Min, Ties::First, 2, 4, values, 6),
            (std::vector<double>{6, 0, 0, 0, 6, 0, 0, 0}));
  EXPECT_EQ(reduced_gradient(CombinerKind::Min, Ties::Even, 2, 4, values, 6),
            (std::vector<double>{6, 0, 0, 0, 2, 2, 0, 2}));
}

TEST(Reducers, ProductsReachThroughTheOthersAlsoWithZeros) {
  EXPECT_EQ(reduced_gradient(CombinerKind::Product, Ties::Even, 3, 3, {2, 3, 4, 0, 3, 4, 0, 0, 4}),
            (std::vector<double>{12, 8, 6, 12, 0, 0, 0, 0, 0}));
}

TEST(Reducers, AMaximumKeepsTheNumberOfItsWinner) {
  Graph g = parse_graph("def f(double(2, 2, 3) x) -> (y) { y(i) max=![first] x(i, j, k) }");
  const TensorId winner = winning_point(g, 0);
  EXPECT_EQ(g.stages[0].combiner.kind, CombinerKind::ArgMax);
  EXPECT_EQ(g.stages[0].results.size(), 2u);
  EXPECT_EQ(g.info(winner).dtype, DType::Int32);
  g.outputs = {winner};
  verify(g);
  const std::vector<Array> in{Array::of(DType::Float64, {2, 2, 3},
                                        std::vector<double>{0, 1, 2, 3, 9, 9, 4, 4, 4, 4, 4, 4})};
  EXPECT_EQ(values(interpret(g, in)[0]), (std::vector<double>{4, 0})) << "row-major, the first";
}

TEST(Reducers, NumbersOfMorePointsThanInt32HoldsAreInt64) {
  Graph g = parse_graph(
      "def f(double(1) x) -> (y) { y(i) min=![first] x(i) where i in 0:1, "
      "j in 0:65536, k in 0:65536 }");
  EXPECT_EQ(g.info(winning_point(g, 0)).dtype, DType::Int64);
  EXPECT_EQ(g.stages[0].combiner.kind, CombinerKind::ArgMin);
}

TEST(Reducers, APayloadThatNumbersThePointsIsTheWinner) {
  for (const int64_t scale : {1, 3}) {
    Forward f;
    const TensorId x = f.input("x", {2, 4});
    Domain domain;
    domain.extents = {2, 4};
    domain.output_rank = 1;
    Combiner combiner;
    combiner.kind = CombinerKind::ArgMax;
    Graph& g = f.graph;
    const ExprId index[] = {g.pool.axis(0), g.pool.axis(1)};
    const ExprId payload = g.pool.mul(g.pool.axis(1), g.pool.constant_int(scale));
    add_compute(g, "m", domain, combiner, {read(g, x, index), payload});
    const TensorId second = g.stages[0].results[1];
    EXPECT_EQ(winning_point(g, 0) == second, scale == 1);
    EXPECT_EQ(g.stages.size(), scale == 1 ? 1u : 2u) << "found apart";
  }
}

TEST(Reducers, AMaximumOfTuplesIsRefused) {
  Graph g = parse_graph("def f(double(4) x) -> (y) { y() max=! x(i) }");
  g.stages[0].bodies.push_back(g.stages[0].bodies[0]);
  g.stages[0].lines = {{"model.py", 8, "max"}};
  try {
    winning_point(g, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotDifferentiable);
    EXPECT_STREQ(
        error.what(),
        "model.py:8 (max): a max or min of tuples has no derivative; reduce one value at a "
        "time");
  }
}

// y(t(i)) = x(i), for i in 0:5, of 3 elements.
Graph assigning(OutOfRange mode) {
  Graph g;
  const TensorId x = add_input(g, "x", DType::Float64, {5});
  const TensorId t = add_input(g, "t", DType::Int64, {5});
  const ExprId i[] = {g.pool.axis(0)};
  Stage stage;
  stage.kind = StageKind::Scatter;
  stage.domain.extents = {5};
  stage.bodies = {read(g, x, i)};
  stage.target = {read(g, t, i)};
  stage.out_of_range = mode;
  stage.results = {add_tensor(g, "y", DType::Float64, {3})};
  g.stages.push_back(stage);
  g.outputs = stage.results;
  return g;
}

TEST(Reducers, TheLastWriterOfAnElementIsFound) {
  Graph g = assigning(OutOfRange::Drop);
  g.outputs = {last_writer(g, g.stages[0])};
  verify(g);
  const std::vector<Array> in{Array::zeros(DType::Float64, {5}),
                              Array::of(DType::Int64, {5}, std::vector<double>{0, 2, 0, 7, -1})};
  EXPECT_EQ(values(interpret(g, in)[0]), (std::vector<double>{2, -1, 1}));
}

// The element that each point reaches is the one that the scatter writes, in every mode.
TEST(Reducers, PointsReachTheElementsThatTheScatterWrites) {
  const std::vector<double> targets{0, 2, 5, -4, -1};
  const auto wrapped = [](double t) { return std::fmod(std::fmod(t, 3) + 3, 3); };
  for (const OutOfRange mode : {OutOfRange::Drop, OutOfRange::Clip, OutOfRange::Wrap}) {
    Graph g = assigning(mode);
    const Reached reached = reached_element(g, g.stages[0]);
    EXPECT_EQ(reached.inside.valid(), mode == OutOfRange::Drop);
    const ExprId inside =
        reached.inside.valid() ? g.pool.cast(reached.inside, DType::Int64) : g.pool.constant_int(1);
    g.outputs = add_compute(g, "reached", shape_box({5}), Combiner{}, {reached.index[0], inside});
    const std::vector<Array> in{Array::zeros(DType::Float64, {5}),
                                Array::of(DType::Int64, {5}, targets)};
    const std::vector<Array> found = interpret(g, in);
    for (int64_t k = 0; k < 5; ++k) {
      const double t = targets[static_cast<size_t>(k)];
      const bool in_range = t >= 0 && t < 3;
      EXPECT_EQ(found[1].at(k), mode != OutOfRange::Drop || in_range);
      EXPECT_EQ(found[0].at(k), mode == OutOfRange::Drop   ? t
                                : mode == OutOfRange::Wrap ? wrapped(t)
                                                           : std::clamp(t, 0.0, 2.0));
    }
  }
}

TEST(Reducers, NoPointReachesATensorWithoutElements) {
  Graph g = assigning(OutOfRange::Wrap);
  g.tensors[g.outputs[0].value].shape = {0};
  const Reached reached = reached_element(g, g.stages[0]);
  ASSERT_TRUE(reached.inside.valid());
  EXPECT_TRUE(g.pool.is_false(reached.inside));
}

TEST(Reducers, AScatterByMaximumIsRefusedWithLineAndRemedy) {
  Graph g = assigning(OutOfRange::Error);
  g.stages[0].combiner.kind = CombinerKind::Max;
  g.stages[0].lines = {{"model.py", 3, "scatter"}};
  try {
    vjp(g, {{0}, {0}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotDifferentiable);
    EXPECT_NE(std::string(error.what())
                  .find("model.py:3 (scatter): a scatter that combines by max has no derivative; "
                        "scatter by sum or by assignment"),
              std::string::npos)
        << error.what();
  }
}

TEST(Reducers, WithoutALineTheMessageBeginsWithWhatIsWrong) {
  try {
    not_differentiable(Stage{}, "this", "do that");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "this; do that");
  }
}

}  // namespace
}  // namespace adjit::testing
