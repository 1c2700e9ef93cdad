// tests/autosched/gpu/products/products_test.cpp -- contractions become products and mean the same.
#include "autosched/gpu/products/products.hpp"

#include "autosched/gpu/products/product.hpp"
#include "tests/autosched/gpu/convolutions.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/random_contraction.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

using testing::Convolution;

Program products_made(const Graph& graph, bool reshapes = true) {
  Attempts sure;
  return make_products(initial_program(graph, kGpu), reshapes, sure);
}

// The products of a program, each as its extents, with a star at m: "2 16* 30 144"; behind them the
// number of stages that are left for themselves when results are in place.
std::string products_in(const Graph& graph, bool reshapes = true) {
  const Program p = reshapes_in_place(products_made(graph, reshapes));
  expect_faithful(p, graph);
  std::string text;
  size_t others = 0;
  for (const Kernel& kernel : p.kernels) {
    const Stage& stage = p.graph.stages[kernel.root.stage];
    const std::optional<Product> product = product_of(p.graph, stage);
    if (!product) {
      ++others;
      continue;
    }
    for (size_t a = 0; a < stage.domain.rank(); ++a)
      text += std::to_string(stage.domain.extents[a]) + (a == product->m ? "* " : " ");
  }
  return text + "+ " + std::to_string(others);
}
std::vector<std::string> products_in(const Convolution& convolution) {
  std::vector<std::string> all;
  for (const Graph& graph : testing::convolution_and_adjoints(convolution))
    all.push_back(products_in(graph));
  return all;
}
using All = std::vector<std::string>;

TEST(Products, ProductsOfMatricesStay) {
  EXPECT_EQ(products_in(product_graph(16, 17, 18, false, true)), "16* 17 18 + 0");
}

TEST(Products, AConvolutionAndItsAdjoints) {
  EXPECT_EQ(products_in(Convolution{.size = {8, 8}, .padding = 1}),
            (All{"2 16* 64 144 + 2", "2 16* 64 144 + 2", "16* 144 128 + 2"}))
      << "filters as a matrix, and the image; results are where they were";
  EXPECT_EQ(products_in(Convolution{.padding = 1}),
            (All{"16* 60 144 + 3", "16* 60 144 + 3", "16* 144 60 + 2"}))
      << "small images are joined, and results moved";
}

TEST(Products, ResiduesOfAStrideAreABatchWhereAllHaveEveryTap) {
  EXPECT_EQ(
      products_in(Convolution{.size = {16, 16}, .taps = {4, 4}, .stride = 2, .padding = 1})[1],
      "2 2 2 16* 64 64 + 3");
  // A filter of 3 has taps that some residues lack.
  EXPECT_EQ(products_in(Convolution{.size = {16, 16}, .stride = 2, .padding = 1})[1],
            "2 16* 64 16 2 16* 64 32 2 16* 64 32 2 16* 64 64 + 9");
}

TEST(Products, GroupsAreABatch) {
  EXPECT_EQ(products_in(Convolution{
                .images = 1, .channels = 32, .filters = 48, .size = {10, 10}, .groups = 2}),
            (All{"1 2 24* 64 144 + 2", "1 2 16* 100 216 + 2", "2 24* 144 64 + 2"}));
}

TEST(Products, DepthwiseConvolutionsStay) {
  EXPECT_EQ(products_in(Convolution{.channels = 16, .filters = 16, .groups = 16}),
            (All{"+ 1", "+ 1", "+ 1"}));
}

