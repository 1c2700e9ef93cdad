// The steps of the default schedule, one by one: inlining, siblings, rows, reductions, tiles.
#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/verify.hpp"
#include "autosched/cpu/passes/fuse_producers.hpp"
#include "autosched/cpu/passes/reductions/prepare.hpp"
#include "autosched/cpu/schedule.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/passes/group_siblings.hpp"
#include "autosched/passes/inline_cheap.hpp"
#include "runtime/graph/text.hpp"
#include "runtime/process/json.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Stages = std::vector<size_t>;
using Sizes = std::vector<int64_t>;

const Target kTwo{2, 512};

TEST(Inlining, CheapBodiesGoIntoTheirReadersExpensiveOnesStay) {
  const Graph g = softmax_graph(8, 64);  // e = exp(...) is read by a sum and by y
  EXPECT_EQ(plan_inlining(plain(g)).inlined, Stages{});
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {8, 64}), w = b.input("w", {64, 32});
  const TensorId cheap =
      b.stage("cheap", {8, 64}, 2, CombinerKind::None, p.neg(b.at(x, {b.axis(0), b.axis(1)})));
  b.output(b.stage("s", {8, 64}, 1, CombinerKind::Sum, b.at(cheap, {b.axis(0), b.axis(1)})));
  EXPECT_EQ(plan_inlining(plain(b.graph)).inlined, Stages{0});
  // Into the inner loop of a product it would be evaluated 32 times.
  b.output(b.stage("c", {8, 32, 64}, 2, CombinerKind::Sum,
                   p.mul(b.at(cheap, {b.axis(0), b.axis(2)}), b.at(w, {b.axis(2), b.axis(1)}))));
  EXPECT_EQ(plan_inlining(plain(b.graph)).inlined, Stages{});
}

// Squared distances, read by rows and by columns: too large to store, cheap to compute again.
TEST(Inlining, LargeArraysReadAcrossTheirRowsAreComputedAgain) {
  const auto kernel = [](int64_t n, const std::string& across) {
    const std::string size = std::to_string(n);
    return parse_graph("def main(float(" + size + ", 3) x, float(" + size + ", 3) y, float(" +
                       size +
                       ") w) -> (a, b) {\n  d(i, j) +=! (x(i, r_k) - y(j, r_k)) * (x(i, r_k) - " +
                       "y(j, r_k))\n  e(i, j) = exp(-d(i, j))\n  a(i) +=! e(i, r_j) * w(r_j)\n" +
                       "  b(i) +=! e(" + across + ") * w(r_j)\n}");
  };
  EXPECT_EQ(sums_worth_expanding(plain(kernel(2000, "r_j, i"))), Stages{0});
  EXPECT_EQ(sums_worth_expanding(plain(kernel(100, "r_j, i"))), Stages{}) << "stays in the caches";
  const Graph crossed = kernel(2000, "r_j, i");
  const Program p = default_schedule(crossed, Target{.cores = 2, .vector_bits = 512});
  const TaskChains chains = task_chains(p);
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    const TensorInfo& info = p.graph.tensors[t];
    const bool partial = info.name.ends_with("_parts") && info.element_count() < 400000;
    EXPECT_TRUE(p.scopes[t] != Scope::Workspace || chains.slices[t] > 0 || partial ||
                info.element_count() < 100000)
        << info.name;
  }
  // Read by rows only, it is computed row by row where it is read.
  const Graph along = kernel(2000, "i, r_j");
  EXPECT_EQ(plan_inlining(plain(along)).inlined, Stages{});
}

TEST(Inlining, OutputsAreRecomputedByPointwiseReaders) {
  Builder b;
  const TensorId x = b.input("x", {64});
  const TensorId y =
      b.stage("y", {64}, 1, CombinerKind::None, b.graph.pool.make(Op::Exp, {b.at(x, {b.axis(0)})}));
  b.output(y);
  b.output(b.stage("z", {64}, 1, CombinerKind::None, b.graph.pool.neg(b.at(y, {b.axis(0)}))));
  const InliningPlan plan = plan_inlining(plain(b.graph));
  EXPECT_EQ(plan.recomputed, Stages{0});
  EXPECT_EQ(plan.inlined, Stages{});
}

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

