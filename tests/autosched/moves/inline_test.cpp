// tests/autosched/moves/inline_test.cpp -- stages substituted into what reads them.
#include <gtest/gtest.h>

#include "runtime/graph/index_map.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using StageNumbers = std::vector<size_t>;

TEST(Inline, SubstitutesIntoEveryReader) {
  const Graph g = softmax_graph(4, 6);
  const Program p = inline_stages(plain(g), StageNumbers{1});
  EXPECT_EQ(p.graph.stages.size(), 3u);
  EXPECT_EQ(p.kernels.size(), 3u);
  EXPECT_EQ(p.scopes[g.stages[1].results[0].value], Scope::None);
  expect_faithful(p, g);
  expect_refused([&] { inline_stages(plain(g), StageNumbers{0}); }, "without a combiner");
  expect_refused([&] { inline_stages(plain(g), StageNumbers{3}); }, "output");
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
  expect_faithful(inline_stages(plain(b.graph), StageNumbers{0}), b.graph);
}

TEST(Inline, ChainsCollapseAtOnce) {
  Builder b;
  TensorId t = b.input("x", {5});
  for (int k = 0; k < 50; ++k)
    t = b.stage("t", {5}, 1, CombinerKind::None,
                b.graph.pool.make(Op::Sin, {b.at(t, {b.axis(0)})}));
  b.output(t);
  StageNumbers all;
  for (size_t s = 0; s < 49; ++s) all.push_back(s);
  const Program p = inline_stages(plain(b.graph), all);
  EXPECT_EQ(p.kernels.size(), 1u);
  expect_faithful(p, b.graph);
}

// Each thread of a GPU would compute a remainder that the index says.
TEST(Inline, FoldsWhatIndicesDecideForGpus) {
  const Graph g = parse_graph(
      "def f(float(8) x) -> (y) {\n t(j) = x(j) * float(j % 2)\n"
      " y(i, k) = t(2 * i + k) where i in 0:4, k in 0:2\n}");
  const auto remainders = [](const Program& p) {
    size_t count = 0;
    for (const ExprId id : reachable(p.graph.pool, p.graph.stages[0].bodies))
      count += p.graph.pool.is(id, Op::Mod) ? 1 : 0;
    return count;
  };
  const Program gpu = inline_stages(initial_program(g, GpuMachine()), StageNumbers{0});
  EXPECT_EQ(remainders(gpu), 0u);
  expect_faithful(gpu, g);
  EXPECT_EQ(remainders(inline_stages(plain(g), StageNumbers{0})), 1u)
      << "lanes of a processor compute it once for all";
}

// Ranges decide the limits of a far index, too: they stay.
TEST(Inline, KeepsFarIndicesLimitedForGpus) {
  for (const char* place :
       {"i * 1152921504606846976 + 3", "select(i >= 0, i * 144115188075855872, 0)"}) {
    const Graph g =
        parse_graph(std::string("def f(float(5) x) -> (y) {\n t(i) = x(") + place +
                    " where i < 1) where i in 0:9\n y(i) = t(i) * 2.0 where i in 0:1\n}");
    const Program p = inline_stages(initial_program(g, GpuMachine()), StageNumbers{0});
    expect_faithful(p, g);
    for (const ExprId read : reads_of(p.graph, p.graph.stages[0])) {
      const auto form =
          index_form(p.graph.pool, p.graph.pool.read_index(read)[0], p.graph.stages[0].domain);
      EXPECT_TRUE(!form || std::abs(form->form.coefficient(0)) < (int64_t{1} << 40)) << place;
    }
  }
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
  const Program p = recompute(plain(b.graph), StageNumbers{0});
  EXPECT_TRUE(p.readers[y.value].empty());
  expect_faithful(p, b.graph);
  expect_faithful(fuse_siblings(p, StageNumbers{0, 1}), b.graph);
}

}  // namespace
}  // namespace adjit::sched
