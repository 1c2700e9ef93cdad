// tests/autosched/moves/scatter/inverted_scatter_test.cpp -- what an inverted scatter is made of.
#include "autosched/moves/scatter/inverted_scatter.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

Program bounded() {
  return plain(parse_graph(
      "def f(float(3, 2) x, int64(5) n) -> (d) {\n  scatter float(4, 2) d(n(p), c) +=[drop] "
      "x(p - 2, c) where p in 0:5, c in 0:2, p >= 2\n}"));
}

InvertedScatter of_last(Program& program) {
  const size_t last = program.graph.stages.size() - 1;
  return {program, last, inverted_axes(program.graph, program.graph.stages[last])};
}

TEST(InvertedScatter, NumbersPointsAndRows) {
  Program program = bounded();
  InvertedScatter of = of_last(program);
  EXPECT_EQ(of.places, 5);
  EXPECT_EQ(of.point_extents, std::vector<int64_t>{5});
  EXPECT_EQ(of.row_extents, std::vector<int64_t>{4});
  EXPECT_EQ(keys_of(of).domain.extents, std::vector<int64_t>{5});
}

// Where a domain has conditions, each read of a point asks for them.
TEST(InvertedScatter, TermsOutsideADomainReadNothing) {
  Program program = bounded();
  InvertedScatter of = of_last(program);
  of.inversion.order = add_tensor(of.graph, "order", DType::Int32, {5});
  const ExprId apart[] = {of.pool.axis(1)};
  const ExprId terms[] = {of.term(of.pool.axis(0), apart)};
  size_t reads = 0;
  for (const ExprId id : reachable(of.pool, terms)) {
    if (!of.pool.is(id, Op::Read) || of.pool.read_tensor(id) == of.inversion.order) continue;
    EXPECT_TRUE(of.pool.read_predicate(id).valid());
    ++reads;
  }
  EXPECT_EQ(reads, 1u);
}

TEST(InvertedScatter, SaturatingProductsEndAtTheLargestNumber) {
  EXPECT_EQ(saturating_product(std::vector<int64_t>{3, 4, 5}), 60);
  EXPECT_EQ(saturating_product(std::vector<int64_t>{INT64_MAX / 2, 3}), INT64_MAX);
  EXPECT_EQ(saturating_product({}), 1);
}

}  // namespace
}  // namespace adjit::sched
