// tests/runtime/graph/print/printer_test.cpp -- the printed form: golden texts, and that each reads
// back to itself.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/graph/verify/verify.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

// Prints as it stands.
void expect_golden(const std::string& text) {
  const Graph graph = parse_graph(text);
  EXPECT_EQ(print(graph), text);
  expect_round_trip(graph);
  EXPECT_NO_THROW(verify(graph)) << text;
}

TEST(Printer, AMatrixProductReadsBack) {
  expect_golden(
      "def main(float(4, 6) A, float(6, 5) B) -> (C) {\n"
      "  C(i, j) +=! A(i, r_k) * B(r_k, j) where i in 0:4, j in 0:5, r_k in 0:6\n"
      "}\n");
}

TEST(Printer, LongConstantsAreWholeOrElided) {
  Graph graph;
  std::vector<std::byte> bytes(4000, std::byte{0x3f});
  graph.outputs = {add_constant(graph, "c", DType::Float32, {1000}, bytes),
                   add_constant(graph, "d", DType::Int64, {2}, std::vector<std::byte>(16))};
  expect_round_trip(graph);
  EXPECT_GT(print(graph).size(), 8000U);
  const std::string elided = print(graph, LongConstants::Elided);
  EXPECT_NE(elided.find("const float(1000) c = ... (4000 bytes)\n"), std::string::npos) << elided;
  EXPECT_NE(elided.find("const int64(2) d = [0, 0]\n"), std::string::npos) << elided;
  EXPECT_THROW(parse_graph(elided), Error) << "for people";
}

TEST(Printer, EveryKindOfStatementReadsBack) {
  expect_golden(
      "def main(float(4, 6) A, int64(4) I, float s) -> (v, at, A, h) {\n"
      "  const float(3) c = [0.1, -2.0, inf]\n"
      "  const bool(2) b = [true, false]\n"
      "  y() =[stop_gradient] s() * c(2)\n"
      "  z(i, j) = A(i, j - 1 where 1 <= j) + 0.5 where i in 0:4, j in 0:6\n"
      "  (v, at)(i) argmax=! (z(i, r_j), r_j) where i in 0:4, r_j in 0:6\n"
      "  p(i) max=![first] z(i, i + r_j) where i in 0:4, r_j in 0:2\n"
      "  q(i) any=! z(i, r_j) < 2.0 where i in 0:4, r_j in 0:6\n"
      "  scatter float(9) h0(I(i)) +=![drop] p(i) where i in 0:4\n"
      "  scatter float(9) h(I(i)) += p(i) from h0 where i in 0:4\n"
      "  (m, n)(i) custom=! (z(i, r_j), 1)\n"
      "    combine (a0, a1), (b0, b1) -> (max(a0, b0), a1 + b1)\n"
      "    identity (-inf, 0)\n"
      "    where i in 0:4, r_j in 0:6\n"
      "  call (float(4) sorted, int64(4) order) = sort(p)\n"
      "}\n");
}

TEST(Printer, DivisionsAndRowsReadBack) {
  expect_golden(
      "def main(float(5) dy) -> (dx) {\n"
      "  dx(i) +=! dy(i // 2)\n"
      "    where i in 0:10, r_j in 0:3, q0 = i // 2, q1 = (i + 2*q0 - 3) // 4, i <= 8, i + 1 >= "
      "r_j, "
      "i == 2*q0, 0 == r_j\n"
      "}\n" +
      std::string());
}

TEST(Printer, ScansReadBack) {
  expect_golden(
      "def main(float(2) h0, float(3, 2) X, float w) -> (h, ys) {\n"
      "  scan (h, ys) = step[3, reverse](carry float(2) c = h0, over float(2) x = X, fixed float u "
      "= "
      "w) -> (n, x) {\n"
      "    n(i) = c(i) * u() + x(i) where i in 0:2\n"
      "    scan (k) = inner[2](carry float(2) d = n) -> (e) {\n"
      "      e(i) = -d(i) where i in 0:2\n"
      "    }\n"
      "  }\n"
      "}\n");
}

TEST(Printer, ConstantsWithManyElementsOrNanReadBack) {
  Graph graph;
  std::vector<double> values(200);
  for (size_t k = 0; k < values.size(); ++k) values[k] = 0.1 * static_cast<double>(k);
  const Array large = Array::of(DType::Float32, {20, 10}, values);
  const std::vector<double> odd{1, std::numeric_limits<double>::quiet_NaN()};
  graph.outputs = {
      add_constant(graph, "large", DType::Float32, {20, 10}, large.bytes),
      add_constant(graph, "odd", DType::Float16, {2}, Array::of(DType::Float16, {2}, odd).bytes)};
  expect_round_trip(graph);
}

TEST(Printer, ReservedAndEqualNamesAreMadeDistinct) {
  Graph graph;
  const TensorId x = add_input(graph, "max", DType::Float32, {2});
  graph.tensors.push_back(graph.tensors[0]);  // twice the same name
  graph.inputs.push_back(TensorId{1});
  const ExprId i = graph.pool.axis(0);
  Domain domain;
  domain.extents = {2};
  domain.output_rank = 1;
  graph.outputs =
      add_compute(graph, "i", domain, {},
                  {graph.pool.make(Op::Max, {read(graph, x, std::span(&i, 1)),
                                             read(graph, TensorId{1}, std::span(&i, 1))})});
  expect_round_trip(graph);
  EXPECT_NE(print(graph).find("max(max_(i_), max__(i_))"), std::string::npos) << print(graph);
}

TEST(Printer, ManyTensorsKeepTheirNames) {
  Graph graph;
  TensorId last = add_input(graph, "x", DType::Float32, {});
  for (int k = 0; k < 200; ++k)
    last = add_compute(graph, "x", {}, {}, {graph.pool.neg(read(graph, last, {}))})[0];
  graph.outputs = {last};
  expect_round_trip(graph);
}

TEST(Printer, AStageIsALineOfTheText) {
  const Graph graph = parse_graph("def f(float(3) x) -> (y) { y(i) = x(i) * 2 }");
  EXPECT_EQ(print_stage(graph, graph.stages[0]), "y(i) = x(i) * 2.0 where i in 0:3\n");
}

}  // namespace
}  // namespace adjit::graph