TEST(RowGroups, SoftmaxRunsRowByRow) {
  const Graph g = softmax_graph(16, 40);
  Choices own;
  const Program p = attach_rows(plain(g), {}, {}, false, own);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(p.kernels[0].root.attached.size(), 3u);
  expect_faithful(p, g);
  // Rows that do not fit stay apart: 128 KB are 32768 floats, 64 KB of several rows at once.
  EXPECT_EQ(attach_rows(plain(softmax_graph(16, 30000)), {}, {}, false, own).kernels.size(), 1u);
  EXPECT_GT(attach_rows(plain(softmax_graph(16, 40000)), {}, {}, false, own).kernels.size(), 1u);
  const auto planes = [&](int64_t side) {
    const std::string n = std::to_string(side);
    return attach_rows(plain(parse_graph("def f(float(9, " + n + ", " + n + ") x) -> (y) {\n" +
                                         " e(b, i, j) = exp(x(b, i, j))\n s(b) +=! e(b, r, t)\n" +
                                         " y(b, i, j) = e(b, i, j) / s(b)\n}")),
                       {}, {}, false, own)
        .kernels.size();
  };
  EXPECT_EQ(planes(100), 1u);
  EXPECT_GT(planes(150), 1u);
  // Contractions want tiles of several rows.
  EXPECT_EQ(attach_rows(plain(matmul_graph(16, 16, 16)), {}, {}, false, own).kernels.size(), 1u);
}

// Windows overlap from channel to channel, so rows of all channels are what goes together.
TEST(RowGroups, LoopsOfWindowsGoInside) {
  const auto grouped = [](int64_t channels) {
    const std::string n = std::to_string(channels), last = std::to_string(channels + 1);
    Choices own;
    return attach_rows(
        plain(parse_graph("def f(float(8, " + n + ", 56, 56) x) -> (w) {\n" +
                          " y(i, j, k, l) = exp(x(i, j, k, l))\n" +
                          " z(i, j, k, l) +=! y(i, j + r - 2, k, l) where i in 0:8, j in 0:" + n +
                          ", k in 0:56, l in 0:56, r in 0:5, j + r >= 2, j + r <= " + last + "\n" +
                          " w(i, j, k, l) = z(i, j, k, l) + x(i, j, k, l)\n}")),
        {}, {}, false, own);
  };
  const Program p = grouped(64);
  ASSERT_EQ(p.kernels.size(), 1u) << print(p);
  const Nest& root = p.kernels[0].root;
  EXPECT_EQ(root.loops[1].axis, 2u) << "rows outside channels";
  ASSERT_EQ(root.attached.size(), 2u);
  EXPECT_EQ(root.attached[0].depth, 2u);
  EXPECT_EQ(root.attached[0].nest.spans, (std::vector<int64_t>{1, 64, 1, 56}));
  EXPECT_EQ(root.attached[1].depth, 3u);
  EXPECT_EQ(grouped(1024).kernels.size(), 2u) << "too much for the first cache";
}

// Sums of short rows wait for each other: those of several rows go on side by side.
TEST(RowGroups, ShortRowsGoSideBySide) {
  Choices own;
  const auto rows_at_once = [&](int64_t rows, int64_t columns) {
    const Program p = attach_rows(plain(softmax_graph(rows, columns)), {}, {}, true, own);
    return p.kernels[0].root.attached.back().nest.spans.front();
  };
  EXPECT_EQ(rows_at_once(4096, 40), 16);
  EXPECT_EQ(rows_at_once(4096, 100), 8) << "of 1,024 points";
  EXPECT_EQ(rows_at_once(4095, 40), 15) << "divides the rows";
  EXPECT_EQ(rows_at_once(4099, 40), 1) << "a prime";
  EXPECT_EQ(rows_at_once(4096, 400), 1) << "long rows keep the processor busy";
  EXPECT_EQ(rows_at_once(64, 40), 8) << "few groups leave cores idle";
  for (const auto& [rows, columns] : {std::pair{256, 40}, {255, 33}, {96, 17}}) {
    const Graph g = softmax_graph(rows, columns);
    const Program p = default_schedule(g, kTwo);
    EXPECT_NE(p.moves_json.find("interleave"), std::string::npos) << print(p);
    expect_faithful(p, g);
  }
}

