// tests/autosched/program/graph_edit_test.cpp -- expressions at other points, stages that come and
// go.
#include "autosched/program/graph_edit.hpp"

#include <gtest/gtest.h>

#include "autosched/analysis/verify.hpp"
#include "autosched/program/limits.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(GraphEdit, ABodyAtOtherPointsHasItsReadsThere) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {9, 9});
  const ExprId i = b.axis(0), j = b.axis(1);
  const ExprId body = pool.neg(b.at(x, {i, j}));
  const ExprId swapped[] = {j, i}, same[] = {i, j};
  EXPECT_EQ(body_at(pool, body, swapped, {}), pool.neg(b.at(x, {j, i})));
  EXPECT_EQ(body_at(pool, body, same, {}), body);
  EXPECT_TRUE(is_identity(pool, same));
  EXPECT_FALSE(is_identity(pool, swapped));
  EXPECT_TRUE(is_identity(pool, {}));
}

TEST(GraphEdit, APredicateIsAddedToEveryRead) {
  Builder b;
  ExprPool& pool = b.graph.pool;
  const TensorId x = b.input("x", {9});
  const ExprId i = b.axis(0), same[] = {i};
  const ExprId inside = pool.make(Op::Lt, {i, b.integer(5)});
  const ExprId own = pool.make(Op::Le, {b.integer(1), i});
  const ExprId body = pool.add(b.at(x, {i}), b.at(x, {pool.sub(i, b.integer(1))}, own));
  EXPECT_EQ(body_at(pool, body, same, inside),
            pool.add(b.at(x, {i}, inside),
                     b.at(x, {pool.sub(i, b.integer(1))}, pool.logical_and(inside, own))));
}

TEST(GraphEdit, RowsOverOtherAxesHoldAtTheSamePoints) {
  ExprPool pool;
  Domain domain;
  domain.extents = {4, 6};
  domain.output_rank = 1;
  domain.divisions = {{Affine::variable(1), 2}};
  domain.inequalities = {Affine::variable(0) - Affine::variable(2)};  // k // 2 <= i
  domain.equalities = {Affine::variable(0) + Affine::variable(1) - Affine::variable(2, 2, 1)};
  Domain box;
  box.extents = {24};
  const ExprId six = pool.constant_int(6);
  const ExprId now[] = {pool.make(Op::FloorDiv, {pool.axis(0), six}),
                        pool.make(Op::Mod, {pool.axis(0), six})};
  const Domain made = with_rows_of(pool, domain, box, now);
  for (int64_t p = 0; p < 24; ++p)
    EXPECT_EQ(made.contains(std::vector{p}), domain.contains(std::vector{p / 6, p % 6})) << p;
}

// Points of parts and of the whole domain correspond, also where the parts are not even.
TEST(GraphEdit, PartsOfADomainHaveItsPoints) {
  Domain domain;
  domain.extents = {4, 10};
  domain.output_rank = 1;
  domain.divisions = {{Affine::variable(1), 3}};
  domain.inequalities = {Affine::variable(0) - Affine::variable(2)};  // r // 3 <= i
  for (const int64_t parts : {1, 2, 3, 10}) {
    const int64_t chunk = (10 + parts - 1) / parts;
    const Domain partial = partial_domain(domain, 1, parts, chunk);
    EXPECT_EQ(partial.extents, (std::vector<int64_t>{parts, 4, chunk}));
    EXPECT_EQ(partial.output_rank, 2u);
    const std::vector<Affine> whole = whole_axes(domain, 1, chunk);
    std::vector<std::vector<int64_t>> found, expected;
    for (int64_t p = 0; p < parts; ++p)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t r = 0; r < chunk; ++r) {
          const std::vector<int64_t> point{p, i, r};
          if (!partial.contains(point)) continue;
          found.push_back({evaluate(whole[0], point), evaluate(whole[1], point)});
        }
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t r = 0; r < 10; ++r)
        if (domain.contains(std::vector<int64_t>{i, r})) expected.push_back({i, r});
    std::ranges::sort(found);
    EXPECT_EQ(found, expected) << parts;
  }
}