TEST(Products, SumsOfAnyRank) {
  const auto of = [](const std::string& body, const std::string& inputs) {
    return products_in(parse_graph("def f(" + inputs + ") -> (y) { " + body + " }"));
  };
  EXPECT_EQ(of("y(i, j, n) +=! a(i, j, k) * b(k, n)", "float(5, 7, 16) a, float(16, 17) b"),
            "35* 17 16 + 1")
      << "rows of a batch";
  EXPECT_EQ(of("y(i, j) +=! a(s, t, i) * b(s, t, j)", "float(3, 6, 17) a, float(3, 6, 18) b"),
            "17* 18 18 + 2")
      << "a gradient of weights";
  EXPECT_EQ(of("y(b, h, i, j) +=! a(b, i, h, d) * c(b, j, h, d)",
               "float(2, 16, 3, 16) a, float(2, 17, 3, 16) c"),
            "2 3 16* 17 16 + 0");
  EXPECT_EQ(of("y(b, i, h, d) +=! a(b, h, i, j) * c(b, j, h, d)",
               "float(2, 3, 16, 17) a, float(2, 17, 3, 17) c"),
            "2 16* 3 17 17 + 0");
  EXPECT_EQ(of("y(i, j, b) +=! a(b, i, k) * c(b, j, k)", "float(3, 16, 16) a, float(3, 17, 16) c"),
            "3 16* 17 16 + 1");
  EXPECT_EQ(of("y(p, q, r, s, t) +=! a(r, p, u, v) * c(v, q, s, t, u)",
               "float(2, 3, 4, 5) a, float(5, 4, 2, 3, 4) c"),
            "+ 1")
      << "sides of 6 points";
  EXPECT_EQ(of("y(p, q, r, s, t) +=! a(r, p, u, v) * c(v, q, s, t, u)",
               "float(4, 2, 4, 5) a, float(5, 4, 4, 3, 4) c"),
            "+ 1");
  EXPECT_EQ(of("y(p, q, r, s, t) +=! a(r, p, u, v) * c(v, q, s, t, u)",
               "float(4, 5, 4, 5) a, float(5, 4, 4, 3, 4) c"),
            "20* 48 20 + 3");
}

TEST(Products, AxesOfOnePointGoAlong) {
  const auto of = [](const std::string& body, const std::string& inputs) {
    return products_in(parse_graph("def f(" + inputs + ") -> (y) { " + body + " }"));
  };
  EXPECT_EQ(of("y(b, i, j) +=! a(b, i, k) * w(k, j)", "float(1, 18, 16) a, float(16, 17) w"),
            "1 18* 17 16 + 0");
  EXPECT_EQ(of("y(b, i, j) +=! a(0, i, k) * w(k, j) where b in 0:1",
               "float(1, 18, 16) a, float(16, 17) w"),
            "18* 17 16 + 1");
  EXPECT_EQ(of("y(i, o, h, l) +=! x(i, c, h + p, l + q) * f(o, c, p, q)",
               "float(20, 16, 3, 3) x, float(18, 16, 3, 3) f"),
            "20* 18 144 + 2");
}

TEST(Products, ResiduesThatCancelInOneOperand) {
  const Convolution convolution{.size = {16, 16}, .taps = {2, 2}, .stride = 2};
  EXPECT_EQ(products_in(convolution)[1], "2 64* 64 16 + 3");
}

TEST(Products, OperandsAreComputedWhereTheyAreRead) {
  const Graph graph = parse_graph(
      "def f(float(20, 16) a, float(16, 18) b, float(16) v) -> (y) {\n"
      "  y(i, j) +=! exp(a(i, k)) * v(k) * 0.5 * b(k, j)\n}");
  EXPECT_EQ(products_in(graph), "20* 18 16 + 1");
}

TEST(Products, HalfTypesAreReadAsTheyAre) {
  const Graph graph = parse_graph(
      "def f(bfloat16(4, 5, 16) a, bfloat16(16, 18) b) -> (y) {\n"
      "  y(i, s, j) +=! float(a(i, s, k)) * float(b(k, j))\n}");
  EXPECT_EQ(products_in(graph), "20* 18 16 + 1");
}

TEST(Products, ResultsOfStepsStayWhereTheyAre) {
  const Graph graph = parse_graph(
      "def f(float(16, 2, 16) a, float(2, 16, 18) b) -> (y, z) {\n"
      "  y(i, j) +=! a(i, s, k) * b(s, k, j)\n"
      "  z(i, s, j) +=! a(i, 0, k) * b(s, k, j)\n}");
  EXPECT_EQ(products_in(graph, false), "16* 18 32 16* 2 18 16 + 3");
}

