#include "autosched/program/required_region.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Stages = std::vector<size_t>;

TEST(Inline, SubstitutesIntoEveryReader) {
  const Graph g = softmax_graph(4, 6);
  const Program p = inline_stages(plain(g), Stages{1});
  EXPECT_EQ(p.graph.stages.size(), 3u);
  EXPECT_EQ(p.kernels.size(), 3u);
  EXPECT_EQ(p.scopes[g.stages[1].results[0].value], Scope::None);
  expect_faithful(p, g);
  expect_refused([&] { inline_stages(plain(g), Stages{0}); }, "without a combiner");
  expect_refused([&] { inline_stages(plain(g), Stages{3}); }, "output");
}

TEST(Inline, KeepsPredicatesAndRows) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {9});
  Domain rows;
  rows.extents = {9};
  rows.output_rank = 1;
  rows.inequalities = {Affine::variable(0, 1, -2)};  // i >= 2; elsewhere 0
  const TensorId t =
      add_compute(b.graph, "t", rows, {},
                  {pool.make(Op::Exp, {b.at(x, {pool.sub(b.axis(0), b.integer(2))})})})[0];
  const ExprId back = pool.sub(b.axis(0), b.integer(3));
  b.output(b.stage("y", {12}, 1, CombinerKind::None,
                   b.at(t, {back}, pool.make(Op::Le, {b.integer(0), back}))));
  expect_faithful(inline_stages(plain(b.graph), Stages{0}), b.graph);
}

TEST(Inline, ChainsCollapseAtOnce) {
  Builder b;
  TensorId t = b.input("x", {5});
  for (int k = 0; k < 50; ++k)
    t = b.stage("t", {5}, 1, CombinerKind::None,
                b.graph.pool.make(Op::Sin, {b.at(t, {b.axis(0)})}));
  b.output(t);
  Stages all;
  for (size_t s = 0; s < 49; ++s) all.push_back(s);
  const Program p = inline_stages(plain(b.graph), all);
  EXPECT_EQ(p.kernels.size(), 1u);
  expect_faithful(p, b.graph);
}

TEST(Recompute, LeavesTheStageForTheCaller) {
  Builder b;
  const TensorId x = b.input("x", {5});
  const TensorId y =
      b.stage("y", {5}, 1, CombinerKind::None, b.graph.pool.make(Op::Exp, {b.at(x, {b.axis(0)})}));
  const TensorId z =
      b.stage("z", {5}, 1, CombinerKind::None, b.graph.pool.neg(b.at(y, {b.axis(0)})));
  b.output(y);
  b.output(z);
  const Program p = recompute(plain(b.graph), Stages{0});
  EXPECT_TRUE(p.readers[y.value].empty());
  expect_faithful(p, b.graph);
  expect_faithful(fuse_siblings(p, Stages{0, 1}), b.graph);
}

TEST(SplitReduction, EvenAndRaggedParts) {
  const Graph g = matmul_graph(4, 5, 12);
  for (int64_t parts : {2, 3, 5, 12}) {
    const Program p = rfactor(plain(g), 0, 2, parts);
    ASSERT_EQ(p.graph.stages.size(), 2u);
    EXPECT_EQ(stage_name(p.graph, p.graph.stages[1]), "C");
    expect_faithful(p, g);
  }
  const Graph soft = softmax_graph(3, 7);
  expect_faithful(rfactor(plain(soft), 0, 1, 3), soft);
  expect_refused([&] { rfactor(plain(g), 0, 1, 2); }, "not a reduction axis");
  expect_refused([&] { rfactor(plain(g), 0, 2, 13); }, "2 parts");
  expect_refused([&] { rfactor(plain(soft), 1, 1, 2); }, "no partial results");
}
TEST(Pack, PanelsOfTheSecondOperand) {
  const Graph g = matmul_graph(4, 10, 6);
  const TensorId b = g.inputs[1];
  const Program p = pack(plain(g), 0, b, {{{1, 4, 0}, {0, 1, 0}, {1, 1, 4}}, {}, {}, false});
  ASSERT_EQ(p.graph.stages.size(), 2u);
  EXPECT_EQ(p.graph.info(p.graph.stages[0].results[0]).shape, (std::vector<int64_t>{3, 6, 4}));
  expect_faithful(p, g);
  expect_refused([&] { pack(plain(g), 0, b, {{{0, 1, 0}}, {}, {}, false}); }, "lost");
  expect_refused([&] { pack(plain(g), 0, b, {{{0, 1, 0}, {1, 4, 0}, {1, 1, 3}}, {}, {}, false}); },
                 "multiply up");
}

