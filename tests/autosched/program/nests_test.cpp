// tests/autosched/program/nests_test.cpp -- finding nests and loops, and what may be done to them.
#include "autosched/program/nests.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using Numbers = std::vector<size_t>;

// Maxima, exponentials and sums of a softmax in the loop over its rows.
Program attached_softmax() {
  Program p = plain(softmax_graph(12, 10));
  for (size_t s : {2, 1, 0}) p = compute_at(std::move(p), s, 3, 1);
  return p;
}

TEST(Nests, AreFoundWhereverTheyAreAttached) {
  const Program p = attached_softmax();
  ASSERT_EQ(p.kernels.size(), 1u);
  for (size_t s = 0; s < 4; ++s) {
    const std::optional<NestPath> path = find_nest(p, s);
    ASSERT_TRUE(path) << s;
    EXPECT_EQ(path->steps.empty(), s == 3);
    EXPECT_EQ(nest_at(p, *path).stage, s);
    EXPECT_EQ(&nest_of(p, s), &nest_at(p, *path));
  }
  EXPECT_FALSE(find_nest(p, 4)) << "there is no such stage";
  Numbers visited;
  for_each_nest(p.kernels[0].root, [&](const Nest& nest) { visited.push_back(nest.stage); });
  EXPECT_EQ(visited, (Numbers{3, 0, 1, 2})) << "hosts before what is attached to them";
}

TEST(Nests, AreNamedByTheFirstResultOfTheirStage) {
  const Graph g = parse_graph("def f(float(4) x) -> (v, n) { (v, n)() argmax=! (x(r), r) }");
  EXPECT_EQ(stage_name(g, g.stages[0]), "v");
  EXPECT_THROW(stage_name(g, Stage{}), Error) << "a stage without results";
}

TEST(Nests, ReadersOfATensorAreListedOnceAscending) {
  Program p = plain(parse_graph(
      "def f(float(6) x, int64(6) n) -> (h, y) {\n t(i) = x(i) + x(5 - i) where i in 0:6\n"
      " scatter float(6) h(n(i)) +=[drop] t(i) from x where i in 0:6\n y(i) = x(i) * t(i)\n}"));
  index_readers(p);
  const TensorId x = p.graph.inputs[0];
  Numbers expected;
  for (size_t s = 0; s < p.graph.stages.size(); ++s) {
    const std::vector<TensorId> read = tensors_read(p.graph, p.graph.stages[s]);
    if (std::ranges::find(read, x) != read.end()) expected.push_back(s);
  }
  EXPECT_EQ(p.readers[x.value], expected);
  EXPECT_GE(expected.size(), 3u);
}

TEST(Nests, ASplitLoopCoversTheSamePoints) {
  Program p = attached_softmax();
  Kernel& kernel = p.kernels[0];
  split_loop(kernel.root, kernel.variable_count, 0, 5);
  const Loop &outer = kernel.root.loops[0], &inner = kernel.root.loops[1];
  EXPECT_EQ(outer.step, 5);
  EXPECT_EQ(outer.trips, 3) << "the last one is not whole";
  EXPECT_EQ(inner.step, 1);
  EXPECT_EQ(inner.trips, 5);
  EXPECT_NE(outer.variable, inner.variable);
  EXPECT_EQ(loops_over(kernel.root, 0), (Numbers{0, 1}));
  for (const Nest::Attached& attached : kernel.root.attached) {
    EXPECT_EQ(attached.depth, 2u) << "moves with both";
    EXPECT_EQ(attached.nest.axis_base[0].coefficient(outer.variable), 1);
    EXPECT_EQ(attached.nest.axis_base[0].coefficient(inner.variable), 1);
  }
}

TEST(Nests, TheWidthBelowADepthIsTheStepOfTheInnermostLoopThere) {
  const Program p = tile(plain(matmul_graph(24, 5, 6)), 0, 0, std::vector<int64_t>{8, 4});
  const Nest& nest = p.kernels[0].root;
  EXPECT_EQ(width_below(nest, 0, 0), 24);
  EXPECT_EQ(width_below(nest, 0, 1), 8);
  EXPECT_EQ(width_below(nest, 0, 2), 4);
  EXPECT_EQ(width_below(nest, 0, nest.loops.size()), 1);
  EXPECT_EQ(width_below(nest, 1, 2), 5);
  EXPECT_EQ(origin_above(nest, 0, 2),
            Affine::variable(nest.loops[0].variable) + Affine::variable(nest.loops[1].variable));
  EXPECT_EQ(origin_above(nest, 1, 2), Affine());
}

