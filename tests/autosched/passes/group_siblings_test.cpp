// tests/autosched/passes/group_siblings_test.cpp -- which stages share one pass.
#include "autosched/passes/group_siblings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/process/json.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(SiblingGroups, ShareOnePassUnlessTheyDependOnEachOther) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {6, 40});
  const auto ij = [&](TensorId t) { return b.at(t, {b.axis(0), b.axis(1)}); };
  const TensorId u = b.stage("u", {6, 40}, 2, CombinerKind::None, p.make(Op::Exp, {ij(x)}));
  const TensorId v = b.stage("v", {6, 40}, 2, CombinerKind::None, p.neg(ij(x)));
  const TensorId s = b.stage("s", {6, 40}, 1, CombinerKind::Sum, ij(u));
  const TensorId w =
      b.stage("w", {6, 40}, 2, CombinerKind::None, p.mul(ij(x), b.at(s, {b.axis(0)})));
  for (TensorId t : {u, v, w}) b.output(t);
  Choices own;
  const Program program = fuse_sibling_groups(plain(b.graph), {}, own);
  EXPECT_EQ(program.kernels.size(), 3u);  // (u, v), s, w
  expect_faithful(program, b.graph);
}

// A fusion moves what reads a member behind the group: stages that were asked and others change
// places, and those are found all the same.
TEST(SiblingGroups, AreFoundWhereAFusionReordersTheStages) {
  const Graph graph = parse_graph(R"(def f(float(40) a, float(6, 40) x) -> (w, v, r, s, t) {
  w(i) = exp(a(i))
  u(i, j) = exp(x(i, j))
  r(i) +=! u(i, k)
  s(i, j) = sin(x(i, j))
  v(i) = cos(a(i))
  t(i, j) = cos(x(i, j))
})");
  Choices own;
  const Program program = fuse_sibling_groups(plain(graph), {}, own);
  EXPECT_EQ(program.kernels.size(), 3u);  // (w, v), (u, s, t), r
  expect_faithful(program, graph);
}

// Every fusion takes time for the whole program, so there is one a group and not one a stage.
TEST(SiblingGroups, AreFusedAsAWhole) {
  constexpr size_t kStages = 800;
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {kStages, 3});
  for (size_t k = 0; k < kStages; ++k)
    b.output(b.stage("s" + std::to_string(k), {3}, 1, CombinerKind::None,
                     p.neg(b.at(x, {p.constant_int(static_cast<int64_t>(k)), b.axis(0)}))));
  Choices own;
  const Program program = fuse_sibling_groups(plain(b.graph), {}, own);
  EXPECT_LE(program.kernels.size(), kStages / 50);
  EXPECT_LE(Json::parse(program.moves_json).size(), program.kernels.size());
  expect_faithful(program, b.graph);
}

// Contractions are one pass where it computes for both what takes most of either's time.
TEST(SiblingGroups, ContractionsShareWhatTheyComputeForEachPair) {
  const auto kernels = [](const std::string& u, const std::string& v) {
    const Graph graph = parse_graph(
        "def f(float(60) x, float(50) y, float(60, 50) a, float(50) q, float(50) r) -> (u, v) {\n"
        "  u(i) +=! " +
        u + " * q(k)\n  v(i) +=! " + v + " * r(k)\n}");
    Choices own;
    const Program program = fuse_sibling_groups(plain(graph), {}, own);
    expect_faithful(program, graph);
    return program.kernels.size();
  };
  EXPECT_EQ(kernels("exp(x(i) * y(k))", "exp(x(i) * y(k))"), 1u);
  EXPECT_EQ(kernels("exp(x(i) * y(k))", "exp(x(i) + y(k))"), 2u);
  EXPECT_EQ(kernels("(exp(x(i)) * exp(y(k)))", "(exp(x(i)) * exp(y(k)))"), 2u)
      << "what changes with one axis is computed once for the other";
}

// No value changes with all axes of a product of matrices.
TEST(SiblingGroups, ProductsOfMatricesStayApart) {
  const Graph graph = parse_graph(
      "def f(float(1, 40, 50) s, float(1, 50, 32) v, float(1, 50, 32) w) -> (y, z) {\n"
      "  y(b, i, c) +=! exp(s(b, i, k)) * v(b, k, c)\n"
      "  z(b, i, c) +=! exp(s(b, i, k)) * w(b, k, c)\n}");
  Choices own;
  EXPECT_EQ(fuse_sibling_groups(plain(graph), {}, own).kernels.size(), 2u);
}

// In whatever order they are asked for; and sums of other pairs stay apart from those of two.
TEST(SiblingGroups, SumsOfOtherPairsMayStandBetween) {
  const auto kernels = [](const std::vector<std::string>& values) {
    std::string body, outputs;
    for (size_t k = 0; k < values.size(); ++k) {
      const std::string name = "s" + std::to_string(k);
      outputs += (k > 0 ? ", " : "") + name;
      body += "  " + name + "(i) +=! " + values[k] + "(x(i) * y(k)) * q(k, " + std::to_string(k) +
              ")\n";
    }
    const Graph graph = parse_graph("def f(float(60) x, float(50) y, float(50, 6) q) -> (" +
                                    outputs + ") {\n" + body + "}");
    Choices own;
    const Program program = fuse_sibling_groups(plain(graph), {}, own);
    expect_faithful(program, graph);
    return program.kernels.size();
  };
  EXPECT_EQ(kernels({"exp", "exp", "tanh", "tanh"}), 2u);
  EXPECT_EQ(kernels({"exp", "tanh", "exp", "tanh"}), 2u);
  EXPECT_EQ(kernels({"exp", "tanh", "sin", "exp", "tanh", "sin"}), 3u);
  EXPECT_EQ(kernels({"exp", "tanh", "sin", "cos", "sqrt", "exp"}), 6u) << "the first one is closed";
}

TEST(SiblingGroups, APlainSumClosesNoGroupOfPairs) {
  const Graph graph = parse_graph(
      "def f(float(60) x, float(50) y, float(50, 2) q) -> (a, m, b) {\n"
      "  a(i) +=! exp(x(i) * y(k)) * q(k, 0)\n  m(i) +=! tanh(x(i) + y(k))\n"
      "  b(i) +=! exp(x(i) * y(k)) * q(k, 1)\n}");
  Choices own;
  const Program program = fuse_sibling_groups(plain(graph), {}, own);
  EXPECT_EQ(program.kernels.size(), 2u);
  expect_faithful(program, graph);
}

}  // namespace
}  // namespace adjit::sched