// x(i, k) * x(j, k): each of the two in its own layout.
TEST(Pack, OneReadOfSeveral) {
  const Graph g = parse_graph("def f(float(6, 9) x) -> (y) { y(i, j) +=! x(i, k) * x(j, k) }");
  const TensorId x = g.inputs[0];
  const std::vector<ExprId> reads = reads_of(g, g.stages[0]);
  ASSERT_EQ(reads.size(), 2u);
  Packing packing{{{0, 4, 0}, {1, 1, 0}, {0, 1, 4}}, {}, {}};
  for (ExprId read : reads) {
    packing.read = read_number(g, g.stages[0], read);
    const Program p = pack(plain(g), 0, x, packing);
    EXPECT_EQ(p.readers[x.value], (std::vector<size_t>{0, 1})) << "the copy and the sum";
    EXPECT_EQ(reads_of(p.graph, p.graph.stages[1]).size(), 2u);
    expect_faithful(p, g);
    packing.read = 0;  // of x, there is one read left
    expect_faithful(pack(p, 1, x, packing), g);
    packing.read = 1;
    expect_refused([&] { pack(p, 1, x, packing); }, "as often");
    const Program again = replay(g, p.moves_json, 1, 256);
    EXPECT_EQ(print(again), print(p));
  }
}

// The weights' copy goes before that of the images, which chains with the sum then.
TEST(Pack, SmallCopiesGoBeforeMuchLargerOnes) {
  const Graph g = conv_graph(2, 3, 12, 5, 2);
  const auto copied = [&](size_t first, size_t second) {
    Packing image{{{0, 1, 0}, {2, 1, 0}, {1, 1, 0}, {3, 1, 0}}, {}, {}},
        weights{{{1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {0, 1, 0}}, {}, {}};
    Program p = plain(g);
    for (size_t operand : {first, second}) {
      const size_t sum = p.graph.stages.size() - 1;
      p = pack(std::move(p), sum, g.inputs[operand], operand == 0 ? image : weights);
    }
    expect_faithful(p, g);
    EXPECT_EQ(print(replay(g, p.moves_json, 1, 256)), print(p));
    std::vector<std::string> order;
    for (const Stage& stage : p.graph.stages) order.push_back(stage_name(p.graph, stage));
    return order;
  };
  const std::string image = g.tensors[g.inputs[0].value].name + "_packed",
                    weights = g.tensors[g.inputs[1].value].name + "_packed";
  EXPECT_EQ(copied(0, 1)[0], weights);
  EXPECT_EQ(copied(0, 1)[1], image);
  EXPECT_EQ(copied(1, 0)[0], weights);
}

TEST(Pack, ZerosTakeThePlaceOfPredicates) {
  const Graph g = conv_graph(1, 2, 4, 5, 2);
  const Packing packing{
      {{0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}}, {0, 0, 1, 1}, {0, 0, 1, 1}, false};
  const Program p = pack(plain(g), 0, g.inputs[0], packing);
  for (ExprId id : reachable(p.graph.pool, p.graph.stages[1].bodies))
    if (p.graph.pool.is(id, Op::Read)) {
      EXPECT_FALSE(p.graph.pool.read_predicate(id).valid());
    }
  expect_faithful(p, g);
}

TEST(Pack, ZerosTakeThePlaceOfRows) {
  for (int64_t stride : {1, 2}) {
    const Graph g = conv_graph(1, 2, 4, 5, 2, stride, true);
    ExprId x;
    for (ExprId id : reads_of(g, g.stages[0]))
      if (g.pool.read_tensor(id) == g.inputs[0]) x = id;
    const Packing packing = *zeros_around(g, g.stages[0], x);
    EXPECT_EQ(packing.padding_before, (std::vector<int64_t>{0, 0, 1, 1}));
    const Program p = pack(plain(g), 0, g.pool.read_tensor(x), packing);
    EXPECT_TRUE(p.graph.stages[1].domain.is_box());
    expect_faithful(p, g);
  }
  const Graph soft = softmax_graph(3, 7);
  Packing packing{{{0, 1, 0}, {1, 1, 0}}, {}, {}, true};
  expect_refused([&] { pack(plain(soft), 0, soft.inputs[0], packing); }, "as a factor");
}

TEST(FuseSiblings, OnePassForIndependentStages) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {4, 5});
  const auto ij = [&](TensorId t) { return b.at(t, {b.axis(0), b.axis(1)}); };
  const TensorId u = b.stage("u", {4, 5}, 2, CombinerKind::None, pool.make(Op::Exp, {ij(x)}));
  const TensorId s = b.stage("s", {4, 5}, 1, CombinerKind::Sum, ij(u));
  const TensorId v = b.stage("v", {4, 5}, 2, CombinerKind::None, pool.neg(ij(x)));
  const TensorId w =
      b.stage("w", {4, 5}, 2, CombinerKind::None, pool.mul(ij(u), b.at(s, {b.axis(0)})));
  for (TensorId t : {u, v, w}) b.output(t);
  const Program p = fuse_siblings(plain(b.graph), Stages{0, 2});
  EXPECT_EQ(p.kernels.size(), 3u);
  expect_faithful(p, b.graph);
  expect_refused([&] { fuse_siblings(plain(b.graph), Stages{0, 3}); }, "depends on another");
  expect_refused([&] { fuse_siblings(plain(b.graph), Stages{0, 1}); }, "combiners differ");
}

