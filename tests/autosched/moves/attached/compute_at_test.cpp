#include "autosched/program/required_region.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Steps = std::vector<int64_t>;

Program attach(Program p, const char* stage, const char* host, size_t depth) {
  const size_t s = stage_of(p, stage), h = stage_of(p, host);
  return compute_at(std::move(p), s, h, depth);
}

TEST(ComputeAt, RowsOfSoftmax) {
  const Graph g = softmax_graph(6, 9);
  Program p = plain(g);
  for (const char* name : {"s", "e", "m"}) p = attach(std::move(p), name, "y", 1);
  ASSERT_EQ(p.kernels.size(), 1u);
  const Nest& y = p.kernels[0].root;
  ASSERT_EQ(y.attached.size(), 3u);
  EXPECT_EQ(y.attached[1].nest.spans, (Steps{1, 9}));
  EXPECT_EQ(p.scopes[p.graph.stages[1].results[0].value], Scope::Local);
  expect_faithful(p, g);
  p = vectorize(p, stage_of(p, "y"), 1, 4);
  p = vectorize(p, stage_of(p, "s"), 1, 4);
  p = parallel(p, stage_of(p, "y"), 1);
  expect_faithful(p, g);
}

TEST(ComputeAt, WhatAScatterReads) {
  const Graph g = parse_graph(
      "def f(float(6, 9) x, int64(6, 9) n) -> (h) {\n"
      "  v(i, j) = x(i, j) * 2.0\n  t(i, j) = n(i, j) % 4\n"
      "  scatter float(4, 9) h(t(i, j), j) +=! v(i, j) where i in 0:6, j in 0:9\n}");
  Program p = plain(g);
  p = attach(std::move(p), "v", "h", 1);
  p = attach(std::move(p), "t", "h", 1);
  EXPECT_EQ(p.scopes[p.graph.stages[stage_of(p, "v")].results[0].value], Scope::Local);
  expect_faithful(p, g);
  p = vectorize(p, stage_of(p, "h"), 1, 4);
  p = vectorize(p, stage_of(p, "v"), 1, 4);
  expect_faithful(p, g);
  Graph returned = g;
  returned.outputs.push_back(returned.stages[0].results[0]);
  expect_refused([&] { attach(plain(returned), "v", "h", 1); }, "the host is a scatter");
  expect_refused([&] { attach(plain(g), "h_start", "h", 1); }, "nothing in the host reads it");
}

TEST(ComputeAt, TilingTheHostAfterwardsMovesRegionsAlong) {
  const Graph g = softmax_graph(7, 9);
  Program p = plain(g);
  for (const char* name : {"s", "e", "m"}) p = attach(std::move(p), name, "y", 1);
  p = tile(p, stage_of(p, "y"), 0, Steps{4});
  EXPECT_EQ(p.kernels[0].root.attached[0].depth, 2u);
  expect_faithful(p, g);
}

TEST(ComputeAt, RowsOfSeveralAtOnce) {
  const Graph g = softmax_graph(7, 9);
  Program p = tile(plain(g), 3, 0, Steps{4});
  for (const char* name : {"s", "e", "m"}) p = attach(std::move(p), name, "y", 1);
  EXPECT_EQ(p.kernels[0].root.attached[1].nest.spans, (Steps{4, 9}));
  expect_faithful(p, g);
}

TEST(ComputeAt, StencilRegionsReachOverTheTile) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {20});
  const TensorId t =
      b.stage("t", {18}, 1, CombinerKind::None,
              pool.add(b.at(x, {b.axis(0)}), b.at(x, {pool.add(b.axis(0), b.integer(2))})));
  const TensorId y =
      b.stage("y", {16}, 1, CombinerKind::None,
              pool.add(b.at(t, {b.axis(0)}), b.at(t, {pool.add(b.axis(0), b.integer(2))})));
  b.output(y);
  Program p = tile(plain(b.graph), 1, 0, Steps{5});
  p = attach(std::move(p), "t", "y", 1);
  const Nest& nest = p.kernels[0].root.attached[0].nest;
  EXPECT_EQ(nest.spans, (Steps{7}));
  EXPECT_EQ(nest.axis_base[0], Affine::variable(p.kernels[0].root.loops[0].variable));
  expect_faithful(p, b.graph);
}

