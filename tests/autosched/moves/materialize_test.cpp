// tests/autosched/moves/materialize_test.cpp -- factors of sums as stages of their own.
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Factors = std::vector<size_t>;

const Stage& made_in(const Program& p) { return p.graph.stages[p.graph.stages.size() - 2]; }

TEST(Materialize, AnImageWithItsConditions) {
  for (const bool rows : {false, true})
    for (const int64_t stride : {1, 2}) {
      const Graph graph = conv_graph(2, 3, 6, 5, 4, stride, rows);
      const Program p = materialize(plain(graph), 0, Factors{0});
      ASSERT_EQ(p.graph.stages.size(), 2u);
      EXPECT_EQ(made_in(p).domain.rank(), 6u) << "all axes but those of the filters";
      EXPECT_TRUE(made_in(p).domain.is_box());
      EXPECT_TRUE(p.graph.stages[1].domain.is_box()) << "rows are zeros now";
      expect_faithful(p, graph);
    }
}

TEST(Materialize, ConditionsThatBoundTheReadSaySo) {
  const Program p = materialize(plain(conv_graph(2, 3, 6, 5, 4, 1, true)), 0, Factors{0});
  const std::string text = print(p.graph);
  EXPECT_NE(text.find("where 0 <= j + m - 1 && j + m - 1 < 6 && 0 <="), std::string::npos) << text;
}

TEST(Materialize, BothFactors) {
  const Graph graph = conv_graph(2, 3, 6, 5, 4, 1, true);
  Program p = materialize(plain(graph), 0, Factors{1});
  EXPECT_EQ(made_in(p).domain.extents, (std::vector<int64_t>{4, 3, 3, 3}));
  p = materialize(std::move(p), 1, Factors{0});
  expect_faithful(p, graph);
}

TEST(Materialize, RowsThatBothFactorsNeedBoundTheOther) {
  const Graph graph = parse_graph(
      "def f(float(4, 5) x, float(5, 4) w) -> (y) {\n"
      "  y(i, j) +=! x(i, k - 1) * w(k - 2, j) where i in 0:4, j in 0:4, k in 0:6, k >= 2\n}");
  const Program p = materialize(plain(graph), 0, Factors{0});
  expect_faithful(p, graph);
  expect_faithful(materialize(p, 1, Factors{1}), graph);
}

TEST(Materialize, RowsOverOtherAxesStay) {
  const Graph graph = parse_graph(
      "def f(float(4, 5) x, float(5, 4) w) -> (y) {\n"
      "  y(i, j) +=! x(i, k - i) * w(k - j, j)\n"
      "    where i in 0:4, j in 0:4, k in 0:5, k >= i, k >= j\n}");
  const Program p = materialize(plain(graph), 0, Factors{0});
  EXPECT_EQ(p.graph.stages[1].domain.inequalities.size(), 1u);
  expect_faithful(p, graph);
}

// Zeros in the place of terms that a user excludes are terms, where the other factor is no number.
TEST(Materialize, ConditionsThatSayMoreThanReadsStay) {
  const Graph graph = parse_graph(
      "def f(float(4, 5) x, float(5, 4) w) -> (y) {\n"
      "  y(i, j) +=! exp(x(i, k)) * w(k, j) where i in 0:4, j in 0:4, k in 0:5, k <= i\n}");
  const Program p = materialize(plain(graph), 0, Factors{0});
  EXPECT_TRUE(p.graph.stages[0].domain.is_box());
  EXPECT_EQ(p.graph.stages[1].domain.inequalities.size(), 1u);
  expect_faithful(p, graph);
  const Graph outside = parse_graph(
      "def f(float(4, 3) x, float(5, 4) w) -> (y) {\n"
      "  y(i, j) +=! x(i, k) * w(k, j) where i in 0:4, j in 0:4, k in 0:5, k + j <= 2\n}");
  expect_faithful(materialize(plain(outside), 0, Factors{0}), outside);
}

TEST(Materialize, RowsWithDivisions) {
  const Graph graph = parse_graph(
      "def f(float(4, 5) x, float(3, 4) w) -> (y) {\n"
      "  y(i, j) +=! x(i // 2, k) * w(i % 2 + 1, j)\n"
      "    where i in 0:8, j in 0:4, k in 0:5, q = i // 2, k <= q, i == 2 * q + 1\n}");
  expect_faithful(materialize(plain(graph), 0, Factors{0}), graph);
}