TEST(ExpandReduction, IsTheSumWrittenOut) {
  const Graph graph = parse_graph(
      "def main(float(6, 3) x, float(7, 3) y, float(3, 2) z) -> (d, e, f) {\n"
      "  d(i, j) +=! (x(i, r_k) - y(j, r_k)) * (x(i, r_k) - y(j, r_k))\n"
      "  e(i) +=! x(i, r_k) + z(r_k, r_l) where i in 0:6, r_k in 0:3, r_l in 0:2\n"
      "  f(i) max=! x(i, r_k)\n}");
  Program p = plain(graph);
  for (size_t s : {0, 1}) p = unroll_reduction(std::move(p), s);
  for (size_t s : {0, 1}) {
    EXPECT_EQ(p.graph.stages[s].combiner.kind, CombinerKind::None);
    EXPECT_EQ(p.graph.stages[s].domain.reduction_rank(), 0u);
  }
  expect_faithful(p, graph);
  expect_faithful(replay(graph, p.moves_json, 2, 512), graph);
  expect_refused([&] { unroll_reduction(plain(graph), 2); }, "only a sum");
  const Graph long_one = parse_graph("def main(float(6, 99) x) -> (d) { d(i) +=! x(i, r_k) }");
  expect_refused([&] { unroll_reduction(plain(long_one), 0); }, "too many terms");
  const Graph rows = parse_graph(
      "def main(float(6, 3) x) -> (d) { d(i) +=! x(i, r_k) where i in 0:6, r_k in 0:3, r_k <= i }");
  expect_refused([&] { unroll_reduction(plain(rows), 0); }, "conditions");
}

TEST(FuseSiblings, ReductionsOverOneDomain) {
  const Graph graph = parse_graph(
      "def main(float(6, 40) x, float(6, 40) y) -> (a, b, c, d, e) {\n"
      "  a(i) +=! x(i, r_k) * y(i, r_k)\n"
      "  b(i) +=! x(i, r_k)\n"
      "  c(i) +=! x(i, r_k) * a(i) where i in 0:6, r_k in 0:40\n"
      "  (d, e)(i) argmax=! (x(i, r_k), r_k)\n}");
  const Program p = fuse_siblings(plain(graph), Stages{0, 1});
  EXPECT_EQ(p.kernels.size(), 3u);
  expect_faithful(p, graph);
  expect_faithful(rfactor(p, 0, 1, 4), graph);
  expect_faithful(unroll(vectorize(p, 0, 1, 8), 0, 0, 2), graph);
  expect_faithful(vectorize(p, 0, 0, 4), graph);
  expect_refused([&] { fuse_siblings(plain(graph), Stages{0, 2}); }, "depends on another");
  expect_refused([&] { fuse_siblings(plain(graph), Stages{1, 3}); }, "each by itself");
}

}  // namespace
}  // namespace adjit::sched