TEST(ComputeAt, MatmulTileAndStridedReads) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {8, 20}), w = b.input("w", {20, 9});
  const TensorId u =
      b.stage("u", {8, 20}, 2, CombinerKind::None, pool.neg(b.at(x, {b.axis(0), b.axis(1)})));
  const ExprId odd = pool.add(pool.mul(b.axis(2), b.integer(2)), b.integer(1));
  b.output(b.stage("c", {8, 9, 10}, 2, CombinerKind::Sum,
                   pool.mul(b.at(u, {b.axis(0), odd}), b.at(w, {b.axis(2), b.axis(1)}))));
  Program p = tile(plain(b.graph), 1, 0, Steps{3});
  p = tile(std::move(p), 1, 2, Steps{4});
  p = reorder(std::move(p), 1, std::vector<size_t>{0, 3, 1, 2, 4});
  p = attach(std::move(p), "u", "c", 2);
  EXPECT_EQ(p.kernels[0].root.attached[0].nest.spans, (Steps{3, 7}));
  expect_faithful(p, b.graph);
}

TEST(ComputeAt, IndicesWithDivisionsOrDataTakeTheWholeDimension) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {6, 5});
  const TensorId where = add_input(b.graph, "where", DType::Int64, {10});
  const TensorId u =
      b.stage("u", {6, 5}, 2, CombinerKind::None, pool.neg(b.at(x, {b.axis(0), b.axis(1)})));
  const ExprId row = b.at(where, {b.axis(0)});
  const ExprId column = pool.make(Op::FloorDiv, {b.axis(0), b.integer(2)});
  b.output(b.stage("y", {10}, 1, CombinerKind::None, b.at(u, {row, column})));
  const Program p = attach(plain(b.graph), "u", "y", 1);
  EXPECT_EQ(p.kernels[0].root.attached[0].nest.spans, (Steps{6, 5}));
  expect_faithful(p, b.graph);
}

TEST(ComputeAt, ResultsReadElsewhereAreStoredInPlace) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {6, 5});
  const auto ij = [&](TensorId t) { return b.at(t, {b.axis(0), b.axis(1)}); };
  const TensorId m = b.stage("m", {6, 5}, 1, CombinerKind::Max, ij(x));
  const TensorId y =
      b.stage("y", {6, 5}, 2, CombinerKind::None, pool.sub(ij(x), b.at(m, {b.axis(0)})));
  const TensorId z = b.stage("z", {6}, 1, CombinerKind::None, pool.neg(b.at(m, {b.axis(0)})));
  b.output(y);
  b.output(z);
  const Program p = attach(plain(b.graph), "m", "y", 1);
  EXPECT_EQ(p.scopes[m.value], Scope::Workspace);
  expect_faithful(p, b.graph);
  // Inside the column loop each m[i] would be computed five times.
  expect_refused([&] { attach(plain(b.graph), "m", "y", 2); }, "exactly once");
}

// A reduction over nothing goes through none of its loops.
TEST(ComputeAt, IsRefusedInLoopsWithoutIterationsWhereOthersReadIt) {
  const Graph g = parse_graph(
      "def f(float(3) x) -> (y, z) {\n m() +=! x(r)\n y(i) +=! m() * float(k) where i in 0:2, k in "
      "0:0\n z() = 2.0 * m()\n}");
  const Program p = reorder(plain(g), 1, std::vector<size_t>{1, 0});
  expect_refused([&] { compute_at(p, 0, 1, 1); }, "exactly once");
}

TEST(ComputeAt, Refusals) {
  const Graph g = softmax_graph(6, 9);
  expect_refused([&] { attach(plain(g), "m", "y", 1); }, "nothing in the host");
  expect_refused([&] { attach(plain(g), "e", "m", 1); }, "runs before");
  expect_refused([&] { attach(plain(g), "s", "y", 3); }, "depth");
  expect_refused([&] { attach(plain(g), "e", "y", 1); }, "read before the host");
  expect_refused([&] { attach(tile(plain(g), 2, 0, Steps{2}), "s", "y", 0); }, "scheduled already");
}

