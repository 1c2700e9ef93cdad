// tests/autosched/gpu/products/product_test.cpp -- which stages have the form of a product.
#include "autosched/gpu/products/product.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

std::string name_of(const Graph& graph, const ProductOperand& operand) {
  return graph.info(operand.tensor).name;
}

// "batches m n k: left right" of the first stage, or "none".
std::string product_in(const Graph& plain) {
  const LoweredGraph graph(plain);
  const std::optional<Product> p = product_of(graph, graph.stages.front());
  if (!p) return "none";
  EXPECT_EQ(graph.pool.read_tensor(p->left.read), p->left.tensor);
  EXPECT_EQ(graph.pool.read_tensor(p->right.read), p->right.tensor);
  std::string batches;
  for (size_t batch : p->batches) batches += std::to_string(batch) + " ";
  return batches + std::to_string(p->m) + " " + std::to_string(p->n) + " " + std::to_string(p->k) +
         ": " + name_of(graph, p->left) + " " + name_of(graph, p->right);
}

std::string product_in(const std::string& stage, const std::string& inputs) {
  return product_in(parse_graph("def f(" + inputs + ") -> (c) { " + stage + " }"));
}

TEST(Product, MatricesInAnyLayout) {
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      EXPECT_EQ(product_in(product_graph(4, 5, 6, a, b)), "0 1 2: A B");
  const std::string swapped = "c(i, j) +=! b(k, j) * a(i, k)";
  EXPECT_EQ(product_in(swapped, "float(4, 6) a, float(6, 5) b"), "0 1 2: a b");
  EXPECT_EQ(product_in("c(i, j) +=! a(i, k) * a(j, k)", "float(4, 6) a"), "0 1 2: a a");
}

// Parts of k are batches: rows of blocks of x are not.
TEST(Product, PartsOfASumAreBatches) {
  EXPECT_EQ(product_in("c(p, i, j) +=! a(i, 8 * p + k) * b(8 * p + k, j) "
                       "where p in 0:3, i in 0:4, j in 0:5, k in 0:8",
                       "float(4, 24) a, float(24, 5) b"),
            "0 1 2 3: a b");
  EXPECT_EQ(product_in("c(i, j) +=! x(8 * i + k) * w(k, j) where i in 0:4, j in 0:5, k in 0:8",
                       "float(32) x, float(8, 5) w"),
            "none");
}

TEST(Product, BatchesAreAnyAxesButTheLast) {
  const std::string inputs = "float(2, 4, 6) a, float(2, 6, 5) b";
  EXPECT_EQ(product_in("c(s, i, j) +=! a(s, i, k) * b(s, k, j)", inputs), "0 1 2 3: a b");
  EXPECT_EQ(product_in("c(i, s, j) +=! a(s, i, k) * b(s, k, j)", inputs), "1 0 2 3: a b");
  EXPECT_EQ(product_in("c(i, j, s) +=! a(s, i, k) * b(s, k, j)", inputs), "none");
  EXPECT_EQ(product_in("c(s, i, t, j) +=! a(t, s, i, k) * b(s, t, k, j)",
                       "float(3, 2, 4, 6) a, float(2, 3, 6, 5) b"),
            "0 2 1 3 4: a b");
}

TEST(Product, AnOperandMayBeTheSameForABatch) {
  EXPECT_EQ(product_in("c(s, i, j) +=! w(i, k) * x(s, k, j)", "float(4, 6) w, float(2, 6, 5) x"),
            "0 1 2 3: w x");
  EXPECT_EQ(product_in("c(s, i, j) +=! w(s, i, k) * x(k, j)", "float(2, 4, 6) w, float(6, 5) x"),
            "0 1 2 3: w x");
  EXPECT_EQ(
      product_in("c(s, i, j) +=! w(i, k) * x(k, j) where s in 0:3", "float(4, 6) w, float(6, 5) x"),
      "0 1 2 3: w x");
}

TEST(Product, HalfTypesAreCast) {
  EXPECT_EQ(product_in("c(i, j) +=! float32(a(i, k)) * float32(b(k, j))",
                       "bfloat16(4, 6) a, bfloat16(6, 5) b"),
            "0 1 2: a b");
}

TEST(Product, ATriangleOfTermsIsOne) {
  EXPECT_EQ(
      product_in("c(i, j) +=! a(i, k) * b(k, j) where k <= i", "float(4, 6) a, float(6, 5) b"),
      "0 1 2: a b");
}

TEST(Product, OtherStagesAreNone) {
  const std::string inputs = "float(4, 6) a, float(6, 5) b";
  EXPECT_EQ(product_in("c(i, j) max=! a(i, k) * b(k, j)", inputs), "none");
  EXPECT_EQ(product_in("c(i, j) +=! a(i, k) + b(k, j)", inputs), "none");
  EXPECT_EQ(product_in("c(i, j) +=! a(i, k) * exp(b(k, j))", inputs), "none");
  EXPECT_EQ(product_in("c(i, j) +=! a(i, k) * b(k, j) * b(k, j)", inputs), "none");
  EXPECT_EQ(product_in("c(i) +=! a(i, k) * b(k, 0)", inputs), "none") << "a vector";
  EXPECT_EQ(product_in("c(i, j) +=! a(i, r) * b(s, j)", inputs), "none") << "two sums";
  EXPECT_EQ(product_in("c(i, j) +=! a(i, k) * b(5 - k, j) where k in 0:6", inputs), "none");
  EXPECT_EQ(product_in("c(i, j) +=! a(i, i) * b(i, k) where i in 0:4, j in 0:2", inputs), "none");
  EXPECT_EQ(product_in("c(i, j) +=! a(i, j) * b(j, k) where j in 0:6", inputs), "none");
  EXPECT_EQ(
      product_in("c(i, j) +=! a(i, k) * b(k, j where k <= i) where i in 0:4, j in 0:5, k in 0:6",
                 inputs),
      "none");
}

}  // namespace
}  // namespace adjit::sched