// Sums of four rows are stored as four neighbours, which a load of sixteen would wait for.
TEST(RowGroups, LanesAreWhatWasStoredTogether) {
  const Graph g = parse_graph(
      "def f(float(512, 40) x) -> (y) {\n s(i) +=! x(i, r)\n t(i) = 1 / s(i)\n"
      " y(i, j) = x(i, j) * t(i)\n}");
  const Program p = default_schedule(g, {2, 512});
  const Nest* sum = nullptr;
  const Nest* inverse = nullptr;
  for (const Nest::Attached& attached : nest_of(p, stage_of(p, "y")).attached)
    (attached.nest.stage == stage_of(p, "s") ? sum : inverse) = &attached.nest;
  ASSERT_TRUE(sum && inverse) << print(p);
  int64_t together = 1;
  for (const Loop& loop : sum->loops)
    if (loop.kind == LoopKind::Unrolled && loop.axis == 0) together *= loop.trips;
  ASSERT_EQ(inverse->loops.back().kind, LoopKind::Vector) << print(p);
  EXPECT_EQ(sum->loops.back().axis, 1u) << print(p);
  EXPECT_LE(inverse->loops.back().trips, together) << print(p);
  expect_faithful(p, g);
}

size_t kernels_after_preparing(const Graph& graph, ReductionPlans& plans) {
  Choices own;
  return prepare_reductions(plain(graph), {}, {}, plans, {}, own).kernels.size();
}

// Six points of a row leave most lanes empty: stages run one after the other, lanes across rows.
TEST(RowGroups, ShortRowsAreNotAttached) {
  EXPECT_EQ(default_schedule(softmax_graph(5000, 100), kTwo).kernels.size(), 1u);
  EXPECT_GT(default_schedule(softmax_graph(5000, 6), kTwo).kernels.size(), 1u);
}

// Sums down columns read across memory where a column at a time is wanted.
TEST(RowGroups, ColumnsAreNotAttached) {
  const auto kernels = [](const char* sum) {
    const Graph g = parse_graph(std::string("def f(float(300, 300) x) -> (y) { s(i) +=! x(") + sum +
                                ") where i in 0:300, r in 0:300\n"
                                "y(i, j) = x(i, j) / (s(i) + s(j)) where i in 0:300, j in 0:300 }");
    const Program p = default_schedule(g, kTwo);
    EXPECT_NO_THROW(verify(p));
    return p.kernels.size();
  };
  EXPECT_EQ(kernels("r, i"), 2u);
  const Graph rows = parse_graph(
      "def f(float(300, 300) x) -> (y) { s(i) max=! x(i, r) where i in 0:300, r in 0:300\n"
      "y(i, j) = x(i, j) / s(i) where i in 0:300, j in 0:300 }");
  EXPECT_EQ(default_schedule(rows, kTwo).kernels.size(), 1u);
  const Graph columns = parse_graph(
      "def f(float(300, 300) x) -> (y) { s(j) max=! x(r, j) where j in 0:300, r in 0:300\n"
      "y(i, j) = x(i, j) / s(j) where i in 0:300, j in 0:300 }");
  EXPECT_EQ(default_schedule(columns, kTwo).kernels.size(), 2u);
}

// The differences d between points are contiguous along their four coordinates, sums of which run
// over all points: a row of d for one coordinate would write every fourth element.
TEST(RowGroups, RowsThatCutLinesAreNotAttached) {
  const Graph g = parse_graph(
      "def f(float(37, 611) w, float(37, 4) a, float(611, 4) b) -> (x, y) {\n"
      " d(i, j, k) = w(i, j) * exp(a(i, k) - b(j, k))\n"
      " x(i, k) +=! d(i, r, k)\n y(j, k) +=! d(r, j, k)\n}");
  const Program p = default_schedule(g, {1, 256});
  EXPECT_TRUE(nest_of(p, stage_of(p, "x")).attached.empty()) << print(p);
  expect_faithful(p, g);
}

