// tests/runtime/graph/parse/text_module_test.cpp -- programs as Tensor Comprehensions writes them.
#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

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
  const Graph graph = instance_of(
      "def matmul(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, r_k) * B(r_k, n) }",
      {{2, 3}, {3, 4}});
  EXPECT_EQ(output_shape(graph), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(outputs_of(graph, {counting({2, 3}), counting({3, 4})})[0], 1 * 1 + 2 * 5 + 3 * 9);
}

TEST(TextModule, PrintedInstancesReadBack) {
  const Graph graph = instance_of(
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