// What is done to each result is done in the shape of the product.
TEST(Products, TheOneReaderJoinsAxes) {
  const auto with = [](const std::string& reader) {
    return parse_graph(
        "def f(float(2, 16, 10, 10) x, float(16, 16, 3, 3) w, float(16) b, float(2, 16, 8, 8) r,\n"
        "      float(8) v) -> (z) {\n"
        "  y(i, o, h, l) +=! x(i, c, h + p, l + q) * w(o, c, p, q)\n" +
        reader + "\n}");
  };
  const auto axes_of_reader = [&](const std::string& reader) {
    const Program p = products_made(with(reader));
    return p.graph.stages[p.graph.stages.size() - 2].domain.rank();
  };
  const std::string relu = "  z(i, o, h, l) = max(y(i, o, h, l) + b(o) + r(i, o, h, l), 0.0)";
  EXPECT_EQ(products_in(with(relu)), "2 16* 64 144 + 3");
  EXPECT_EQ(axes_of_reader(relu), 3u);
  const std::string columns = "  z(i, o, h, l) = y(i, o, h, l) + v(l)";
  EXPECT_EQ(products_in(with(columns)), "2 16* 64 144 + 3");
  EXPECT_EQ(axes_of_reader(columns), 4u) << "they would be divided";
  EXPECT_EQ(axes_of_reader("  z(i, o, h, l) = y(i, o, h, l) + y(i, o, l, h)"), 4u);
}

TEST(Products, ResultsAreNotMovedForWhoReadsThemOnce) {
  const std::string stages =
      "  y(i, o, h) +=! x(i, c, h + p) * w(o, c, p)\n  z(i, o, h) = exp(y(i, o, h))\n";
  const auto with = [&](const std::string& results, const std::string& more) {
    return parse_graph("def f(float(9, 16, 7) x, float(16, 16, 3) w) -> (" + results + ") {\n" +
                       stages + more + "}");
  };
  EXPECT_EQ(products_in(with("z", "")), "16* 45 48 + 3") << "the operands, and z";
  EXPECT_EQ(products_in(with("z, y", "")), "16* 45 48 + 4");
  EXPECT_EQ(products_in(with("z, u", "  u(i) +=! y(i, r_o, r_h)\n")), "16* 45 48 + 5");
}

TEST(Products, SeveralInOneProgram) {
  const Graph graph = parse_graph(
      "def f(float(4, 5, 16) x, float(16, 17) w, float(17, 18) v) -> (y, q) {\n"
      "  p(i, s, j) +=! x(i, s, k) * w(k, j)\n"
      "  q(i, s, j) = tanh(p(i, s, j))\n"
      "  y(i, s, j) +=! q(i, s, k) * v(k, j)\n}");
  EXPECT_EQ(products_in(graph), "20* 17 16 20* 18 17 + 3");
}

void expect_kinds_faithful(const std::vector<int64_t>& size, const std::vector<int64_t>& paddings) {
  for (const int64_t stride : {1, 2, 3})
    for (const int64_t dilation : {1, 2})
      for (const int64_t padding : paddings)
        for (const int64_t groups : {1, 2}) {
          Convolution convolution{.images = 1,
                                  .size = size,
                                  .stride = stride,
                                  .dilation = dilation,
                                  .padding = padding,
                                  .groups = groups};
          convolution.taps = std::vector<int64_t>(size.size(), 3);
          if (groups > 1) convolution.channels = convolution.filters = 32;
          SCOPED_TRACE(convolution.text());
          products_in(convolution);
        }
}

TEST(Products, ConvolutionsOfEveryKind) { expect_kinds_faithful({17}, {0, 1, 2}); }
TEST(Products, ConvolutionsOfImages) { expect_kinds_faithful({6, 5}, {1}); }
TEST(Products, ConvolutionsOfVolumes) {
  products_in(Convolution{.images = 1, .size = {4, 3, 5}, .taps = {2, 3, 1}, .padding = 1});
}

TEST(Products, RandomContractionsMeanTheSame) {
  size_t made = 0;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(30); ++seed) {
    const Graph graph = testing::RandomContraction(seed)();
    const Program p = products_made(graph);
    testing::expect_same_results(graph, p, seed);
    made += std::ranges::any_of(
        p.graph.stages, [&](const Stage& stage) { return product_of(p.graph, stage).has_value(); });
  }
  EXPECT_GT(made, 10u);
}

