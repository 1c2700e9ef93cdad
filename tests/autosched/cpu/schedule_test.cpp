// The default schedule: golden prints (ADJIT_UPDATE_GOLDEN=1 rewrites the files), meaning, size and
// time.
#include "autosched/cpu/schedule.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "autosched/analysis/verify.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/random_moves.hpp"
#include "tests/autosched/same_results.hpp"
#include "tests/node_order.hpp"

namespace adjit::sched {
namespace {

Graph tiny_graph() {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {16});
  const TensorId s =
      b.stage("s", {16}, 1, CombinerKind::None, p.make(Op::Sin, {b.at(x, {b.axis(0)})}));
  b.output(b.stage("y", {16}, 1, CombinerKind::None,
                   p.add(b.at(s, {b.axis(0)}), p.make(Op::Cos, {b.at(x, {b.axis(0)})}))));
  return b.graph;
}

void expect_golden(const char* name, const Graph& graph) {
  if (testing::kNodesInAnotherOrder) GTEST_SKIP() << "recorded with g++";
  const std::string text = print(default_schedule(graph, kTwoCores));
  const std::string path = std::string(ADJIT_TEST_SOURCE_DIR) + "/golden/" + name + ".txt";
  if (std::getenv("ADJIT_UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ostringstream stored;
  stored << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, stored.str()) << "set ADJIT_UPDATE_GOLDEN=1 to accept";
}

TEST(HeuristicGolden, Matmul) { expect_golden("matmul_512", matmul_graph(512, 512, 512)); }
TEST(HeuristicGolden, MatmulPackedAndBlocked) {
  expect_golden("matmul_2048", matmul_graph(2048, 2048, 2048));
}
TEST(HeuristicGolden, MatmulOfFewRowsStreamsTheOperand) {
  expect_golden("matmul_16_rows", matmul_graph(16, 2048, 1100));
}
TEST(HeuristicGolden, MatmulOfMoreRowsCopiesPanels) {
  expect_golden("matmul_64_rows", matmul_graph(64, 8192, 1100));
}
TEST(HeuristicGolden, MatmulOfTransposed) {
  expect_golden("matmul_nt", product_graph(512, 512, 512, false, true));
  expect_golden("matmul_tn", product_graph(512, 512, 512, true, false));
}
TEST(HeuristicGolden, Convolution) {
  expect_golden("conv", conv_graph(8, 64, 28, 28, 64, 1, true));
  expect_golden("conv_s2", conv_graph(8, 64, 56, 56, 128, 2, true));
}
TEST(HeuristicGolden, Rows) { expect_golden("softmax", softmax_graph(4096, 1024)); }
TEST(HeuristicGolden, LongSums) {
  expect_golden("column_sum", column_sum_graph(4096, 1024));
  expect_golden("total_sum", total_graph(4096, 1024));
}
TEST(HeuristicGolden, Elementwise) {
  expect_golden("chain", chain(8, 1 << 20));
  expect_golden("tiny", tiny_graph());
}

TEST(Heuristic, MeansTheGraph) {
  for (const Graph& g : {matmul_graph(13, 37, 21), matmul_graph(64, 64, 64), matmul_graph(1, 1, 1),
                         matmul_graph(1, 40, 3), softmax_graph(9, 21), softmax_graph(40, 33),
                         conv_graph(2, 3, 7, 9, 5), conv_graph(1, 4, 8, 8, 18, 2),
                         conv_graph(2, 6, 9, 9, 20, 1, true), conv_graph(2, 6, 9, 9, 20, 2, true),
                         tiny_graph(), chain(1200, 3)})
    expect_faithful(default_schedule(g, kTwoCores), g);
}

// Large enough for packing, blocks, partial results and tasks.
TEST(Heuristic, MeansTheGraphWhereItRewritesIt) {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      const Graph g = product_graph(50, 40, 96, a, b);
      expect_faithful(default_schedule(g, kTwoCores), g);
    }
  for (const Graph& g : {column_sum_graph(600, 256), total_graph(600, 500),
                         product_graph(20, 40, 1100, false, true)})
    expect_faithful(default_schedule(g, kTwoCores), g);
}

TEST(Heuristic, MeansTheGraphWithPanels) {
  const CpuMachine small{.cores = 2, .l2_bytes = 16 << 10};
  for (const Graph& g : {matmul_graph(8, 1100, 250), matmul_graph(9, 1031, 200)}) {
    const Program p = default_schedule(g, small);
    EXPECT_EQ(p.kernels.size(), 1U);
    EXPECT_EQ(p.kernels[0].root.attached.size(), 1U);
    expect_faithful(p, g);
  }
}

TEST(Heuristic, MeansTheGraphWithAStreamedOperand) {
  const CpuMachine small{.cores = 2, .l2_bytes = 16 << 10};
  for (const Graph& g : {matmul_graph(8, 300, 250), matmul_graph(9, 331, 200)}) {
    const Program p = default_schedule(g, small);
    EXPECT_EQ(p.kernels.size(), 1U);
    EXPECT_TRUE(p.kernels[0].root.ahead.has_value()) << print(p);
    expect_faithful(p, g);
  }
}

// The channels of a group share its part of the image, where the axis of all channels is taken
// apart by them.
TEST(Heuristic, GroupsShareTheirOperand) {
  const auto grouped = [](int64_t groups, int64_t inputs, int64_t outputs, int64_t size) {
    const std::string c = std::to_string(inputs), k = std::to_string(outputs),
                      n = std::to_string(size), padded = std::to_string(size + 2);
    return parse_graph("def f(float(2, " + std::to_string(groups * inputs) + ", " + padded + ", " +
                       padded + ") x, float(" + std::to_string(groups * outputs) + ", " + c +
                       ", 3, 3) w) -> (y) { y(i, j, k, l) +=! x(i, r_c + j // " + k + " * " + c +
                       ", k + r_a, l + r_b) * w(j, r_c, r_a, r_b) where i in 0:2, j in 0:" +
                       std::to_string(groups * outputs) + ", k in 0:" + n + ", l in 0:" + n +
                       ", r_c in 0:" + c + ", r_a in 0:3, r_b in 0:3 }");
  };
  const Graph g = grouped(3, 8, 12, 14);
  const Program p = default_schedule(g, kTwoCores);
  EXPECT_NE(print(p).find("float(2, 3, 12, 14, 14) y_residues"), std::string::npos) << print(p);
  const Nest& nest = nest_of(p, stage_of(p, "y_residues"));
  EXPECT_TRUE(std::ranges::any_of(nest.loops, [](const Loop& loop) {
    return loop.axis == 2 && loop.kind == LoopKind::Unrolled;
  })) << print(p);
  const Program few = default_schedule(grouped(6, 2, 12, 14), kTwoCores);
  EXPECT_EQ(print(few).find("residues"), std::string::npos) << "a sum of 18 terms";
  const Program enough = default_schedule(grouped(6, 3, 12, 14), kTwoCores);
  EXPECT_NE(print(enough).find("residues"), std::string::npos) << "a sum of 27 terms";
  expect_faithful(default_schedule(grouped(2, 8, 6, 7), kTwoCores), grouped(2, 8, 6, 7));
}

// Rows that lie across the lanes are taken in pieces, unless something is computed at their loop.
TEST(Heuristic, TransposedRowsWithWhatIsAttachedToThem) {
  const Graph g = parse_graph(
      "def main(float(40, 24) x) -> (y) {\n m(i) max=! x(r, i)\n e(i, j) = exp(x(j, i) - m(i))\n"
      " n(i) +=! e(i, r)\n y(i, j) = e(i, j) / n(i) + x(j, i)\n}");
  expect_faithful(default_schedule(g, kTwoCores), g);
}

// The adjoint of a convolution of stride 2: by residues, with zeros around the operand in place of
// conditions on the image, so that tiles run along the image; the taps, of which residues have one
// or two, go outside the channels.
TEST(Heuristic, StridedAdjointsAreDenseInsideTheirTaps) {
  const Graph g = parse_graph(
      "def f(float(1, 16, 8, 8) g, float(16, 8, 3, 3) w) -> (d) {\n"
      " d(i, j, k, l) +=! g(i, r_m, r_n * -1 + (k + 1) // 2, r_o * -1 + (l + 1) // 2) * w(r_m, j, "
      "r_n * 2 + k - (k + 1) // 2 * 2 + 1, r_o * 2 + l - (l + 1) // 2 * 2 + 1)\n"
      " where i in 0:1, j in 0:8, k in 0:16, l in 0:16, r_m in 0:16, r_n in 0:2, r_o in 0:2, q0 = "
      "(k + 1) // 2, q1 = (l + 1) // 2, r_n + 7 >= q0, r_o + 7 >= q1, 2*q0 + 1 >= k + 2*r_n, 2*q1 "
      "+ "
      "1 >= l + 2*r_o\n}");
  for (const int bits : {256, 512}) {
    const Program p = default_schedule(g, CpuMachine{1, bits});
    const std::string graph = print(p.graph), text = print(p);
    EXPECT_NE(graph.find("g_packed(i, j, k, l) = g("), std::string::npos) << graph;
    EXPECT_EQ(graph.find("w_packed(i, j, k, l) ="), std::string::npos) << graph;  // no zeros there
    const size_t kernel = text.find(" d_residues_residues (workspace)"),
                 end = text.find("kernel", kernel);
    const std::string nest = text.substr(kernel, end - kernel);
    EXPECT_NE(nest.find("unrolled"), std::string::npos) << nest;
    const size_t channels = nest.find("serial r_o in 0:16\n");
    EXPECT_NE(channels, std::string::npos) << nest;
    EXPECT_LT(nest.find("serial r_p in 0:2\n"), channels) << nest;
    EXPECT_LT(nest.find("serial r_q in 0:2\n"), channels) << nest;
    expect_faithful(p, g);
  }
}

// Without taps but the middle one, three residues of four have no term: zeros around the weights
// would make four times the products.
TEST(Heuristic, StridedAdjointsOfOneTapMultiplyNoZeros) {
  const Graph g = parse_graph(
      "def f(float(2, 32, 8, 8) g, float(32, 16, 1, 1) w) -> (d) {\n"
      " d(i, j, k, l) +=! g(i, r_m, k // 2, l // 2) * w(r_m, j, k - k // 2 * 2, l - l // 2 * 2)\n"
      " where i in 0:2, j in 0:16, k in 0:16, l in 0:16, r_m in 0:32, q0 = k // 2, q1 = l // 2, "
      "2*q0 >= k, 2*q1 >= l\n}");
  for (const int bits : {256, 512}) {
    const Program p = default_schedule(g, CpuMachine{1, bits});
    for (const TensorInfo& tensor : p.graph.tensors)
      EXPECT_EQ(tensor.shape == (std::vector<int64_t>{32, 16, 2, 2}), false) << print(p.graph);
    expect_faithful(p, g);
  }
}

// A channel has its own weights, read few times: nothing is packed, so the batch, which only a
// packed operand has contiguous, is no axis for the lanes. Along the image reads divide it.
TEST(Heuristic, StridedAdjointsOfChannelsAreTakenApart) {
  const Graph g = parse_graph(
      "def f(float(8, 4, 9, 9) g, float(4, 1, 3, 3) w) -> (d) {\n"
      " d(i, j, k, l) +=! g(i, j, r_m * -1 + (k + 1) // 2, r_n * -1 + (l + 1) // 2) * w(j, 0, "
      "r_m * 2 + k - (k + 1) // 2 * 2 + 1, r_n * 2 + l - (l + 1) // 2 * 2 + 1)\n"
      " where i in 0:8, j in 0:4, k in 0:17, l in 0:17, r_m in 0:2, r_n in 0:2, q0 = (k + 1) // 2, "
      "q1 = (l + 1) // 2, r_m + 8 >= q0, r_n + 8 >= q1, 2*q0 + 1 >= k + 2*r_m, 2*q1 + 1 >= l + "
      "2*r_n\n}");
  const Program p = default_schedule(g, CpuMachine{1, 256});
  EXPECT_NE(print(p).find(" d_residues (workspace)"), std::string::npos) << print(p);
  expect_faithful(p, g);
}

// The groups of a convolution divide its channels, which have no zeros around them: its image has.
TEST(Heuristic, GroupedAdjointsHaveZerosAroundTheImage) {
  const Graph g = parse_graph(
      "def f(float(2, 16, 12, 12) g, float(16, 8, 3, 3) w) -> (d) {\n"
      " d(i, j, k, l) +=! g(i, r_m + j // 4 * 8, r_n * -1 + k + 1, r_o * -1 + l + 1) * w(r_m + j "
      "// 4 "
      "* 8, j - j // 4 * 4, r_n, r_o)\n"
      " where i in 0:2, j in 0:8, k in 0:12, l in 0:12, r_m in 0:8, r_n in 0:3, r_o in 0:3, k + 1 "
      ">= "
      "r_n, r_n + 10 >= k, l + 1 >= r_o, r_o + 10 >= l\n}");
  for (const int bits : {256, 512}) {
    const Program p = default_schedule(g, CpuMachine{1, bits});
    const std::string graph = print(p.graph);
    EXPECT_NE(graph.find("i in 0:2, j in 0:16, k in 0:14, l in 0:14"), std::string::npos) << graph;
    for (const Stage& stage : p.graph.stages) EXPECT_TRUE(stage.domain.inequalities.empty());
    expect_faithful(p, g);
  }
}

TEST(Heuristic, EmptyAndScalarGraphs) {
  for (const Graph& g :
       {matmul_graph(0, 5, 4), matmul_graph(5, 0, 4), matmul_graph(5, 4, 0), softmax_graph(0, 4)})
    expect_faithful(default_schedule(g, kTwoCores), g);
}

TEST(Heuristic, OlderVectorsFitTheirRegisters) {
  for (int bits : {128, 256}) {
    const Graph g = matmul_graph(64, 64, 64);
    const Program p = default_schedule(g, CpuMachine{2, bits});
    const Nest& nest = p.kernels.back().root;
    int64_t accumulators = 1;
    for (size_t l = tile_begin(nest); l < nest.loops.size(); ++l)
      if (nest.loops[l].kind == LoopKind::Unrolled) accumulators *= nest.loops[l].trips;
    EXPECT_LE(accumulators, 14);
    EXPECT_EQ(nest.loops.back().trips, bits / 32);
  }
}

// Growth is linear; the time is printed, not asserted.
TEST(Heuristic, ChainOfTenThousand) {
  for (int length : {1000, 3000, 10000}) {
    const Graph g = chain(length, 1000);
    const auto start = std::chrono::steady_clock::now();
    const Program p = default_schedule(g, kTwoCores);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    std::printf("chain of %d: %zu kernels, %.1f ms\n", length, p.kernels.size(), took.count());
    EXPECT_LE(p.kernels.size(), static_cast<size_t>(length) / 250 + 1);
    verify(p);
  }
}

// The copies of one output meet the window's last axis in order; its first one stays a loop.
TEST(Heuristic, LastTapsOfAWindowsMaximumAreUnrolled) {
  const Graph graph = parse_graph(
      "def f(float(16, 56, 56) x) -> (v, at) {"
      " (v, at)(n, i, j) argmax=! (x(n, 2 * i + a - 1, 2 * j + b - 1), int32(3 * a + b))"
      " where n in 0:16, i in 0:28, j in 0:28, a in 0:3, b in 0:3, 2 * i + a >= 1, 2 * j + b >= 1 "
      "}");
  const Program p = default_schedule(graph, CpuMachine{2, 256});
  verify(p);
  const Nest& nest = nest_of(p, 0);
  const auto unrolled = [&](size_t axis) {
    return std::ranges::any_of(nest.loops, [&](const Loop& loop) {
      return loop.axis == axis && loop.kind == LoopKind::Unrolled;
    });
  };
  EXPECT_TRUE(unrolled(4)) << print(p);
  EXPECT_FALSE(unrolled(3)) << print(p);
  EXPECT_EQ(nest.loops.back().trips, 8) << "lanes of 32 bits";
}

// Rows of axes one of which has no points.
TEST(Heuristic, RowsOfEmptyAxes) {
  for (const char* extents : {"0 8 8", "8 0 8", "8 8 0"}) {
    const auto at = [&](size_t k) { return std::string(1, extents[2 * k]); };
    const Graph graph =
        parse_graph("def f(float(" + at(0) + ", " + at(2) + ") w, float(" + at(2) + ", " + at(1) +
                    ") x) -> (y) { y(j, i) +=! w(j, r) * x(r, i) where j in 0:" + at(0) +
                    ", i in 0:" + at(1) + ", r in 0:" + at(2) + ", r + j <= 50, r - j <= 3 }");
    const Program p = default_schedule(graph, CpuMachine{.cores = 2, .vector_bits = 256});
    expect_faithful(p, graph);
    const LoweredGraph lowered(graph);
    const Stage& stage = lowered.stages[0];
    const Accesses accesses = accesses_of(lowered, stage);
    const CpuMachine machine{.vector_bits = 256};
    const TileProblem problem{lowered, stage, accesses, stage.domain.extents, machine, 0, true};
    choose_reduction_tile(problem);
  }
}

void expect_scheduled(const Graph& graph, const Program& program, uint64_t seed) {
  EXPECT_TRUE(fallbacks_of(program).empty()) << "seed " << seed << ": " << program.fallbacks[0];
  testing::expect_same_results(graph, program, seed);
  const Program again = replay(graph, program.moves_json, program.target);
  ASSERT_EQ(print(again), print(program));
}

TEST(RandomGraphs, DefaultScheduleMeansTheGraph) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(60); ++seed) {
    const Graph graph = testing::random_graph(
        seed,
        {.stages = 7, .scatters = true, .custom_combiners = true, .zero_extents = seed % 4 == 0});
    expect_scheduled(graph, default_schedule(graph, CpuMachine{2, seed % 2 == 0 ? 512 : 256}),
                     seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, DefaultScheduleOfSeveralReductionsOfTheSameElements) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(60); ++seed) {
    const Graph graph = testing::random_graph(
        seed, {.stages = 7, .max_extent = seed % 3 == 0 ? 17 : 6, .reduced_again = true});
    expect_scheduled(graph, default_schedule(graph, CpuMachine{2, seed % 2 == 0 ? 512 : 256}),
                     seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, DefaultScheduleOfWhatSharesBuffers) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(250); ++seed) {
    const Graph graph = testing::random_graph(
        seed, {.stages = 6, .max_extent = seed % 3 == 0 ? 9 : 5, .sharing = true});
    expect_scheduled(graph, default_schedule(graph, CpuMachine{2, seed % 2 == 0 ? 512 : 256}),
                     seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace adjit::sched
