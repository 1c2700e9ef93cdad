// tests/runtime/diff/rewrite/rewrite_test.cpp -- parts of expressions replaced.
#include "runtime/diff/rewrite/rewrite.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/diff/index_values.hpp"

namespace adjit::testing {
namespace {

struct Pooled {
  ExprPool pool;
  ExprId i = pool.axis(0), j = pool.axis(1);

  ExprId n(int64_t value) { return pool.constant_int(value); }
  ExprId at(ExprId index, ExprId predicate = {}) {
    return pool.read(TensorId{4}, DType::Float32, std::span(&index, 1), predicate);
  }
};

TEST(Rewrite, AxesAreSubstitutedAtOnce) {
  Pooled p;
  const ExprId form = p.pool.add(p.i, p.pool.mul(p.j, p.n(10)));
  const ExprId swapped[] = {p.j, p.i};
  EXPECT_EQ(substitute_axes(p.pool, form, swapped), p.pool.add(p.j, p.pool.mul(p.i, p.n(10))))
      << "what an axis becomes is not replaced again";
}

TEST(Rewrite, AxesPastTheListStay) {
  Pooled p;
  const ExprId form = p.pool.add(p.i, p.j), only[] = {p.n(3)};
  EXPECT_EQ(substitute_axes(p.pool, form, only), p.pool.add(p.n(3), p.j));
}

TEST(Rewrite, RootsThatAreInvalidStayInvalid) {
  Pooled p;
  const ExprId roots[] = {ExprId{}, p.i}, now[] = {p.n(1)};
  EXPECT_EQ(substitute_axes(p.pool, roots, now), (std::vector<ExprId>{ExprId{}, p.n(1)}));
}

TEST(Rewrite, IndicesAndPredicatesOfReadsAreReached) {
  Pooled p;
  const ExprId inside = p.pool.make(Op::Lt, {p.i, p.n(4)}), now[] = {p.j};
  EXPECT_EQ(substitute_axes(p.pool, p.at(p.i, inside), now),
            p.at(p.j, p.pool.make(Op::Lt, {p.j, p.n(4)})));
  EXPECT_EQ(replace_nodes(p.pool, std::vector{p.at(p.i, inside)},
                          {{inside.value, ExprId(p.pool.constant_int(1, DType::Bool))}})[0],
            p.at(p.i))
      << "a predicate that is true is none";
}

TEST(Rewrite, ValuesOfReplacedNodesAreNotSearchedAgain) {
  Pooled p;
  const ExprId x = p.at(p.i), y = p.at(p.j);
  const ExprId roots[] = {p.pool.mul(x, y), x, p.n(7)};
  const std::vector<ExprId> found =
      replace_nodes(p.pool, roots, {{x.value, p.pool.add(x, y)}, {y.value, x}});
  EXPECT_EQ(found[0], p.pool.mul(p.pool.add(x, y), x));
  EXPECT_EQ(found[1], p.pool.add(x, y));
  EXPECT_EQ(found[2], p.n(7)) << "without a key below it stays";
}

TEST(Rewrite, NodesWithOtherOperandsFold) {
  Pooled p;
  const ExprId product = p.pool.mul(p.i, p.j);
  EXPECT_EQ(with_operands(p.pool, product, {{p.i.value, p.n(3)}, {p.j.value, p.n(4)}}), p.n(12));
  EXPECT_EQ(with_operands(p.pool, p.i, {}), p.i) << "a leaf";
}

TEST(Rewrite, CastsAndGuardedReadsKeepWhatTheyAre) {
  Pooled p;
  const ExprId cast = p.pool.cast(p.i, DType::Int32);
  EXPECT_EQ(with_operands(p.pool, cast, {{p.i.value, p.j}}), p.pool.cast(p.j, DType::Int32));
  const ExprId inside = p.pool.make(Op::Lt, {p.j, p.n(4)});
  EXPECT_EQ(with_operands(p.pool, p.at(p.i, inside), {{p.i.value, p.j}}), p.at(p.j, inside));
}

TEST(Rewrite, PointsAreNumberedRowMajorOverTheAxesAsked) {
  ExprPool pool;
  Domain domain;
  domain.extents = {5, 2, 3, 4};
  domain.output_rank = 1;
  EXPECT_EQ(linear_index(pool, domain, 1, 0), pool.constant_int(0));
  const ExprId number = linear_index(pool, domain, 1, 3);
  int64_t next = 0;
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t c = 0; c < 4; ++c) {
        const int64_t point[] = {4, a, b, c};
        EXPECT_EQ(value_at(pool, number, point), next++);
      }
  EXPECT_EQ(axes(pool, 3), (std::vector<ExprId>{pool.axis(0), pool.axis(1), pool.axis(2)}));
}

}  // namespace
}  // namespace adjit::testing