// Lanes along what the reads have contiguous; of the results, four neighbours together.
TEST(TileChoice, TranspositionsGoInPiecesOfRows) {
  const Graph g = parse_graph(
      "def f(float(40, 24) a, float(40, 24) b) -> (y) {\n y(i, j) = a(j, i) * b(j, i) where i in "
      "0:24, j in 0:40\n}");
  const Program p = default_schedule(g, {1, 256});
  const Nest& nest = nest_of(p, stage_of(p, "y"));
  EXPECT_EQ(nest.loops.back().axis, 0U) << print(p);
  EXPECT_EQ(nest.loops.back().kind, LoopKind::Vector);
  const Loop& copies = nest.loops[nest.loops.size() - 2];
  EXPECT_EQ(copies.axis, 1U);
  EXPECT_EQ(copies.kind, LoopKind::Unrolled);
  EXPECT_EQ(copies.trips, 4);
  expect_faithful(p, g);
}

// A product of few columns still shares its rows' operand between them.
TEST(RowGroups, ThinProductsStayKernels) {
  const Graph g = parse_graph(
      "def f(float(304, 480) x, float(480, 4) w) -> (y) { p(i, j) +=! x(i, r) * w(r, j) where i in "
      "0:304, j in 0:4, r in 0:480\ny(i, j) = exp(p(i, j)) where i in 0:304, j in 0:4 }");
  EXPECT_EQ(default_schedule(g, kTwo).kernels.size(), 2u);
}

TEST(TileChoice, CopiesComeOutEven) {
  const auto copies = [](int64_t extent) {
    Builder b;
    const TensorId x = b.input("x", {10, extent});
    b.output(b.stage("y", {10, extent}, 2, CombinerKind::None,
                     b.graph.pool.make(Op::Exp, {b.at(x, {b.axis(0), b.axis(1)})})));
    const Stage& stage = b.graph.stages[0];
    return choose_pointwise_tile(
               {b.graph, stage, accesses_of(b.graph, stage), stage.domain.extents, 512, 0, false})
        .factors[1];
  };
  EXPECT_EQ(copies(48), 3);
  EXPECT_EQ(copies(80), 5);
  EXPECT_EQ(copies(16 * 7), 1);
  EXPECT_EQ(copies(16 * 61), 4);
}

TEST(PrepareReductions, PacksTransposedOperandsAndSplitsLongSums) {
  ReductionPlans plans;
  EXPECT_EQ(kernels_after_preparing(product_graph(96, 96, 96, false, false), plans), 1u);
  EXPECT_EQ(kernels_after_preparing(product_graph(96, 96, 96, false, true), plans), 2u);
  EXPECT_EQ(plans.size(), 1u);
  EXPECT_EQ(kernels_after_preparing(total_graph(2048, 1024), plans), 2u);
  EXPECT_EQ(kernels_after_preparing(conv_graph(4, 16, 14, 14, 16, 1, true), plans), 2u);
}

// A gradient of 9 x 9 taps has 81 results, but a tile with lanes of the reduction takes 18 of them.
TEST(PrepareReductions, SplitsSumsOfFewTiles) {
  const auto kernels = [](int64_t taps, int64_t side) {
    const std::string t = std::to_string(taps), n = std::to_string(side),
                      padded = std::to_string(side + taps - 1);
    ReductionPlans plans;
    return kernels_after_preparing(
        parse_graph("def f(float(" + n + ", " + n + ") g, float(" + padded + ", " + padded +
                    ") x) -> (y) {\n y(i, j) +=! g(r, s) * x(i + r, j + s) where i in 0:" + t +
                    ", j in 0:" + t + ", r in 0:" + n + ", s in 0:" + n + "\n}"),
        plans);
  };
  EXPECT_EQ(kernels(9, 512), 2u);
  EXPECT_EQ(kernels(40, 512), 1u) << "tiles enough for all cores";
  EXPECT_EQ(kernels(9, 64), 1u) << "too short";
}

