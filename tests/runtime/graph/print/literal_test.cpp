// tests/runtime/graph/print/literal_test.cpp -- constants as literals that read back to the same
// bits.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "runtime/graph/print/expression_printer.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(Literal, EveryDTypeReadsBack) {
  Graph graph;
  std::vector<ExprId> bodies;
  const double kInf = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kDTypeCount; ++k) {
    const DType t = static_cast<DType>(k);
    if (!is_float(t)) {
      for (int64_t v : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MIN, INT64_MAX})
        bodies.push_back(graph.pool.constant_int(v, t));
      continue;
    }
    for (double v : {0.0, -0.0, 0.1, 1.0 / 3, 1e-45, 1e30, -7.0, kInf, -kInf, 5e-324, 123456789.0})
      bodies.push_back(graph.pool.constant_float(v, t));
    for (uint64_t bits : {0x7ff8000000000000ull, 0xfff8000000000000ull, 0x7ff8000000000123ull})
      bodies.push_back(graph.pool.intern({Op::Constant, t, 0, 0, bits}, {}));
  }
  Domain domain;
  for (ExprId body : bodies) {
    graph.outputs.push_back(add_compute(graph, "y", domain, {}, {body})[0]);
    // And beside an operand, where the dtype is taken from it.
    const DType t = graph.pool.dtype(body);
    const TensorId x = add_input(graph, "x", t, {});
    const ExprId condition = graph.pool.make(Op::Le, {read(graph, x, {}), body});
    graph.outputs.push_back(add_compute(
        graph, "z", domain, {},
        {graph.pool.intern({Op::Select, t, 0, 0, 0},
                           std::vector{condition, body, bodies[0] == body ? body : body})})[0]);
  }
  expect_round_trip(graph);
}

std::string text_of(double value, DType dtype) {
  ExprPool pool;
  return literal_text(pool[pool.constant_float(value, dtype)]);
}

TEST(Literal, FloatsAreTheShortestDecimalWithAPoint) {
  EXPECT_EQ(text_of(3, DType::Float32), "3.0");
  EXPECT_EQ(text_of(0.1, DType::Float32), "0.1");
  EXPECT_EQ(text_of(0.1, DType::Float64), "0.1");
  EXPECT_EQ(text_of(static_cast<double>(0.1f), DType::Float64), "0.10000000149011612");
  EXPECT_EQ(text_of(-0.0, DType::Float32), "-0.0");
  EXPECT_EQ(text_of(1e300, DType::Float64), "1e+300") << "an exponent is enough";
  EXPECT_EQ(text_of(-std::numeric_limits<double>::infinity(), DType::Float16), "-inf");
}

TEST(Literal, UnusualNaNsAreTheirBits) {
  const auto nan = [](uint64_t bits) {
    return literal_text({Op::Constant, DType::Float64, 0, 0, bits});
  };
  EXPECT_EQ(nan(0x7ff8000000000000ull), "nan");
  EXPECT_EQ(nan(0xfff8000000000000ull), "-nan");
  EXPECT_EQ(nan(0x7ff8000000000123ull), "nan_bits(0x7ff8000000000123)");
}

TEST(Literal, IntegersAndBoolAreAsInTheText) {
  ExprPool pool;
  EXPECT_EQ(literal_text(pool[pool.constant_int(INT64_MIN)]), "-9223372036854775808");
  EXPECT_EQ(literal_text(pool[pool.constant_int(200, DType::UInt8)]), "200");
  EXPECT_EQ(literal_text(pool[pool.constant_int(1, DType::Bool)]), "true");
  EXPECT_EQ(literal_text(pool[pool.constant_int(0, DType::Bool)]), "false");
}

}  // namespace
}  // namespace adjit::graph
