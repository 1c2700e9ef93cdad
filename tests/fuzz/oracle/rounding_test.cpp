// tests/fuzz/oracle/rounding_test.cpp -- what rounding excuses, and what it does not.
#include "tests/fuzz/oracle/rounding.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(Rounding, ExcusesOneUnitInTheLastPlaceOfAFunction) {
  const Graph graph = parse_graph("def f(float(2) x) -> (y) { y(i) = sin(x(i)) * 3 }");
  const std::vector<Array> inputs = {Array::of(DType::Float32, {2}, std::vector<double>{1, 0.5})};
  const double right = interpret(graph, inputs)[0].at(0);
  EXPECT_TRUE(rounding_may_give(graph, inputs, 0, 0, right));
  EXPECT_TRUE(rounding_may_give(graph, inputs, 0, 0, right * (1 + 0x1p-23)));
  EXPECT_FALSE(rounding_may_give(graph, inputs, 0, 0, right * (1 + 0x1p-18)));
  EXPECT_FALSE(rounding_may_give(graph, inputs, 0, 1, right));
}

TEST(Rounding, DecidesIntegersBesideWholeNumbersOnly) {
  // 10 times 0.1f is 1 after rounding and more than 1 before; 0.15f makes 1.5, which is 1.
  const Graph graph = parse_graph("def f(float(2) x) -> (y) { y(i) = int64(x(i) * 10) }");
  const std::vector<Array> inputs = {
      Array::of(DType::Float32, {2}, std::vector<double>{0.1, 0.15})};
  EXPECT_TRUE(rounding_may_give(graph, inputs, 0, 0, 0));
  EXPECT_TRUE(rounding_may_give(graph, inputs, 0, 1, 1));
  EXPECT_FALSE(rounding_may_give(graph, inputs, 0, 1, 0));
}

TEST(Rounding, DecidesWinnersOfNearlyEqualValues) {
  const Graph graph = parse_graph(
      "def f(float(3) x, float(3) w) -> (y) {\n"
      "  (m, k)() argmin=! (sin(x(i)), i)\n"
      "  y() = w(k())\n"
      "}\n");
  const Array weights = Array::of(DType::Float32, {3}, std::vector<double>{5, 7, 9});
  const Array near = Array::of(DType::Float32, {3}, std::vector<double>{1, 1 + 0x1p-23, 2});
  EXPECT_TRUE(rounding_may_give(graph, {near, weights}, 0, 0, 7)) << "sines of neighbours";
  const Array apart = Array::of(DType::Float32, {3}, std::vector<double>{1.1, 1, 2});
  EXPECT_FALSE(rounding_may_give(graph, {apart, weights}, 0, 0, 5));
  EXPECT_TRUE(rounding_may_give(graph, {apart, weights}, 0, 0, 7));
}

}  // namespace
}  // namespace adjit::testing
