// tests/autosched/gpu/values_in_memory_test.cpp -- which values kernels compute again.
#include "autosched/gpu/values_in_memory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "autosched/gpu/fuse_rows.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

// Rows are summed, then all of them: what scales the values waits for every row.
Graph scaled(int64_t rows, int64_t columns, const std::string& value) {
  return parse_graph("def f(float(" + std::to_string(rows) + ", " + std::to_string(columns) +
                     ") x, float(" + std::to_string(rows) + ", " + std::to_string(columns) +
                     ") w) -> (y) {\n  e(i, j) = " + value +
                     "\n  s(i) +=! e(i, r)\n  t() +=! s(r)\n  y(i, j) = e(i, j) / t()\n}");
}

using Names = std::vector<std::string>;

Names found(const Graph& graph,
            std::vector<size_t> values(const Program& program, const GpuMachine& machine)) {
  Choices usual;
  const Program program = fuse_rows(initial_program(graph, kGpu), kGpu, usual);
  Names names;
  for (const size_t s : values(program, kGpu))
    names.push_back(stage_name(program.graph, program.graph.stages[s]));
  return names;
}
Names worth_recomputing(const Graph& graph) { return found(graph, values_worth_recomputing); }
Names faster_recomputed(const std::string& text) {
  return found(parse_graph("def f(" + text), values_faster_recomputed);
}

TEST(ValuesInMemory, AreComputedAgainWhereOperationsAreFewer) {
  EXPECT_EQ(worth_recomputing(scaled(8192, 32000, "exp(x(i, j))")), Names{"e"});
  EXPECT_EQ(worth_recomputing(scaled(8192, 32000, "sin(cos(sin(cos(sin(x(i, j))))))")), Names{})
      << "many operations";
  EXPECT_EQ(worth_recomputing(scaled(8192, 32000, "exp(x(i, j) * w(i, j))")), Names{})
      << "reading both again is as much";
  EXPECT_EQ(worth_recomputing(scaled(64, 1000, "exp(x(i, j))")), Names{}) << "small";
}

// A thread that computes neighbours of a window's results computes each of their terms once.
TEST(ValuesInMemory, OfWindowsAreComputedWhereThatIsFaster) {
  const auto window = [](const std::string& value) {
    return "float(64, 64, 112, 112) x) -> (y) {\n  v(n, c, i, j) = " + value +
           "\n  y(n, c, i, j) +=! v(n, c, i + p - 1, j + q - 1) where i in 0:112, j in 0:112,\n"
           "    p in 0:3, q in 0:3, i + p >= 1, i + p <= 112, j + q >= 1, j + q <= 112\n}";
  };
  EXPECT_EQ(faster_recomputed(window("x(n, c, i, j) / 9.0")), Names{"v"});
  EXPECT_EQ(faster_recomputed(window("sin(cos(sin(cos(sin(x(n, c, i, j))))))")), Names{});
}

TEST(ValuesInMemory, OfProductsStay) {
  EXPECT_EQ(faster_recomputed("float(2048, 2048) x, float(2048, 2048) w) -> (y) {\n"
                              "  v(i, k) = x(i, k) * 0.5\n  y(i, j) +=! v(i, k) * w(k, j)\n}"),
            Names{});
}

// Blocks of a product with few columns compute each value of its operand once.
TEST(ValuesInMemory, OfProductsWithFewColumnsAreComputedByTheirBlocks) {
  const auto readers = [](const std::string& columns) {
    return worth_recomputing(parse_graph(
        "def f(float(100000, 256) x, float(256, " + columns +
        ") w) -> (y, s) {\n"
        "  v(i, k) = x(i, k) * 0.5\n  y(i, j) +=! v(i, k) * w(k, j)\n  s(k) +=! v(i, k)\n}"));
  };
  EXPECT_EQ(readers("32"), Names{"v"});
  EXPECT_EQ(readers("512"), Names{}) << "eight blocks would compute each";
}

// Bodies that are too long to be joined stay apart, whatever else is computed again.
TEST(ValuesInMemory, AreStoredWhereTheirBodiesAreLong) {
  std::string text = "def f(float(4096, 4096) x0, float(4096, 4096) w) -> (y, z) {\n";
  constexpr int kLinks = 4, kNested = 200;
  for (int k = 1; k <= kLinks; ++k) {
    std::string body = "x" + std::to_string(k - 1) + "(i, j)";
    for (int n = 0; n < kNested; ++n) body = "sin(" + body + " * 0.5)";
    text += "  x" + std::to_string(k) + "(i, j) = " + body + "\n";
  }
  const Graph graph = parse_graph(text +
                                  "  e(i, j) = exp(w(i, j))\n  s(i) +=! e(i, r)\n  t() +=! s(r)\n"
                                  "  y(i, j) = x4(i, j) + 1.0\n  z(i, j) = e(i, j) / t()\n}");
  EXPECT_EQ(worth_recomputing(graph), Names{"e"});
}

// Nor are short ones joined without end.
TEST(ValuesInMemory, BodiesGrowToALimit) {
  const auto of_products = [](int products) {
    std::string value = "x(i, j)";
    for (int k = 0; k < products; ++k) value = "(" + value + " * w(i, 0) + x(i, j))";
    return worth_recomputing(scaled(8192, 32000, value));
  };
  EXPECT_EQ(of_products(10), Names{"e"});
  EXPECT_EQ(of_products(400), Names{});
}