TEST(Materialize, WhatIsComputedOfSeveralFactors) {
  const Graph graph = parse_graph(
      "def f(float(4, 5) x, float(5, 3) w, float(5) v) -> (y) {\n"
      "  y(i, j) +=! exp(x(i, k - i)) * w(k, j) * (x(i, 4 - k) / (v(k) * v(k) + 1.0))\n"
      "    where i in 0:4, j in 0:3, k in 0:5, k >= i\n}");
  const Program p = materialize(plain(graph), 0, Factors{0, 2, 3});
  EXPECT_EQ(made_in(p).domain.extents, (std::vector<int64_t>{4, 5}));
  EXPECT_TRUE(p.graph.stages[1].domain.is_box());
  EXPECT_EQ(tensors_read(p.graph, p.graph.stages[1]).size(), 2u);
  expect_faithful(p, graph);
  expect_faithful(materialize(plain(graph), 0, Factors{1}), graph);
  expect_faithful(materialize(plain(graph), 0, Factors{3}), graph);
}

TEST(Materialize, ASignGoesAlong) {
  const Graph graph =
      parse_graph("def f(float(4, 5) x, float(5, 3) w) -> (y) { y(i, j) +=! -x(i, k) * w(k, j) }");
  const Program p = materialize(plain(graph), 0, Factors{1});
  EXPECT_TRUE(is_product_sum(p.graph, p.graph.stages[1]));
  expect_faithful(p, graph);
}

TEST(Materialize, ReadsKeepTheirCasts) {
  const Graph graph = parse_graph(
      "def f(bfloat16(4, 5) x, bfloat16(5, 3) w) -> (y) {\n"
      "  y(i, j) +=! float(x(i, k)) * float(w(k, j)) where k <= i\n}");
  const Program p = materialize(plain(graph), 0, Factors{0});
  EXPECT_EQ(p.graph.info(made_in(p).results[0]).dtype, DType::BFloat16);
  expect_faithful(p, graph);
}

TEST(Materialize, WhatIsRefused) {
  const auto refused = [](const std::string& body, const Factors& factors, const char* why) {
    const Graph graph =
        parse_graph("def f(float(4, 5) x, float(5, 3) w) -> (y) {\n" + body + "\n}");
    expect_refused([&] { materialize(plain(graph), 0, factors); }, why);
  };
  const std::string product = "y(i, j) +=! x(i, k) * w(k, j)";
  refused(product, {}, "distinct ones");
  refused(product, {2}, "distinct ones");
  refused(product, {1, 1}, "distinct ones");
  refused(product, {1, 0}, "distinct ones");
  refused(product, {0, 1}, "all factors");
  refused("y(i, j) +=! 2.0 * x(i, k) * w(k, j)", {0}, "the same everywhere");
  refused("y(i, j) max=! x(i, k) * w(k, j)", {0}, "only sums");
  refused("y(i, j) +=! x(i, k) + w(k, j)", {0}, "only sums");
  Program attached = plain(parse_graph("def f(float(4, 5) x, float(5, 3) w) -> (z) { " + product +
                                       "\n z(i, j) = exp(y(i, j)) }"));
  attached = compute_at(std::move(attached), 0, 1, 1);
  expect_refused([&] { materialize(attached, 0, Factors{0}); }, "before attaching");
  const Graph infinite = parse_graph(
      "def f(float(4, 5) x) -> (y) {\n"
      "  m(i) max=! x(i, k) where i in 0:4, k in 0:5, k + 1 <= i\n"
      "  y(i, j) +=! x(i, k - i) * m(j) where i in 0:4, j in 0:4, k in 0:5, k >= i\n}");
  expect_refused([&] { materialize(plain(infinite), 1, Factors{0}); }, "is infinite");
  const Graph gathering = parse_graph(
      "def f(float(4, 5) x, float(5, 3) w, int64(5) q) -> (y) {\n"
      "  y(i, j) +=! x(i, q(k)) * w(k, j) where k <= i\n}");
  expect_refused([&] { materialize(plain(gathering), 0, Factors{0}); }, "which are data");
  expect_faithful(materialize(plain(infinite), 1, Factors{1}), infinite);
}

}  // namespace
}  // namespace adjit::sched
