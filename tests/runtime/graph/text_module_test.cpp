// Programs as Tensor Comprehensions writes them, instantiated for shapes.
#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/interpreter.hpp"
#include "runtime/graph/text.hpp"

namespace adjit::graph {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;
using List = std::vector<double>;

Graph instantiate(const std::string& text, const Shapes& shapes, std::vector<DType> dtypes = {}) {
  const TextModule module = TextModule::parse(text, "tc.txt");
  dtypes.resize(shapes.size(), DType::Float32);
  return module.instantiate(module.names()[0], shapes, dtypes);
}
std::vector<int64_t> output_shape(const Graph& graph, size_t k = 0) {
  return graph.info(graph.outputs[k]).shape;
}
Array counting(std::vector<int64_t> shape, DType dtype = DType::Float32) {
  Array array = Array::zeros(dtype, std::move(shape));
  for (int64_t k = 0; k < array.element_count(); ++k) array.set(k, static_cast<double>(k + 1));
  return array;
}
List elements(const Array& array) {
  List list;
  for (int64_t k = 0; k < array.element_count(); ++k) list.push_back(array.at(k));
  return list;
}
List outputs_of(const Graph& graph, const std::vector<Array>& inputs, size_t output = 0) {
  return elements(interpret(graph, inputs)[output]);
}

TEST(TextModule, NamesAndSignatures) {
  const TextModule module = TextModule::parse(
      "def f(float(N) a, float b) -> (c, d) { c(i) = a(i) d = b }\n"
      "def g() -> (one) { one = 1.0 }");
  EXPECT_EQ(module.names(), (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(module.signature("f").inputs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(module.signature("f").outputs, (std::vector<std::string>{"c", "d"}));
  EXPECT_THROW(module.signature("h"), Error);
}

TEST(TextModule, Matmul) {
  const Graph graph = instantiate(
      "def matmul(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, r_k) * B(r_k, n) }",
      {{2, 3}, {3, 4}});
  EXPECT_EQ(output_shape(graph), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(outputs_of(graph, {counting({2, 3}), counting({3, 4})})[0], 1 * 1 + 2 * 5 + 3 * 9);
}

TEST(TextModule, SymbolsWithTwoValues) {
  try {
    instantiate("def f(float(M, K) A, float(K) b) -> (c) { c(m) +=! A(m, k) * b(k) }",
                {{2, 3}, {4}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Shape);
    EXPECT_NE(std::string(error.what()).find("'K' is 3, but dimension 0 of 'b' is 4"),
              std::string::npos)
        << error.what();
  }
}

TEST(TextModule, DeclaredDTypesMustAgree) {
  try {
    instantiate("def f(float(M) a) -> (c) { c(m) = a(m) }", {{2}}, {DType::Float64});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::DType);
  }
}

TEST(TextModule, ConvolutionRangesAreInferred) {
  const Graph graph = instantiate(
      "def conv(float(N, C, H, W) I, float(M, C, KH, KW) F, float(M) b) -> (O) {\n"
      "  O(n, m, h, w) +=! I(n, c, h + kh, w + kw) * F(m, c, kh, kw)\n"
      "  O(n, m, h, w) = fmax(O(n, m, h, w) + b(m), 0)\n}",
      {{1, 2, 6, 5}, {3, 2, 3, 2}, {3}});
  EXPECT_EQ(output_shape(graph), (std::vector<int64_t>{1, 3, 4, 4}));
}

TEST(TextModule, StridesAndWhere) {
  const Graph graph = instantiate(
      "def pool(float(H, W) I) -> (O) { O(h, w) max=! I(2 * h + kh, 2 * w + kw) where kh in 0:2, "
      "kw "
      "in 0:2 }",
      {{5, 6}});
  EXPECT_EQ(output_shape(graph), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(outputs_of(graph, {counting({5, 6})}), (List{8, 10, 12, 20, 22, 24}));
}

TEST(TextModule, ShiftedReductionsAndNegativeRanges) {
  // k runs from -1: a three-point stencil away from the border.
  const Graph graph = instantiate(
      "def stencil(float(N) x) -> (y) { y(i) +=! x(i + k + 1) where k in -1:2 }", {{5}});
  EXPECT_EQ(outputs_of(graph, {counting({5})}), (List{6, 9, 12}));
}

TEST(TextModule, WhereOnTheLeftLeavesTheRestZero) {
  const Graph graph =
      instantiate("def f(float(N) x) -> (y) { y(i) = x(i - 1) where i in 1:N }", {{4}});
  EXPECT_EQ(outputs_of(graph, {counting({4})}), (List{0, 1, 2, 3}));
}

TEST(TextModule, AccumulationOntoEarlierValues) {
  const Graph graph = instantiate(
      "def f(float(N, M) A, float(N) b) -> (y) {\n"
      "  y(i) = b(i)\n  y(i) += A(i, k)\n  y(i) *= 2\n  y(i) max= 8.0 where i in 0:1\n"
      "  y(i) = 0 where i in 1:2 \n}",
      {{3, 2}, {3}});
  EXPECT_EQ(outputs_of(graph, {counting({3, 2}), counting({3})}), (List{8, 0, 28}));
  EXPECT_EQ(graph.info(graph.outputs[0]).name, "y");
}

TEST(TextModule, AccumulationOntoNothingStartsAtTheIdentity) {
  EXPECT_EQ(
      outputs_of(instantiate("def f(float(N) x) -> (y) { y += x(i) }", {{3}}), {counting({3})}),
      List{6});
}

TEST(TextModule, ComputedLeftHandSides) {
  const Graph graph =
      instantiate("def hist(float(N) X, int32(N) I) -> (H) { float(4) H(I(i)) += X(i) }",
                  {{3}, {3}}, {DType::Float32, DType::Int32});
  EXPECT_EQ(graph.stages[0].kind, StageKind::Scatter);
  EXPECT_EQ(outputs_of(graph, {counting({3}), Array::of(DType::Int32, {3}, List{1, 3, 1})}),
            (List{0, 4, 0, 2}));
  // A constant index: the rest keeps its values.
  EXPECT_EQ(outputs_of(instantiate("def f(float(N) x) -> (y) { y(i) = x(i) y(0) = 9 }", {{3}}),
                       {counting({3})}),
            (List{9, 2, 3}));
}

TEST(TextModule, TernariesBuiltinsAndExtents) {
  const Graph graph = instantiate(
      "def f(float(N) x) -> (y) { y(i) = x(i) > 1.5 && i < N - 1 ? pow(x(i), 2) / N : tanh(0) - "
      "x.0 }",
      {{3}});
  const List y = outputs_of(graph, {counting({3})});
  EXPECT_EQ(y[0], -3);
  EXPECT_FLOAT_EQ(static_cast<float>(y[1]), 4.0f / 3.0f);
  EXPECT_EQ(y[2], -3);
}

TEST(TextModule, IntegersMeetFloats) {
  const Graph graph = instantiate("def f(float(N) x, int32(N) k) -> (y) { y(i) = x(i) * k(i) + i }",
                                  {{2}, {2}}, {DType::Float32, DType::Int32});
  EXPECT_EQ(outputs_of(graph, {counting({2}), counting({2}, DType::Int32)}), (List{1, 5}));
}

TEST(TextModule, LiteralsTakeTheirDTypeFromOperands) {
  const Graph graph = instantiate(
      "def f(double(N) x) -> (y, z) { y(i) = x(i) * (1 / 3.0) z(i) = x(i) + double(0.1) }", {{1}},
      {DType::Float64});
  const std::vector<Array> in{counting({1}, DType::Float64)};
  EXPECT_EQ(outputs_of(graph, in)[0], 1.0 / 3);
  EXPECT_EQ(outputs_of(graph, in, 1)[0], 1.1);
}

TEST(TextModule, HalvesComputeInFloat32) {
  const Graph graph = instantiate("def f(half(N) x) -> (y) { half(N) y(i) = x(i) * x(i) }", {{2}},
                                  {DType::Float16});
  EXPECT_EQ(graph.info(graph.outputs[0]).dtype, DType::Float16);
  EXPECT_EQ(outputs_of(graph, {counting({2}, DType::Float16)}), (List{1, 4}));
}

TEST(TextModule, ExistsExtendsInference) {
  const Graph graph =
      instantiate("def f(float(N) x) -> (y) { y(i) = float(i) where exists x(i + 1) }", {{4}});
  EXPECT_EQ(output_shape(graph), std::vector<int64_t>{3});
}

TEST(TextModule, ScansOverSymbolicTime) {
  const Graph graph = instantiate(
      "def rnn(float(T, N) X, float(N) h0) -> (h) {\n"
      "  scan (h) = step[X.0](carry float(N) h = h0, over float(N) x = X) -> (next) {\n"
      "    next(i) = h(i) * 0.5 + x(i)\n  }\n}",
      {{3, 2}, {2}});
  EXPECT_EQ(outputs_of(graph, {counting({3, 2}), counting({2})}), (List{6.875, 8.75}));
}

TEST(TextModule, OutOfRangeReadsAreRefused) {
  try {
    instantiate("def f(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }", {{4}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Bounds);
    EXPECT_NE(std::string(error.what()).find("tc.txt:1"), std::string::npos) << error.what();
  }
}

TEST(TextModule, ZeroExtentsWork) {
  const Graph graph = instantiate("def f(float(N, K) A) -> (y) { y(i) +=! A(i, k) }", {{2, 0}});
  EXPECT_EQ(outputs_of(graph, {counting({2, 0})}), (List{0, 0}));
}

TEST(TextModule, PrintedInstancesReadBack) {
  const Graph graph = instantiate(
      "def attention(float(N, D) Q, float(N, D) K, float(N, D) V) -> (O) {\n"
      "  S(i, j) +=! Q(i, d) * K(j, d)\n"
      "  M(i) max=! S(i, j)\n"
      "  E(i, j) = exp((S(i, j) - M(i)) / sqrt(D))\n"
      "  Z(i) +=! E(i, j)\n"
      "  O(i, d) +=! E(i, j) / Z(i) * V(j, d)\n}",
      {{4, 3}, {4, 3}, {4, 3}});
  const std::string text = print(graph);
  EXPECT_EQ(print(parse_graph(text)), text);
  EXPECT_EQ(content_hash(parse_graph(text)), content_hash(graph));
}

}  // namespace
}  // namespace adjit::graph
