// tests/jit/emit/gpu_products_test.cpp -- contractions in the form of products, as a GPU runs them
// thread by thread.
#include <gtest/gtest.h>

#include <limits>

#include "autosched/gpu/loops/flat_loops.hpp"
#include "autosched/gpu/products/products.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/gpu/convolutions.hpp"
#include "tests/autosched/gpu/random_contraction.hpp"
#include "tests/autosched/same_results.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/emulated_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

void expect_right_as_products(const Graph& graph) {
  Attempts sure;
  Program p = make_products(initial_program(graph, GpuMachine()), true, sure);
  for (const Kernel& kernel : std::vector<Kernel>(p.kernels))
    p = flat_loops(std::move(p), kernel.root.stage, GpuMachine());
  p = reshapes_in_place(std::move(p));
  const std::vector<Array> inputs = small_inputs(graph, 3);
  EXPECT_EQ(difference(interpret(graph, inputs), EmulatedProgram(p)(inputs), 1e-4), "");
}

TEST(GpuProducts, ConvolutionsAndTheirAdjoints) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  for (const Convolution& convolution :
       {Convolution{.images = 1, .size = {4, 4}, .padding = 1},
        Convolution{.images = 2, .size = {5, 6}, .stride = 2, .padding = 1},
        Convolution{.images = 1,
                    .channels = 32,
                    .filters = 32,
                    .size = {18},
                    .taps = {3},
                    .stride = 2,
                    .padding = 1,
                    .groups = 2}}) {
    SCOPED_TRACE(convolution.text());
    for (const Graph& graph : convolution_and_adjoints(convolution))
      expect_right_as_products(graph);
  }
}

// As the default schedule computes them; whether that has tiles.
bool is_right_in_tiles(const Graph& graph, const std::vector<Array>& inputs) {
  const Program p = default_schedule(graph, GpuMachine());
  EXPECT_TRUE(fallbacks_of(p).empty()) << fallbacks_of(p).front();
  EXPECT_EQ(difference(interpret(graph, inputs), EmulatedProgram(p)(inputs), 1e-4), "") << print(p);
  return p.moves_json.find("\"pipeline\"") != std::string::npos;
}
bool is_right_in_tiles(const Graph& graph) {
  return is_right_in_tiles(graph, small_inputs(graph, 3));
}

TEST(GpuProducts, ConvolutionsByDefault) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  int in_tiles = 0;
  for (const Convolution& convolution :
       {Convolution{.images = 1, .size = {4, 5}, .padding = 1},
        Convolution{.images = 2, .size = {9, 8}, .stride = 2, .padding = 1},
        Convolution{.images = 1, .size = {7, 9}, .dilation = 2, .padding = 2},
        Convolution{.images = 3, .size = {8, 8}, .padding = 1},
        Convolution{.images = 1,
                    .channels = 32,
                    .filters = 32,
                    .size = {35},
                    .taps = {3},
                    .stride = 2,
                    .padding = 1,
                    .groups = 2}}) {
    SCOPED_TRACE(convolution.text());
    for (const Graph& graph : convolution_and_adjoints(convolution))
      in_tiles += is_right_in_tiles(graph);
  }
  EXPECT_GE(in_tiles, 10);
}

// What a triangle excludes is no number.
TEST(GpuProducts, TrianglesOfTerms) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  for (const int64_t extent : {32, 37})
    for (const char* condition : {"k <= i", "i <= k + 3", "k <= j", "j <= i"}) {
      const std::string n = std::to_string(extent);
      const Graph graph = parse_graph("def f(float(" + n + ", " + n + ") a, float(" + n + ", " + n +
                                      ") b) -> (y) {\n" +
                                      "  y(i, j) +=! a(i, k) * (b(k, j) - 0.5) where i in 0:" + n +
                                      ", j in 0:" + n + ", k in 0:" + n + ", " + condition + "\n}");
      SCOPED_TRACE(condition);
      std::vector<Array> inputs = small_inputs(graph, 3);
      for (int64_t row = 0; row < extent; ++row)
        for (int64_t column = 0; column < extent; ++column) {
          const int64_t at = row * extent + column;
          if (std::string(condition) == "k <= i" && column > row)
            inputs[0].set(at, std::numeric_limits<double>::quiet_NaN());
          if (std::string(condition) == "k <= j" && row > column)
            inputs[1].set(at, std::numeric_limits<double>::infinity());
        }
      EXPECT_TRUE(is_right_in_tiles(graph, inputs));
    }
}

