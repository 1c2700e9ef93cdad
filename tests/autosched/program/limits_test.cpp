// tests/autosched/program/limits_test.cpp -- moves that go too far are refused.
#include "autosched/program/limits.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Steps = std::vector<int64_t>;

TEST(Limits, LanesAndCopies) {
  const Graph g = matmul_graph(66, 80, 64);
  const Program p = plain(g);
  for (int64_t lanes : {int64_t{-16}, int64_t{0}, int64_t{1}, int64_t{128}, int64_t{1} << 16,
                        int64_t{1} << 30, int64_t{1} << 32, int64_t{1} << 40, INT64_MIN})
    expect_refused([&] { vectorize(p, 0, 1, lanes); }, "a power of two, 2 to 64");
  expect_faithful(vectorize(p, 0, 1, kLaneLimit), g);
  for (int64_t factor : {int64_t{-2}, int64_t{1}, int64_t{65}, INT64_MAX})
    expect_refused([&] { unroll(p, 0, 0, factor); }, "2 to 64");
  const Program copies = unroll(unroll(p, 0, 0, 64), 0, 1, 8);
  expect_refused([&] { unroll(copies, 0, 2, 2); }, "1024 copies of 1 lanes");
  expect_refused([&] { vectorize(copies, 0, 2, 64); }, "512 copies of 64 lanes");
  EXPECT_NO_THROW(vectorize(copies, 0, 2, 16));
}

TEST(Limits, StepsPastTheAxis) {
  const Graph g = matmul_graph(10, 6, 5);
  const Program p = plain(g);
  expect_faithful(tile(p, 0, 0, Steps{12, 4}), g);  // three of 4 cover it
  expect_faithful(tile(p, 0, 0, Steps{kStepLimit}), g);
  for (const Steps& steps : {Steps{2 * kStepLimit}, Steps{2 * kStepLimit, 4}, Steps{INT64_MAX},
                             Steps{int64_t{1} << 62, 2}})
    expect_refused([&] { tile(p, 0, 0, steps); }, "too far past the axis");
  const Program long_rows = plain(matmul_graph(5000, 1, 1));
  EXPECT_NO_THROW(tile(long_rows, 0, 0, Steps{5004, 12}));
  expect_refused([&] { tile(long_rows, 0, 0, Steps{5016, 12}); }, "too far past the axis");
}

TEST(Limits, LoopsOfANest) {
  Program p = plain(matmul_graph(4, 4, 4));
  while (p.kernels[0].root.loops.size() < kLoopLimit) p = tile(std::move(p), 0, 0, Steps{1});
  expect_refused([&] { tile(p, 0, 0, Steps{1}); }, "64 loops already");
  expect_refused([&] { unroll(p, 0, 1, 2); }, "64 loops already");
  expect_refused([&] { vectorize(p, 0, 2, 2); }, "64 loops already");
}

// Sums of neighbours, each in the loop of those that read it.
TEST(Limits, NestsInNests) {
  Builder b;
  constexpr size_t kStages = kNestingLimit + 2;
  TensorId t = b.input("x", {2 * kStages});
  for (size_t k = 0; k < kStages; ++k) {
    const ExprId next = b.graph.pool.add(b.axis(0), b.integer(1));
    t = b.stage("t", {static_cast<int64_t>(2 * kStages - 1 - k)}, 1, CombinerKind::None,
                b.graph.pool.add(b.at(t, {b.axis(0)}), b.at(t, {next})));
  }
  b.output(t);
  Program p = plain(b.graph);
  for (size_t s = kStages - 1; s > 1; --s) p = compute_at(std::move(p), s - 1, s, 1);
  verify(p);
  expect_refused([&] { compute_at(p, 0, 1, 1); }, "inside too many others");
}

TEST(Limits, AxesOfAStage) {
  Program p = plain(matmul_graph(4, 4, 4));
  const auto split = [&] {
    p = split_axis(std::move(p), std::vector<StageAxis>{{0, 0}}, Steps{1});
  };
  const auto axes = [&] { return p.graph.stages[0].domain.rank(); };
  while (axes() < kAxisLimit) split();
  expect_refused(split, "257 axes; at most 256");
}

TEST(Limits, CopiesOfAnOperand) {
  const Graph g = matmul_graph(40, 50, 60);
  const Program p = plain(g);
  const TensorId b = g.inputs[1];
  const auto packed = [&](Packing packing) { return [&p, b, packing] { pack(p, 0, b, packing); }; };
  const std::vector<PackedDimension> rows{{0, 1, 0}, {1, 1, 0}};
  expect_refused(packed({rows, {9000, 0}, {}}), "64 times the elements");
  expect_refused(packed({rows, {0, 0}, {0, int64_t{1} << 40}}), "64 times the elements");
  expect_refused(packed({rows, {INT64_MAX, 0}, {INT64_MAX, 0}}), "too large");
  expect_refused(packed({rows, {0, -1}, {}}), "negative");
  expect_refused(packed({rows, {1}, {}}), "for every dimension");
  expect_refused(packed({rows, {}, {0, 0, 0}}), "for every dimension");
  const int64_t large = int64_t{1} << 62;
  expect_refused(packed({{{0, large, 0}, {0, 1, large}, {1, 1, 0}}, {}, {}}), "64 times");
  expect_faithful(pack(p, 0, b, {rows, {3, 0}, {0, 2}}), g);
}

TEST(Limits, GapsBehindRows) {
  const Graph g = parse_graph(
      "def main(float(1000, 1) x) -> (y) {\n  a(i, j) = x(i, j) * 2\n  y(i, j) = a(i, j) + 1\n}");
  expect_refused([&] { pad_leading_dimension(plain(g), 0, 4096); }, "64 times its elements");
  expect_faithful(pad_leading_dimension(plain(g), 0, 16), g);
}

// Each point of a stage reads two of the one before: inlined, k of them read 2^k.
Graph halves(int stages) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  int64_t points = int64_t{1} << stages;
  TensorId t = b.input("x", {points});
  while (points > 1) {
    points /= 2;
    const ExprId even = pool.mul(b.axis(0), b.integer(2));
    t = b.stage("t", {points}, 1, CombinerKind::None,
                pool.mul(b.at(t, {even}), b.at(t, {pool.add(even, b.integer(1))})));
  }
  b.output(t);
  return b.graph;
}

TEST(Limits, NodesOfABody) {
  const auto inlined = [](int stages) {
    const Program p = plain(halves(stages));
    std::vector<size_t> all;
    for (size_t s = 0; s + 1 < p.graph.stages.size(); ++s) all.push_back(s);
    return inline_stages(p, all);
  };
  EXPECT_EQ(inlined(8).graph.stages.size(), 1u);
  expect_refused([&] { inlined(20); }, "a body of more than 262144 nodes");
}

TEST(Limits, TheDefaultScheduleKeepsStagesThatWouldDouble) {
  const Graph g = halves(14);
  const Program p = default_schedule(g, kTwoCores);
  EXPECT_GT(p.graph.stages.size(), 1u);
  EXPECT_LT(p.graph.pool.size(), 20'000u);
  verify(p);
}

}  // namespace
}  // namespace adjit::sched