TEST(GraphEdit, OnlySomeCombinersHavePartialResults) {
  for (const CombinerKind kind : {CombinerKind::Sum, CombinerKind::Product, CombinerKind::Max,
                                  CombinerKind::Min, CombinerKind::Any, CombinerKind::All})
    EXPECT_TRUE(has_partial_results(kind));
  for (const CombinerKind kind :
       {CombinerKind::None, CombinerKind::ArgMax, CombinerKind::ArgMin, CombinerKind::Custom})
    EXPECT_FALSE(has_partial_results(kind));
}

TEST(GraphEdit, RemovedStagesLeaveWithTheirNestsAndOthersAreRenumbered) {
  Program p = compute_at(plain(softmax_graph(6, 9)), 0, 1, 1);  // m in the loops of e
  const TensorId m = p.graph.stages[0].results[0];
  const std::vector<size_t> first{0};
  remove_stages(p, first);
  EXPECT_EQ(p.graph.stages.size(), 3u);
  EXPECT_EQ(p.scopes[m.value], Scope::None);
  EXPECT_TRUE(nest_of(p, stage_of(p, "e")).attached.empty());
  for (size_t s = 0; s < 3; ++s) EXPECT_EQ(nest_of(p, s).stage, s);
  EXPECT_EQ(p.readers[m.value], std::vector<size_t>{0}) << "e reads it yet";
}

TEST(GraphEdit, AnInsertedStageHasAPlainKernelInItsPlace) {
  Program p = plain(softmax_graph(6, 9));
  Stage copy = p.graph.stages[0];
  copy.results = {add_tensor(p.graph, "again", DType::Float32, {6})};
  insert_stage(p, 2, copy);
  EXPECT_EQ(stage_of(p, "again"), 2u);
  EXPECT_EQ(stage_of(p, "y"), 4u);
  ASSERT_EQ(p.kernels.size(), 5u);
  for (size_t k = 0; k < 5; ++k) EXPECT_EQ(p.kernels[k].root.stage, k);
  EXPECT_EQ(p.scopes[copy.results[0].value], Scope::Workspace);
  EXPECT_NO_THROW(verify(p));
}

TEST(GraphEdit, StagesOfTooManyAxesAreRefused) {
  Program p = plain(softmax_graph(6, 9));
  Stage many = p.graph.stages[0];
  many.domain.extents.assign(kAxisLimit + 1, 1);
  many.results = {add_tensor(p.graph, "many", DType::Float32, {6})};
  expect_refused([&] { insert_stage(p, 0, many); }, "'many' would have");
}

TEST(GraphEdit, SortedStagesKeepTheirKernels) {
  const Graph g = parse_graph(
      "def f(float(6) x) -> (a, b, c) {\n a(i) = exp(x(i))\n b(i) = sin(x(i))\n"
      " c(i) = cos(x(i))\n}");
  Program p = plain(g);
  const std::vector<size_t> order{2, 0, 1};
  sort_stages(p, order);
  EXPECT_EQ(stage_of(p, "c"), 0u);
  EXPECT_EQ(stage_of(p, "a"), 1u);
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(p.kernels[k].root.stage, k);
  EXPECT_NO_THROW(verify(p));
  EXPECT_EQ(p.readers[p.graph.inputs[0].value], (std::vector<size_t>{0, 1, 2}));
}

TEST(GraphEdit, AResetNestIsPlain) {
  Program p = unroll(vectorize(plain(matmul_graph(8, 32, 4)), 0, 1, 16), 0, 0, 2);
  reset_nest(p, 0);
  ASSERT_EQ(p.kernels[0].root.loops.size(), 3u);
  EXPECT_EQ(p.kernels[0].variable_count, 3u);
  for (const Loop& loop : p.kernels[0].root.loops) EXPECT_EQ(loop.kind, LoopKind::Serial);
}

}  // namespace
}  // namespace adjit::sched