// A condition may exclude elements that there are not.
TEST(GpuProducts, OperandsEndBeforeTheTerms) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  for (const char* value : {"a(i, k)", "(a(i, k) - 0.5)"})
    for (const int64_t terms : {40, 47, 64}) {
      const Graph graph = parse_graph(
          "def f(float(37, 37) a, float(37, 40) b) -> (y) {\n  y(i, j) +=! " + std::string(value) +
          " * b(k, j) where i in 0:37, j in 0:40, k in 0:" + std::to_string(terms) + ", k <= i\n}");
      SCOPED_TRACE(print(graph));
      is_right_in_tiles(graph);
    }
}

// Threads of a warp have terms and have none: they go through all, with a predicate each.
TEST(GpuProducts, ATriangleIsPredicated) {
  const Graph graph = parse_graph(
      "def f(float(512, 32) a, float(32, 32) b) -> (y) {\n"
      "  y(i, j) +=! a(i, k) * b(k, j) where i in 0:512, j in 0:32, k in 0:32, k <= j\n}");
  const std::string ptx = EmulatedProgram(default_schedule(graph, GpuMachine())).ptx();
  EXPECT_NE(ptx.find(" fma.rn.f32"), std::string::npos);
  EXPECT_EQ(ptx.find("\tfma.rn.f32"), std::string::npos) << "all have a predicate";
  EXPECT_EQ(ptx.find("selp.f32"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("ld.shared.v4.f32"), std::string::npos)
      << "shared memory is read whether a term is one or not";
}

// What is added up for results that are none is dropped when they are stored.
TEST(GpuProducts, ATriangleOfResultsIsNotPredicated) {
  const Graph graph = parse_graph(
      "def f(float(512, 32) a, float(32, 32) b) -> (y) {\n"
      "  y(i, j) +=! a(i, k) * b(k, j) where i in 0:512, j in 0:32, k in 0:32, j <= i\n}");
  const Program p = default_schedule(graph, GpuMachine());
  ASSERT_NE(p.moves_json.find("\"pipeline\""), std::string::npos);
  const std::string ptx = EmulatedProgram(p).ptx();
  EXPECT_NE(ptx.find("\tfma.rn.f32"), std::string::npos);
  EXPECT_EQ(ptx.find("inline asm"), std::string::npos);
}

TEST(GpuProducts, RandomContractionsByDefault) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  int in_tiles = 0;
  for (uint64_t seed = 1; seed <= fuzz_cases(12); ++seed) {
    SCOPED_TRACE(seed);
    in_tiles += is_right_in_tiles(RandomContraction(seed)());
  }
  EXPECT_GE(in_tiles, 4);
}

TEST(GpuProducts, ASumOfAnyRankAndWhatIsDoneToIt) {
  if (!kEmulates) GTEST_SKIP() << "there is no emulator";
  for (const char* text :
       {"def f(float(2, 16, 10, 6) x, float(16, 16, 3, 3) w, float(16) b) -> (z) {\n"
        "  y(i, o, h, l) +=! x(i, c, h + p, l + q) * w(o, c, p, q)\n"
        "  z(i, o, h, l) = max(y(i, o, h, l) + b(o), 0.0)\n}",
        "def f(float(2, 17, 3, 16) a, float(2, 3, 16, 20) b) -> (y) {\n"
        "  y(s, i, h, j) +=! exp(a(s, i, h, k)) * 0.5 * b(s, h, k, j)\n}",
        "def f(float(3, 17, 18) a, float(3, 19, 18) b) -> (y) {\n"
        "  y(i, j, s) +=! a(s, i, k) * b(s, j, k)\n}"})
    EXPECT_TRUE(is_right_in_tiles(parse_graph(text)));
  EXPECT_FALSE(is_right_in_tiles(
      parse_graph("def f(float(2, 9, 3, 16) a, float(2, 3, 16, 20) b) -> (y) {\n"
                  "  y(s, i, h, j) +=! exp(a(s, i, h, k)) * 0.5 * b(s, h, k, j)\n}")))
      << "no tile has as few rows";
}

}  // namespace
}  // namespace adjit::testing
