// tests/runtime/diff/reverse/reverse_test.cpp -- gradients of orders 1 and 2 over a table of
// forwards.
#include "runtime/diff/reverse/reverse.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

class Gradients : public ::testing::TestWithParam<ForwardCase> {};

TEST_P(Gradients, AgreeWithDifferencesToOrderTwo) {
  Forward f;
  const Graph forward = GetParam().build(f);
  std::vector<Array> inputs = random_inputs(forward);
  for (Array& input : inputs)
    if (input.dtype == DType::Int64)
      for (int64_t k = 0; k < input.element_count(); ++k) input.set(k, static_cast<double>(k % 2));
  EXPECT_TRUE(check_gradients(forward, inputs, 2));
}

INSTANTIATE_TEST_SUITE_P(Forwards, Gradients, ::testing::ValuesIn(forward_table()),
                         [](const auto& info) { return info.param.name; });

TEST(Product, IsExactWithZerosToOrderTwo) {
  for (const std::vector<double>& row :
       {std::vector<double>{2, 0, 3, 5}, {0, 2, 0, 3}, {0, 0, 0, 4}, {2, 3, 4, 5}}) {
    Forward f;
    const TensorId x = f.input("x", {4});
    const Graph forward = f.returning({f.reduce(CombinerKind::Product, "y", {}, {4},
                                                [&](const Axes& i) { return f.at(x, {i[0]}); })});
    const std::vector<size_t> wrt{0};
    const Graph first = gradient(forward, wrt, 0, false);
    const std::vector<Array> in{Array::of(DType::Float64, {4}, row)};
    const Array g = interpret(first, in)[0];
    for (size_t k = 0; k < 4; ++k) {
      double others = 1;
      for (size_t o = 0; o < 4; ++o) others *= o == k ? 1 : row[o];
      EXPECT_EQ(g.at(static_cast<int64_t>(k)), others);
      // The row of the Hessian: the vjp of the gradient with a unit cotangent.
      std::vector<double> unit(4, 0);
      unit[k] = 1;
      const std::vector<Array> both{in[0], Array::of(DType::Float64, {4}, unit)};
      const Array h = interpret(vjp(first, {{0}, {0}}), both)[0];
      for (size_t m = 0; m < 4; ++m) {
        double rest = m == k ? 0 : 1;
        for (size_t o = 0; o < 4; ++o) rest *= o == k || o == m ? 1 : row[o];
        EXPECT_EQ(h.at(static_cast<int64_t>(m)), rest) << "row " << k << " column " << m;
      }
    }
  }
}

// Nothing was computed, so that what has no derivative elsewhere is not asked for one, and all
// gradients are 0.
TEST(Reverse, ResultsWithoutElementsAskForNothing) {
  const Graph graph = parse_graph(
      "def f(double(6) x, int64(4) k) -> (y) {\n"
      "  scatter double(6) s(k(i)) max=[clip] x(i) from x where i in 0:4\n"
      "  t(i) = sin(s(i)) where i in 0:6\n"
      "  y(i, j) = t(i) where i in 0:6, j in 0:0\n}\n");
  for (const bool clean : {false, true}) {
    const Graph reverse = vjp(graph, {.wrt = {0}, .outputs = {0}, .clean = clean});
    const std::vector<Array> inputs{
        Array::of(DType::Float64, {6}, std::vector<double>{1, 2, 3, 4, 5, 6}),
        Array::of(DType::Int64, {4}, std::vector<double>{0, 1, 2, 3}),
        Array::zeros(DType::Float64, {6, 0})};
    const Array gradient = interpret(reverse, inputs)[0];
    for (int64_t e = 0; e < 6; ++e) EXPECT_EQ(gradient.at(e), 0);
  }
}

}  // namespace
}  // namespace adjit::testing