// What a condition excludes is no term, also where the other factor is no number.
TEST(Products, TermsThatAUserExcludesStayOut) {
  const auto products = [](const std::string& body, const std::string& condition) {
    return products_in(
        parse_graph("def f(float(20, 20) a, float(20, 20) b) -> (y) {\n y(i, j) +=! " + body +
                    " where i in 0:20, j in 0:20, k in 0:20, " + condition + "\n}"));
  };
  EXPECT_EQ(products("a(i, k) * b(k, j)", "k <= i"), "20* 20 20 + 0");
  EXPECT_EQ(products("a(i, k) * b(k, j)", "i <= j"), "20* 20 20 + 0");
  EXPECT_EQ(products("(a(i, k) - 1.0) * b(k, j)", "k <= i"), "20* 20 20 + 1");
  EXPECT_EQ(products("a(i, k) * b(k, j)", "k <= i, i <= k + 2"), "+ 1")
      << "of a band, tiles would compute mostly nothing";
}

// What is computed for few columns is computed where it is multiplied, if it is of pairs, or if
// there are fewer tiles than multiprocessors.
TEST(Products, OperandsThatAreComputedForFewColumns) {
  const auto is_product = [](const std::string& value, int64_t rows, int64_t columns) {
    const std::string n = std::to_string(rows), c = std::to_string(columns);
    const Program p = products_made(
        parse_graph("def f(float(" + n + ", 64) x, float(" + n + ") u, float(64) v, float(64, " +
                    c + ") w) -> (y) { y(i, j) +=! " + value + " * w(k, j) }"));
    return std::ranges::any_of(
        p.graph.stages, [&](const Stage& stage) { return product_of(p.graph, stage).has_value(); });
  };
  EXPECT_TRUE(is_product("exp(x(i, k))", 65536, 12));
  EXPECT_FALSE(is_product("exp(x(i, k))", 65536, 4));
  EXPECT_FALSE(is_product("exp(x(i, k))", 4096, 12));
  EXPECT_TRUE(is_product("x(i, k)", 4096, 12));
  EXPECT_FALSE(is_product("exp(u(i) * v(k))", 65536, 12));
  const Program conv = products_made(parse_graph(
      "def f(float(16, 64, 34, 34) x, float(8, 64, 3, 3) w) -> (y) {\n"
      "  y(i, o, h, l) +=! x(i, c, h + p, l + q) * w(o, c, p, q) where h in 0:32, l in 0:32\n}"));
  EXPECT_TRUE(std::ranges::any_of(conv.graph.stages, [&](const Stage& stage) {
    return product_of(conv.graph, stage).has_value();
  })) << "an image has fewer elements than its windows have, and is read, not computed";
  EXPECT_TRUE(is_product("exp(u(i) * v(k))", 65536, 32));
}

// A contraction that a move refuses stays as it is, the others become products.
TEST(Products, EachIsAnAttempt) {
  const Graph graph = parse_graph(
      "def f(float(20, 4, 24) a, float(20, 4, 24) b, float(20, 4, 24) d) -> (y, z) {\n"
      " y(i, j) +=! a(r, p, i) * b(r, p, j) where i in 0:24, j in 0:24, r in 0:20, p in 0:4\n"
      " z(i, j) +=! d(r, p, i) * b(r, p, j) where i in 0:24, j in 0:24, r in 0:20, p in 0:4\n}");
  const auto products = [&](size_t refused) {
    Attempts attempts = Attempts::with_caution(refused);
    const Program p = make_products(initial_program(graph, kGpu), true, attempts);
    expect_faithful(p, graph);
    EXPECT_EQ(p.fallbacks.size(), refused < 2 ? 1u : 0u);
    return std::ranges::count_if(
        p.graph.stages, [&](const Stage& stage) { return product_of(p.graph, stage).has_value(); });
  };
  EXPECT_EQ(products(SIZE_MAX), products(0) + 1);
  EXPECT_EQ(products(0), products(1));
}

}  // namespace
}  // namespace adjit::sched
