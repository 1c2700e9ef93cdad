// tests/runtime/graph/parse/statement_domain_test.cpp -- indices, ranges and conditions of a
// statement as its domain.
#include <gtest/gtest.h>

#include "runtime/graph/parse/statement_domain.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(StatementDomain, AConstantOnTheLeftMakesAResultThatReachesIt) {
  const Graph total = parse_graph("def f(float(4) x) -> (y) { y(0) +=! x(i) }");
  EXPECT_EQ(total.stages[0].kind, StageKind::Compute);
  EXPECT_EQ(total.info(total.outputs[0]).shape, std::vector<int64_t>{1});
  const Graph column = parse_graph("def f(float(4, 3) x) -> (y) { y(0, i, 0) +=! x(i, j) }");
  EXPECT_EQ(column.info(column.outputs[0]).shape, (std::vector<int64_t>{1, 4, 1}));
  const Graph third = parse_graph("def f(float(4) x) -> (y) { y(2) +=! x(i) }");
  EXPECT_EQ(third.info(third.outputs[0]).shape, std::vector<int64_t>{3});
  const double numbers[] = {1, 2, 3, 4};
  const Array x[] = {Array::of(DType::Float32, {4}, numbers)};
  const Array y = interpret(third, x)[0];
  EXPECT_EQ(std::vector<double>({y.at(0), y.at(1), y.at(2)}), std::vector<double>({0, 0, 10}));
}

TEST(StatementDomain, AConstantOnTheLeftOfADeclaredShapeIsAScatter) {
  const Graph graph = parse_graph("def f(float(4) x) -> (y) { float(5) y(2) +=! x(i) }");
  EXPECT_EQ(graph.stages[0].kind, StageKind::Scatter);
}

TEST(StatementDomain, WhereOnTheLeftLeavesTheRestZero) {
  const Graph graph =
      instance_of("def f(float(N) x) -> (y) { y(i) = x(i - 1) where i in 1:N }", {{4}});
  EXPECT_EQ(outputs_of(graph, {counting({4})}), (List{0, 1, 2, 3}));
}

TEST(StatementDomain, OutOfRangeReadsAreRefused) {
  try {
    instance_of("def f(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }", {{4}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Bounds);
    EXPECT_NE(std::string(error.what()).find("tc.txt:1"), std::string::npos) << error.what();
  }
}

Domain domain_of(const std::string& statement) {
  return parse_graph("def f(float(9) x, int64(9) I) -> (y) { " + statement + " }").stages[0].domain;
}

TEST(StatementDomain, IndicesStandLeftThenAsWhereNamesThemThenAsTheyAppear) {
  const Domain domain =
      domain_of("y(i) +=! x(a + b) * x(c) where c in 0:3, i in 0:2, a in 0:4, b in 0:5");
  EXPECT_EQ(domain.extents, (std::vector<int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(domain.output_rank, 1u);
}

TEST(StatementDomain, ReductionsAreShiftedToZeroAndResultsKeepRows) {
  const Domain sum = domain_of("y() +=! x(r) where r in 2:7");
  EXPECT_EQ(sum.extents, std::vector<int64_t>{5});
  EXPECT_TRUE(sum.is_box());
  EXPECT_EQ(run_one("float(9) x", "y() +=! x(r) * float(r) where r in 2:7", {counting({9})}),
            List{3 * 2 + 4 * 3 + 5 * 4 + 6 * 5 + 7 * 6});
  const Domain result = domain_of("y(i) = x(i) where i in 2:7");
  EXPECT_EQ(result.extents, std::vector<int64_t>{7});
  EXPECT_EQ(result.inequalities, std::vector<Affine>{Affine::variable(0, 1, -2)});
}

TEST(StatementDomain, ConditionsAreRowsAndNamesDivisions) {
  const Domain domain =
      domain_of("y(i) +=! x(r) where i in 0:9, r in 0:9, q = i // 2, r < q && q <= 3");
  EXPECT_EQ(domain.divisions, (std::vector<Division>{{Affine::variable(0), 2}}));
  EXPECT_EQ(domain.inequalities,
            (std::vector<Affine>{Affine::variable(2) - Affine::variable(1) + Affine(-1),
                                 Affine(3) - Affine::variable(2)}));
}

// i * (2^63 - 1) leaves int64 from i = 2 on: what is asked is what wrapping arithmetic says.
TEST(StatementDomain, ConditionsThatWrapAreAskedByTheBody) {
  const Graph graph = parse_graph(
      "def f(float(9) x) -> (y) { y() +=! x(r) where r in 0:9, r * 9223372036854775807 < 0 }");
  EXPECT_TRUE(graph.stages[0].domain.is_box());
  double expected = 0;
  for (uint64_t r = 0; r < 9; ++r)
    if (static_cast<int64_t>(r * uint64_t{INT64_MAX}) < 0) expected += static_cast<double>(r + 1);
  EXPECT_EQ(outputs_of(graph, {counting({9})}), List{expected});
}

TEST(StatementDomain, NamesInWhereAreNoIndices) {
  EXPECT_NE(
      error_of("def f(float(9) x) -> (y) { y(i) = x(q) where i in 0:9, q = i // 2, q in 0:3 }")
          .find("'q' is a let, not an index"),
      std::string::npos);
}

}  // namespace
}  // namespace adjit::graph