TEST(ValuesInMemory, AreStoredWhereAReaderNeedsThemSeveralTimes) {
  EXPECT_EQ(worth_recomputing(
                parse_graph("def f(float(8192, 32000) x) -> (y) {\n  e(i, j) = exp(x(i, j))\n"
                            "  s(i) +=! e(i, r)\n  t() +=! s(r)\n"
                            "  y(i, j) = e(i, j) / t() + e(i, j + 1) where i in 0:8192, j in "
                            "0:31999\n}")),
            Names{});
}

TEST(ValuesInMemory, TheDefaultScheduleComputesThemAgain) {
  const Graph graph = scaled(8192, 32000, "exp(x(i, j))");
  const Program program = default_schedule(graph, kGpu);
  for (const Stage& stage : program.graph.stages) EXPECT_NE(stage_name(program.graph, stage), "e");
}

// Where memory is as slow as that, nothing is too small.
TEST(ValuesInMemory, MeanTheSame) {
  const GpuMachine far{.multiprocessors = 2, .threads = 512, .memory_gb = 1e-3};
  for (const char* value : {"exp(x(i, j))", "exp(x(i, j) * w(i, 0))"}) {
    const Graph graph = scaled(40, 100, value);
    const Program program = default_schedule(graph, far);
    for (const Stage& stage : program.graph.stages)
      EXPECT_NE(stage_name(program.graph, stage), "e");
    testing::expect_same_results(graph, program, 1);
  }
}

// What a value gives its two neighbours is computed by these: one array goes through memory.
TEST(ValuesInMemory, PartsOfAValueAreComputedByTheirReaders) {
  const auto graph = [](int64_t rows, const std::string& weight) {
    const std::string n = std::to_string(rows);
    return parse_graph(
        "def f(float(" + n + ", 4096) x) -> (y, z) {\n" +
        "  v(i, j) +=! x(i, j) * x(r, j) where i in 0:" + n +
        ", j in 0:4096, r in 0:64\n  (p, q)(i, j) = (v(i, j) * " + weight + ", v(i, j) * (1.0 - " +
        weight + "))\n  y(i, j) = p(i, 2 * j) where i in 0:" + n +
        ", j in 0:2048\n  z(i, j) = q(i, 2 * j + 1) where i in 0:" + n + ", j in 0:2048\n}");
  };
  const auto parts = [&](const Graph& g) {
    return values_of_fewer_operands(initial_program(g, kGpu), kGpu);
  };
  const std::string weight = "(float(j % 4) / 4.0)";
  EXPECT_EQ(parts(graph(4096, weight)), std::vector<size_t>{1});
  EXPECT_EQ(parts(graph(64, weight)), std::vector<size_t>{}) << "small";
  EXPECT_EQ(parts(graph(4096, "sin(cos(sin(cos(sin(x(i, j))))))")), std::vector<size_t>{})
      << "another operand";
  const GpuMachine far{.multiprocessors = 2, .threads = 512, .memory_gb = 1e-3};
  const Graph small = graph(64, weight);
  const Program program = default_schedule(small, far);
  for (const Stage& stage : program.graph.stages) EXPECT_NE(stage_name(program.graph, stage), "p");
  testing::expect_same_results(small, program, 1);
}

// Parts of parts would be computed again for each of them.
TEST(ValuesInMemory, PartsOfPartsAreStored) {
  std::string text = "def f(float(4096, 4096) p0) -> (y, z) {\n", sum;
  for (int k = 1; k <= 4; ++k) {
    const std::string n = std::to_string(k), before = std::to_string(k - 1);
    text += "  (p" + n + ", q" + n + ")(i, j) = (p" + before + "(i, j) * 2.0, p" + before +
            "(i, j) * 3.0)\n";
    sum += (k > 1 ? " + " : "") + ("q" + n + "(i, 2 * j)");
  }
  const Graph graph =
      parse_graph(text + "  y(i, j) = " + sum +
                  " where i in 0:4096, j in 0:2048\n  z(i, j) = p4(i, 2 * j) where i "
                  "in 0:4096, j in 0:2048\n}");
  EXPECT_EQ(values_of_fewer_operands(initial_program(graph, kGpu), kGpu),
            (std::vector<size_t>{0, 2}));
}

// Each value is made of the one before: to compute all of them again is more and more work.
TEST(ValuesInMemory, ChainsAreStoredNowAndThen) {
  std::string text = "def f(float(8192, 8192) a0) -> (y) {\n";
  constexpr int kLinks = 12;
  for (int k = 1; k <= kLinks; ++k) {
    const std::string n = std::to_string(k), before = std::to_string(k - 1);
    text += "  a" + n + "(i, j) = exp(a" + before + "(i, j)" +
            (k == 1 ? "" : " / t" + before + "()") + ")\n  r" + n + "(i) +=! a" + n +
            "(i, q)\n  t" + n + "() +=! r" + n + "(q)\n";
  }
  const std::string last = std::to_string(kLinks);
  const Names again =
      worth_recomputing(parse_graph(text + "  y(i, j) = a" + last + "(i, j) / t" + last + "()\n}"));
  EXPECT_GE(again.size(), 4u);
  EXPECT_LE(again.size(), 9u);
}

}  // namespace
}  // namespace adjit::sched