// 512 rows of 2048 bytes fall into 32 sets of a second cache of 512 kB: eight lines each stay.
TEST(PrepareReductions, PacksRowsThatTheSecondCacheDoesNotHold) {
  const auto kernels = [](int64_t l2_bytes, int64_t columns) {
    ReductionPlans plans;
    Choices own;
    Target target{1, 256};
    target.l2_bytes = l2_bytes;
    target.fma_bits = 256;
    Program program = initial_program(matmul_graph(512, columns, 512), 1, 256);
    return prepare_reductions(std::move(program), target, {}, plans, {}, own).kernels.size();
  };
  EXPECT_EQ(kernels(512 << 10, 512), 2u);
  EXPECT_EQ(kernels(1 << 20, 512), 1u);
  EXPECT_EQ(kernels(512 << 10, 528), 1u);
}

TileChoice tile_of(const Graph& g, int bits) {
  const Stage& stage = g.stages[0];
  const Accesses accesses = accesses_of(g, stage);
  return choose_reduction_tile({g, stage, accesses, stage.domain.extents, bits, 0, false});
}

TEST(TileChoice, MatrixProductsFillTheRegisters) {
  const TileChoice wide = tile_of(matmul_graph(512, 512, 512), 512);
  EXPECT_EQ(wide.vector_axis, 1u);
  EXPECT_EQ(wide.lanes, 16);
  EXPECT_EQ(wide.factors, (Sizes{14, 2, 1}));
  const TileChoice narrow = tile_of(matmul_graph(512, 512, 512), 256);
  EXPECT_EQ(narrow.lanes, 8);
  EXPECT_LE(narrow.factors[0] * narrow.factors[1] + narrow.factors[1] + 1, 16);
  EXPECT_GE(narrow.factors[0] * narrow.factors[1], 8);
}

// With 16 registers its operands do not all stay in some, but it is the exponential that must not
// be computed once for each j.
TEST(TileChoice, HeavyBodiesShareFunctionsRatherThanKeepOperands) {
  const Graph g = parse_graph(
      "def f(float(3, 400) x, float(300, 3) y, float(4, 400) c, float(300, 4) b) -> (d) {\n"
      " d(i, j) +=! exp((x(0, i) - y(r, 0)) * (x(0, i) - y(r, 0)) + (x(1, i) - y(r, 1)) * (x(1, i) "
      "- y(r, 1)) + (x(2, i) - y(r, 2)) * (x(2, i) - y(r, 2))) * (c(0, i) * b(r, 0) + c(1, i) * "
      "b(r, 1) + c(2, i) * b(r, 2) + c(3, i) * b(r, 3)) * (x(j, i) - y(r, j))\n"
      " where i in 0:400, j in 0:3, r in 0:300\n}");
  for (const int bits : {128, 256, 512}) EXPECT_EQ(tile_of(g, bits).factors[1], 3) << bits;
}

TEST(TileChoice, RowsUseLanesOfTheReduction) {
  const Graph g = softmax_graph(64, 1024);  // its first stage is a max over rows
  EXPECT_EQ(tile_of(g, 512).vector_axis, 1u);
  EXPECT_EQ(tile_of(column_sum_graph(1024, 64), 512).vector_axis, 0u);
}

// Columns of a large operand, walked down a long reduction: lanes along its rows, so that blocks of
// the reduction use each line that they fetch; lanes along the 16 would fetch it for every tile.
TEST(TileChoice, LongReductionsReadWholeLines) {
  const Graph wide = parse_graph(
      "def main(float(4096, 2048) g, float(4096, 16) a) -> (d) {\n"
      "  d(i, j) +=! g(r_k, j) * a(r_k, i) where i in 0:16, j in 0:2048, r_k in 0:4096\n}");
  for (int bits : {128, 256, 512}) EXPECT_EQ(tile_of(wide, bits).vector_axis, 1u) << bits;
}