TEST(Nests, CombinersThatTakeTheFirstKeepTheirOrder) {
  EXPECT_TRUE(is_commutative(CombinerKind::Sum));
  EXPECT_FALSE(is_commutative(CombinerKind::ArgMax));
  EXPECT_FALSE(is_commutative(CombinerKind::Custom));
  const Graph g =
      parse_graph("def f(float(4, 5) x) -> (v, n) { (v, n)() argmax=! (x(r, s), 5 * r + s) }");
  Program p = plain(g);
  Nest nest = p.kernels[0].root;
  EXPECT_TRUE(order_is_legal(p.graph, p.graph.stages[0], nest));
  std::swap(nest.loops[0], nest.loops[1]);
  EXPECT_FALSE(keeps_reduction_order(p.graph.stages[0], nest));
  EXPECT_FALSE(order_is_legal(p.graph, p.graph.stages[0], nest));
}

// A point writes element (2 i, n(j)): different i write apart, different j may meet.
TEST(Nests, PointsOfAScatterWriteApartAlongAxesThatAloneNameTheElement) {
  const LoweredGraph g(parse_graph(
      "def f(float(4, 6) x, int64(6) n) -> (h) {\n"
      " scatter float(8, 9) h(2 * i, n(j)) +=![drop] x(i, j) where i in 0:4, j in 0:6\n}"));
  const Stage& stage = g.stages[0];
  EXPECT_TRUE(writes_apart(g, stage, 0));
  EXPECT_FALSE(writes_apart(g, stage, 1));
  EXPECT_TRUE(is_independent(g, stage, 0));
  EXPECT_FALSE(is_independent(g, stage, 1));
  const Graph sum = parse_graph(
      "def f(float(4, 6) x) -> (h) {\n"
      " scatter float(9) h(i + j) +=! x(i, j) where i in 0:4, j in 0:6\n}");
  EXPECT_FALSE(writes_apart(sum, sum.stages[0], 0)) << "i and j together name it";
}

TEST(Nests, ReductionsGoOnInMemoryWherePartialResultsAreStoredWhole) {
  const auto goes_on = [](const std::string& text, size_t axis) {
    const LoweredGraph g(parse_graph(text));
    return goes_on_in_memory(g, g.stages[0], axis);
  };
  EXPECT_TRUE(goes_on("def f(float(4, 6) x) -> (y) { y(i) +=! x(i, r) }", 1));
  EXPECT_FALSE(goes_on("def f(float(4, 6) x) -> (y) { y(i) +=! x(i, r) }", 0)) << "no reduction";
  EXPECT_FALSE(goes_on("def f(float(4, 0) x) -> (y) { y(i) +=! x(i, r) }", 1)) << "no part";
  EXPECT_FALSE(goes_on("def f(half(4, 6) x) -> (y) { y(i) +=! x(i, r) }", 1)) << "rounded";
  EXPECT_FALSE(goes_on("def f(float(4, 6) x) -> (v, n) { (v, n)(i) argmax=! (x(i, r), r) }", 1));
}

TEST(Nests, ATensorIsCompleteBehindTheKernelThatComputesIt) {
  const Program apart = plain(softmax_graph(12, 10)), attached = attached_softmax();
  const TensorId e = apart.graph.stages[1].results[0];
  EXPECT_EQ(complete_from(apart, e), 2u);
  EXPECT_EQ(complete_from(attached, e), 4u) << "in the loops of y, the last stage";
  EXPECT_EQ(complete_from(apart, apart.graph.inputs[0]), 0u);
}

TEST(Nests, TensorsInMemoryAreAllButLocalOnes) {
  const Program p = attached_softmax();
  const std::vector<TensorId> found = tensors_in_memory(p, p.kernels[0]);
  EXPECT_EQ(found, (std::vector<TensorId>{p.graph.inputs[0], p.graph.outputs[0]}));
  EXPECT_EQ(points_of(p, p.kernels[0]), 4 * 120);
}

}  // namespace
}  // namespace adjit::sched