TEST(GroupRows, WhatIsAttachedRunsForSeveralRows) {
  const Graph g = softmax_graph(12, 9);
  Program p = plain(g);
  for (const char* name : {"s", "e", "m"}) p = attach(std::move(p), name, "y", 1);
  const Program rows = p;
  p = interleave(p, stage_of(p, "y"), 1, 4);
  const Nest& y = p.kernels[0].root;
  ASSERT_EQ(y.loops.size(), 3u);
  EXPECT_EQ(y.loops[0].step, 4);
  EXPECT_EQ(y.loops[1].trips, 4);
  for (const Nest::Attached& attached : y.attached) {
    EXPECT_EQ(attached.depth, 1u);
    EXPECT_EQ(attached.nest.spans.front(), 4);
  }
  expect_faithful(p, g);
  EXPECT_EQ(print(replay(g, p.moves_json, p.target)), print(p));
  // Groups are what tasks consist of.
  expect_faithful(parallel(tile(p, stage_of(p, "y"), 0, Steps{8}), stage_of(p, "y"), 1), g);
  expect_refused([&] { interleave(p, stage_of(p, "y"), 1, 2); }, "scheduled already");
  const size_t host = stage_of(rows, "y");
  expect_refused([&] { interleave(rows, host, 1, 13); }, "no fewer trips");
  expect_refused([&] { interleave(rows, host, 1, 1); }, "2 rows or more");
  expect_refused([&] { interleave(rows, host, 0, 4); }, "no such loop");
  expect_refused([&] { interleave(rows, host, 2, 3); }, "attached to another loop");
  expect_refused([&] { interleave(rows, stage_of(rows, "s"), 1, 4); }, "attached to another stage");
  expect_refused([&] { interleave(plain(g), host, 1, 4); }, "nothing is attached");
  expect_refused([&] { interleave(vectorize(rows, stage_of(rows, "e"), 1, 4), host, 1, 4); },
                 "attached nest is scheduled");
}

TEST(GroupRows, WhatIsReadElsewhereIsComputedOnce) {
  const Graph g = parse_graph(
      "def f(float(8, 8) x) -> (y, z) {\n m(i) max=! x(i, r)\n"
      " y(i, j) = x(i, j) - m(i)\n z(i) = m(7 - i) where i in 0:8\n}");
  Program p = attach(plain(g), "m", "y", 1);
  p = interleave(p, stage_of(p, "y"), 1, 4);
  EXPECT_EQ(p.scopes[g.stages[0].results[0].value], Scope::Workspace);
  expect_faithful(p, g);
  // Rows of a band overlap: each group would compute two of the next group's.
  const Graph band = parse_graph(
      "def f(float(10) x) -> (y) {\n t(i) = exp(x(i))\n"
      " y(i) = t(i) + t(i + 1) + t(i + 2) where i in 0:8\n}");
  p = attach(plain(band), "t", "y", 1);
  p = interleave(p, stage_of(p, "y"), 1, 4);
  EXPECT_EQ(p.kernels[0].root.attached[0].nest.spans, (Steps{6}));
  expect_faithful(p, band);
}

TEST(ReadRegion, PaddedReadsReachBeforeTheTensor) {
  const Graph g = conv_graph(1, 2, 6, 6, 2);
  Builder b;
  b.graph = g;
  Program p = tile(plain(g), 0, 2, Steps{3});
  // Region of an input cannot be asked for; of a copy it can.
  p = pack(p, 0, p.graph.inputs[0], {{{0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}}, {}, {}, false});
  const size_t copy = stage_of(p, "x_packed"), y = stage_of(p, "y");
  const NestPath host = *find_nest(p, y);
  const Region region = read_region(p, host, 2, copy);  // loops k, h/3
  EXPECT_EQ(region.spans, (Steps{1, 2, 5, 6}));
  EXPECT_EQ(region.base[2].constant(), -1);
  p = compute_at(std::move(p), copy, y, 2);
  expect_faithful(p, g);
}

// What is attached inside a stage's own loops is out of reach for who would recompute that stage.
TEST(ComputeAt, LocalsAreReadInsideTheirLoopsOnly) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {6});
  const TensorId t = b.stage("t", {6}, 1, CombinerKind::None, pool.neg(b.at(x, {b.axis(0)})));
  const TensorId u = b.stage("u", {6}, 1, CombinerKind::None,
                             pool.mul(b.at(t, {b.axis(0)}), b.at(t, {b.axis(0)})));
  b.output(b.stage("y", {4, 6}, 2, CombinerKind::None, b.at(u, {b.axis(1)})));
  Program p = attach(plain(b.graph), "u", "y", 1);
  p = attach(std::move(p), "t", "u", 1);
  expect_faithful(p, b.graph);
  expect_refused([&] { recompute(p, std::vector<size_t>{stage_of(p, "u")}); }, "'t'");
}

}  // namespace
}  // namespace adjit::sched