// Rows side by side take their loop apart; with many cores its inner loop is shared out, too.
TEST(Tasks, OfManyCores) {
  for (const int64_t rows : {600, 773, 1000, 4096})
    for (const int64_t columns : {5, 10, 40}) {
      const std::string shape = std::to_string(rows) + ", " + std::to_string(columns);
      const Graph graph = parse_graph("def main(float(" + shape +
                                      ") x) -> (y) {\n"
                                      "  p(i) +=! x(i, r) * x(i, r)\n"
                                      "  y(i, j) = exp(x(i, j) / sqrt(p(i) + 0.5))\n}");
      for (const int cores : {3, 12, 16, 24, 32, 48, 64, 96, 128})
        for (const int bits : {256, 512}) EXPECT_NO_THROW(default_schedule(graph, {cores, bits}));
      if (rows == 600) expect_faithful(default_schedule(graph, {64, 512}), graph);
    }
}

// Two images for two cores: halves of each end where their rows do, 255 of 256 rows would not.
TEST(Tasks, OfEqualMakespansTheEvenOnes) {
  const auto rows_of_task = [](int64_t rows) {
    const std::string n = std::to_string(rows);
    const Program p =
        default_schedule(parse_graph("def main(float(2, " + n +
                                     ", 512) x) -> (y) { y(b, i, j) = exp(sin(x(b, i, j))) "
                                     "* x(b, i, 511 - j) }"),
                         kTwoCores);
    const std::vector<Loop>& loops = nest_of(p, stage_of(p, "y")).loops;
    EXPECT_EQ(loops[1].kind, LoopKind::Parallel) << print(p);
    return loops[1].step;
  };
  EXPECT_EQ(rows_of_task(256), 128);
  EXPECT_EQ(rows_of_task(257), 256) << "no even parts: one row is left over";
}

TEST(WorkMeter, CountsSharedExpressionsOnce) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {4});
  const ExprId e = p.make(Op::Exp, {b.at(x, {b.axis(0)})});
  const ExprId roots[] = {p.mul(e, e), p.add(e, e)};
  WorkMeter meter(p);
  const Work work = meter(roots);
  EXPECT_EQ(work.nodes, 4u);  // the read, exp, *, +
  EXPECT_EQ(work.reads, 1u);
  EXPECT_EQ(work.cost, operation_cost(Op::Exp, DType::Float32) + 2);
}

TEST(WorkMeter, PowersOfQuartersAreRoots) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const ExprId x = b.at(b.input("x", {4}), {b.axis(0)});
  const auto cost = [&](double exponent) {
    return operation_cost(p, p.make(Op::Pow, {x, p.constant(exponent, DType::Float32)}));
  };
  EXPECT_EQ(cost(0.3), operation_cost(Op::Pow, DType::Float32));
  EXPECT_EQ(cost(-2.25), operation_cost(Op::Pow, DType::Float32));
  EXPECT_EQ(cost(-1), operation_cost(Op::Pow, DType::Float32)) << "no root";
  EXPECT_LT(cost(-1.75), cost(0.3));
  EXPECT_LT(cost(0.75), cost(0.3));
}

// A tile of 6 x 2 vectors waits for the lines of rows that leave the first cache; one of 14 x 2 has
// twice as many multiply-adds for them, but waits where two start in a cycle. Short reductions keep
// their rows there, unless these lie on too many pages.
TEST(Packing, SmallTilesDoNotWaitForLines) {
  const auto packed = [](int64_t rows, int vector_bits, int fma_bits = 512) {
    const std::string n = std::to_string(rows);
    const Graph graph = parse_graph("def main(float(" + n + ", 513) x, float(" + n +
                                    ", 509) y) -> (t) { t(i, j) +=! x(r, i) * y(r, j) }");
    Target target{2, vector_bits};
    target.fma_bits = fma_bits;
    const std::string text = print(default_schedule(graph, target));
    return std::pair(text.find("x_packed") != text.npos, text.find("y_packed") != text.npos);
  };
  EXPECT_EQ(packed(511, 256), std::pair(true, true));
  EXPECT_EQ(packed(511, 512), std::pair(false, false));
  EXPECT_EQ(packed(511, 512, 1024), std::pair(true, true));
  EXPECT_EQ(packed(150, 256), std::pair(false, true));
  EXPECT_EQ(packed(150, 256, 256), std::pair(false, false));
  EXPECT_EQ(packed(100, 256), std::pair(false, false));
}

}  // namespace
}  // namespace adjit::sched
